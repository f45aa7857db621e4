// What a simulation replays: a cluster, the pods in order of arrival, and the typical pods of the workload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/rejection.hpp"
#include "vgpualloc/model/request.hpp"

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
    std::vector<vgpualloc::milli_gpu> requested;  ///< per request, milli-GPU over all its devices
    std::vector<arriving_pod> pods;               ///< in order of arrival
    vgpualloc::workload typical;
    /// How the dialect of the lists spells a reason for not placing a pod.
    std::string_view (*reason_name)(vgpualloc::rejection_code) noexcept = vgpualloc::to_string;

    [[nodiscard]] std::string name_of(const arriving_pod& pod) const {
        return pod.copy < 0 ? names[pod.name] : names[pod.name] + "-tuned-" + std::to_string(pod.copy);
    }
};

} // namespace vgpusim
