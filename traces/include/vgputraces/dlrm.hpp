// Alibaba's trace of disaggregated recommendation models (cluster-trace-gpu-v2025).
#pragma once

#include <string>
#include <string_view>

#include "vgpuformats/list_content.hpp"
#include "vgputraces/core_names.hpp"
#include "vgputraces/trace_job.hpp"

namespace vgputraces {

/// Reads an instance list, which errors call `name`: columns instance_sn, role (HN: GPUs and CPUs, CN: CPUs only),
/// app_name (which becomes the queue), cpu_request (cores), gpu_request, memory_request (GiB), creation_time and
/// deletion_time (seconds, empty outside the window of the trace), in any order; further columns are ignored, among
/// them max_instance_per_node. Arrivals are seconds after the earliest time in creation_time and deletion_time. An
/// instance without creation_time was there from then on, one without deletion_time stays. Nobody knows beforehand how
/// long an instance stays, so that none has an estimate. Errors name file, line, column and value.
[[nodiscard]] expected<job_list> read_dlrm(const vgpuformats::list_content& content, const std::string& name,
                                           const row_options& options = {});

} // namespace vgputraces
