// What Slurm has accounted: the jobs that `sacct --parsable2` prints (sacct's manual, Slurm 20.11 and later).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpuformats/list_content.hpp"
#include "vgputraces/core_names.hpp"
#include "vgputraces/trace_job.hpp"

namespace vgputraces {

/// A job, a task of an array, or a component of a heterogeneous job, that has started.
struct accounted_job {
    std::string id{};   ///< JobID; of one that was requeued "<JobID>.2" for its second start, and so on
    std::string gang{}; ///< heterogeneous jobs: what all components share; else empty
    std::int64_t row = 0;
    std::string user{};
    std::string account{};
    std::string partition{};
    std::string qos{};
    ticks arrival{}; ///< Eligible, or Submit; of local time since 1970 began
    ticks start{};
    ticks end{};                  ///< of one that runs: start and elapsed together
    ticks elapsed{};              ///< without suspensions; of one that runs until the export
    bool is_running = false;      ///< nobody knows yet how long
    std::optional<ticks> limit{}; ///< absent: none, or not in the export
    std::int64_t nodes = 1;
    std::int64_t gpus = 0;     ///< of all nodes
    std::string gpu_type{};    ///< as Slurm calls it; empty where it does not say, or says several
    milli_cpu cpu{};           ///< of all nodes
    vgpualloc::bytes memory{}; ///< of all nodes; 0 where it is not accounted

    bool operator==(const accounted_job&) const = default;
};

struct accounting {
    std::vector<accounted_job> jobs; ///< by arrival; those of equal arrival as in the file
    std::int64_t rows = 0;           ///< without the header
    skipped_rows skipped;
    std::vector<left_out_rows> left_out;
};

/// Reads what `sacct -P` or `sacct --parsable2` prints, with its header: fields with '|' between them. Needed are
/// JobID, Submit, Start, End and State, Elapsed or ElapsedRaw, and AllocTRES. Read where they are there: Eligible,
/// User, Account, Partition, QOS, Timelimit or TimelimitRaw, NNodes. Other fields are ignored.
///
/// GPUs are `gres/gpu`, or where that is missing the sum of the `gres/gpu:TYPE`; cpus, memory and nodes are those of
/// AllocTRES too. Left out are steps ("12.batch", "12.0"), which their jobs count already, and jobs that never started.
/// Errors name file, line, field and value: another number of fields than in the header, no time, no amount, a job
/// that ended before it started, the same JobID and start twice.
[[nodiscard]] expected<accounting> read_sacct(const vgpuformats::list_content& content, const std::string& name,
                                              const row_options& options = {});

} // namespace vgputraces
