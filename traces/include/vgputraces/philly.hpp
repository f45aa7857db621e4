// The Philly trace (Microsoft, 2017) as one CSV of jobs.
#pragma once

#include <string>
#include <string_view>

#include "vgpuformats/list_content.hpp"
#include "vgputraces/core_names.hpp"
#include "vgputraces/trace_job.hpp"

namespace vgputraces {

/// Reads a job list, which errors call `name`: columns timestamp (local time, "YYYY-MM-DD hh:mm:ss"), duration
/// (seconds, may have a fraction), num_gpus and cluster (the virtual cluster, which becomes the queue) in any order;
/// gpu_time and further columns are ignored. A job's name is its row from 0, its arrival the seconds after the earliest
/// timestamp, its estimate its duration. The local time has no zone, so that a day has 24 hours, also when clocks are
/// changed. Errors name file, line, column and value.
[[nodiscard]] expected<job_list> read_philly(const vgpuformats::list_content& content, const std::string& name,
                                             const row_options& options = {});

} // namespace vgputraces
