// What another system has run, as a workload that can be replayed: classes of pods and a table of arrivals.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vgpuops/core_names.hpp"
#include "vgputraces/accounting.hpp"
#include "vgputraces/arrivals.hpp"
#include "vgputraces/usage.hpp"

namespace vgpuops::importing {

using vgpualloc::ticks;

/// What becomes the queue of a job.
enum class queue_source : std::uint8_t {
    queue, ///< or partition
    owner, ///< or account
    user,  ///< or namespace
    qos,
    none,
};

struct import_options {
    queue_source queue = queue_source::queue;
    /// By what Slurm calls a type of GPU: the label nvidia.com/gpu.product of the nodes that have it. Jobs of other
    /// types, and without one, take any GPU.
    std::map<std::string, std::string> products{};
};

struct imported_container {
    vgpualloc::milli_cpu cpu{};
    std::int64_t memory_mib = 0;
    std::map<std::string, std::int64_t> devices{}; ///< by resource, as "nvidia.com/gpu"

    auto operator<=>(const imported_container&) const = default;
};

/// Pods that ask for the same.
struct imported_class {
    std::string name{};
    std::int64_t gpus = 0; ///< or MIG instances, or shares
    std::string profile{}; ///< of MIG instances; empty: whole GPUs, or several
    std::string product{}; ///< empty: any GPU
    vgpualloc::milli_cpu cpu{};
    std::int64_t memory_mib = 0;
    std::vector<imported_container> containers{}; ///< whose sums those above are
    std::int64_t jobs = 0;
    std::int64_t pods = 0;
    double gpu_seconds = 0;
    std::optional<ticks> run_median{}; ///< of jobs that have ended; absent: none has
    double wait_mean_s = 0;            ///< as it was: from arrival to start, of jobs
};

struct imported_workload {
    vgputraces::accounting_source source = vgputraces::accounting_source::sacct;
    std::vector<imported_class> classes; ///< by GPU time, the most first; then by name
    vgputraces::arrival_table arrivals{};
    std::string first{}; ///< arrival, as the source writes time
    std::string last{};
    std::int64_t rows = 0; ///< of the source
    std::int64_t jobs = 0;
    std::int64_t jobs_with_gpus = 0;
    std::int64_t jobs_running = 0; ///< when the source was written: their pods stay
    std::int64_t users = 0;        ///< or namespaces
    double gpu_seconds = 0; ///< of all jobs, GPUs times the time that they ran; an instance counts as one, as in Slurm
    std::optional<double> own_gpu_seconds{};     ///< as the source itself adds up, where that may differ
    double wait_mean_s = 0;                      ///< as it was
    std::vector<vgputraces::usage_point> used{}; ///< usage_of()
    /// GPUs of types that no product was named for, by type.
    std::map<std::string, std::int64_t> types_without_product{};
    vgputraces::skipped_rows skipped{};
    std::vector<vgputraces::left_out_rows> left_out{};
    std::vector<std::string> notes{}; ///< of the source
};

/// The mean number of GPUs that jobs had, between their start and their end, in each full day of the time that the
/// records cover, or in each full week (from Monday) if that is more than 8 weeks. The time of a point is the middle of
/// its day or week. Unless the source says what they cover, records cover the time from the first end of a job to the
/// last start: of a day before or after it other jobs may be missing. A job that runs has its GPUs to the end of that
/// time. An instance counts as one GPU.
[[nodiscard]] std::vector<vgputraces::usage_point>
usage_of(const std::vector<vgputraces::accounted_job>& jobs,
         const std::optional<vgputraces::covered_span>& covered = std::nullopt);

/// GPUs of a type that names a MIG profile ("a100_1g.5gb", "1g.5gb") are instances of it. A pod for each node of a job,
/// which start together. Jobs that have the containers of their pods are replayed with them; of the others GPUs and
/// CPUs that do not divide evenly are one more on the first pods; memory is rounded up to MiB on all. Durations are the
/// times that jobs ran, estimates their limits; a job that runs stays. Time 0 is the first arrival.
[[nodiscard]] imported_workload workload_of(vgputraces::accounting accounted, const import_options& options);

/// Pods as Kubernetes objects, one for each class: what `run --classes` reads.
[[nodiscard]] std::string manifests_of(const imported_workload& workload);

/// What was read, what of it is which class, and what was not read, in words; as a document.
[[nodiscard]] std::string summary_text(const imported_workload& workload);
[[nodiscard]] document summary_json(const imported_workload& workload);

} // namespace vgpuops::importing
