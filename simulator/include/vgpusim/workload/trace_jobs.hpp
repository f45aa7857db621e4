// The workload of a trace whose rows are jobs that ask for a number of devices.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpualloc/model/cluster.hpp"
#include "vgpusim/workload/job_mapping.hpp"
#include "vgpusim/workload/workload.hpp"
#include "vgputraces/trace_job.hpp"

namespace vgpusim {

struct trace_workload_options {
    double offered_load = 0.0;           ///< set_offered_load(); <= 0 leaves the times as they are
    std::vector<mapping_rule> mapping{}; ///< rules for jobs that are not to be whole devices
    std::uint64_t seed = 42;             ///< of the draws of the rules
    std::vector<job_queue> queues{};     ///< with their quotas; empty: those that jobs name, without
};

/// Builds the workload on `nodes`, whose order is that of the tie ranks. `jobs` are in order of arrival. A job is one
/// pod with its devices whole, on one node; where no node has as many, it is a gang: pods that each ask for all devices
/// of a node of the largest size, and one for what is left over. They start together or not at all; what the job asks
/// of the host is shared among them by devices. A job without devices is a pod that needs none. A job that a rule is
/// for is the pods of that rule instead. Queues are those that jobs name, in the order in which they arrive, where the
/// options have none; jobs that name none are then in default_queue. Errors: those of set_offered_load(); out_of_range
/// where the jobs are more than 50,000,000 pods; unknown_name for a job whose queue is not among those of the options.
[[nodiscard]] expected<simulation_input> build_trace_workload(vgpualloc::cluster nodes,
                                                              std::vector<vgputraces::trace_job> jobs,
                                                              const trace_workload_options& options = {});

} // namespace vgpusim
