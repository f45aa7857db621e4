// What a simulation replays: a cluster, the pods in order of arrival, and the typical pods of the workload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgputraces/openb.hpp"

namespace vgpusim {

/// One arrival. Names of tuned copies are made when they are written: a million of them would be a quarter of the
/// memory.
struct arriving_pod {
    std::uint32_t name = 0;    ///< position in simulation_input::names
    std::int32_t copy = -1;    ///< number of a tuned copy, -1 for an original
    std::uint32_t request = 0; ///< position in simulation_input::requests
    vgpualloc::ticks arrival;
    std::optional<vgpualloc::ticks> duration; ///< absent: the pod stays
};

struct simulation_input {
    vgpualloc::cluster nodes;                   ///< in tie-rank order
    std::vector<std::uint32_t> node_list_order; ///< per line of the node list, position in `nodes`
    std::vector<std::string> names;
    std::vector<vgpualloc::pod_request> requests; ///< distinct ones
    std::vector<vgpualloc::milli_gpu> asked;      ///< per request, milli-GPU over all its devices
    std::vector<arriving_pod> pods;               ///< in order of arrival
    vgpualloc::workload typical;

    [[nodiscard]] std::string name_of(const arriving_pod& pod) const {
        return pod.copy < 0 ? names[pod.name] : names[pod.name] + "-tuned-" + std::to_string(pod.copy);
    }
};

struct workload_options {
    double tune = 0.0; ///< requested milli-GPU over the cluster's; <= 0 leaves the list as it is
    std::int64_t seed = 42;
    bool departures = false; ///< arrivals and stays from the trace's times instead of one pod a second that stays
    const vgpualloc::sharing_mode* mode = nullptr; ///< of every GPU; not null
};

/// Builds the workload as the FGD reference simulator does, draw by draw (SPEC-fgd §2): pods sorted by name and
/// shuffled, tuned up with copies or down by removals, nodes given random tie ranks, typical pods from the untuned
/// list. Without departures pod i arrives at second i. With departures pods arrive at their creation_time (pods of
/// equal time in name order, copies after originals) and stay until deletion_time; a pod without creation_time is an
/// error.
[[nodiscard]] vgpualloc::expected<simulation_input>
build_openb_workload(const std::vector<vgputraces::openb_node>& nodes, std::vector<vgputraces::openb_pod> pods,
                     const workload_options& options);

/// The typical pods of a list: the most frequent (cpu, gpu_milli, num_gpu, gpu_spec) until 95 % of the pods are
/// covered.
[[nodiscard]] vgpualloc::workload typical_pods(const std::vector<vgputraces::openb_pod>& pods);

} // namespace vgpusim
