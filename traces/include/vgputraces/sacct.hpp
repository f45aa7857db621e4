// What Slurm has accounted: the jobs that `sacct --parsable2` prints (sacct's manual, Slurm 20.11 and later).
#pragma once

#include <string>

#include "vgpuformats/list_content.hpp"
#include "vgputraces/accounting.hpp"
#include "vgputraces/core_names.hpp"

namespace vgputraces {

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
