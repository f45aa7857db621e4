// The workload of openb lists, as the FGD reference simulator builds it.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpualloc/model/device.hpp"
#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/workload.hpp"
#include "vgputraces/openb.hpp"

namespace vgpusim {

struct workload_options {
    double tune = 0.0; ///< requested milli-GPU over the cluster's; <= 0 leaves the list as it is
    std::int64_t seed = 42;
    double offered_load = 0.0; ///< set_offered_load(); <= 0 leaves the times as they are
    bool departures = false;   ///< arrivals and stays from the trace's times instead of one pod a second that stays
    const vgpualloc::sharing_mode* mode = nullptr; ///< of every GPU; not null
    stop_signal stop{};
};

/// Builds the workload as the FGD reference simulator does, draw by draw: pods sorted by name and
/// shuffled, tuned up with copies or down by removals, nodes given random tie ranks, typical pods from the untuned
/// list. Without departures pod i arrives at second i. With departures pods arrive at their creation_time (pods of
/// equal time in name order, copies after originals) and stay until deletion_time; a pod without creation_time is an
/// error.
[[nodiscard]] expected<simulation_input> build_openb_workload(const std::vector<vgputraces::openb_node>& nodes,
                                                              std::vector<vgputraces::openb_pod> pods,
                                                              const workload_options& options);

/// The typical pods of a list: the most frequent (cpu, gpu_milli, num_gpu, gpu_spec) until 95 % of the pods are
/// covered.
[[nodiscard]] vgpualloc::workload typical_pods(const std::vector<vgputraces::openb_pod>& pods);
/// The same of all pods.
[[nodiscard]] vgpualloc::workload demand_of(const std::vector<vgputraces::openb_pod>& pods);

/// What of the pods' gpu_spec names no model that a node has, so that such a pod goes nowhere. Once for each spelling,
/// in the order of the list.
[[nodiscard]] std::vector<error> models_not_there(const std::vector<vgputraces::openb_node>& nodes,
                                                  const std::vector<vgputraces::openb_pod>& pods);

} // namespace vgpusim
