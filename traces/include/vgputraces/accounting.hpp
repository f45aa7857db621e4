// What another system has accounted, in one form: jobs that have started, whatever the system calls them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vgputraces/core_names.hpp"
#include "vgputraces/trace_job.hpp"

namespace vgputraces {

/// What a container of a pod asked for.
struct accounted_container {
    milli_cpu cpu{};
    vgpualloc::bytes memory{};
    std::map<std::string, std::int64_t> devices{}; ///< by resource, as "nvidia.com/gpu"

    auto operator<=>(const accounted_container&) const = default;
};

/// What has started: of Slurm a job, a task of an array, or a component of a heterogeneous job; of Kubernetes a pod.
struct accounted_job {
    std::string id{};   ///< of one that was requeued "<JobID>.2" for its second start, and so on; "<namespace>/<name>"
    std::string gang{}; ///< what all components of one job share; empty: the job has only one
    std::string counted_as{}; ///< what several components are counted as; empty: each is a job
    std::int64_t row = 0;
    std::string user{};  ///< or the namespace
    std::string owner{}; ///< an account, or the object that made the pod
    std::string queue{}; ///< or the partition
    std::string qos{};
    ticks arrival{}; ///< since 1970 began: of local time (Slurm) or UTC
    ticks start{};
    ticks end{};                  ///< of one that runs: start and elapsed together
    ticks elapsed{};              ///< without suspensions; of one that runs until the export
    bool is_running = false;      ///< nobody knows yet how long
    std::optional<ticks> limit{}; ///< absent: none, or not in the export
    std::int64_t pods = 1;        ///< that start together: of Slurm one for each node
    std::int64_t gpus = 0;        ///< of all pods
    std::string gpu_type{};       ///< as Slurm calls it; empty where it does not say, or says several
    milli_cpu cpu{};              ///< of all pods
    vgpualloc::bytes memory{};    ///< of all pods; 0 where it is not accounted
    /// Of every pod, which are alike. Empty: the sums above are divided among the pods.
    std::vector<accounted_container> containers{};

    bool operator==(const accounted_job&) const = default;
};

/// Whose records they are.
enum class accounting_source : std::uint8_t { sacct, prometheus, audit, kueue };

struct covered_span {
    ticks begin{};
    ticks end{};

    bool operator==(const covered_span&) const = default;
};

struct accounting {
    accounting_source source = accounting_source::sacct;
    std::vector<accounted_job> jobs{}; ///< by arrival; those of equal arrival as in the source
    std::int64_t rows = 0;             ///< without headers
    skipped_rows skipped{};
    std::vector<left_out_rows> left_out{};
    /// The time in which nothing is missing; absent: from the first end of a job to the last start.
    std::optional<covered_span> covered{};
    /// GPU-time that the source itself adds up, where that is not the sum over the jobs.
    std::optional<double> own_gpu_seconds{};
    std::vector<std::string> notes{}; ///< what to know of the times and amounts, in sentences
};

} // namespace vgputraces
