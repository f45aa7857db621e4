// The annotations that carry a decision.
#include "vgpualloc/kube/annotations.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc::kube {

expected<kubernetes::text_map> annotations_of(const snapshot& state, const snapshot_pod& pod, const placement& decided,
                                              const std::string& time) {
    const std::size_t node = decided.node.at();
    return annotations_of(
        {.name = state.nodes().nodes[node].name, .devices = state.devices[node], .dialects = &state.dialects}, pod,
        decided.shares, time);
}

expected<kubernetes::text_map> annotations_of(const decided_node& node, const snapshot_pod& pod,
                                              std::span<const device_share> decided, const std::string& time) {
    if (decided.empty()) return {};
    const auto& on_node = node.devices;
    for (const device_share& share : decided) { // what a node no longer registers is there until its last pod goes
        if (share.device.at() < on_node.size()) continue;
        return unexpected(bad_value(error_code::missing, "device", std::to_string(share.device.value()),
                                    "one that the node registers still; it registers " + std::to_string(on_node.size()))
                              .at("node " + node.name));
    }
    const auto is_told_to_nobody = [&](const device_share& share) {
        const dialect* const registered_in = node.dialects->find(on_node[share.device.at()].dialect);
        return registered_in != nullptr && registered_in->assigned_by_kubelet();
    };
    if (std::ranges::all_of(decided, is_told_to_nobody)) return {};
    std::vector<device_registration> own; // a dialect counts its own devices only
    std::vector<std::size_t> position(on_node.size());
    for (std::size_t d = 0; d < on_node.size(); ++d) {
        position[d] = own.size();
        if (on_node[d].dialect == pod.dialect) own.push_back(on_node[d].registered);
    }
    std::vector<device_share> shares{decided.begin(), decided.end()};
    for (device_share& share : shares) {
        const snapshot_device& device = on_node[share.device.at()];
        if (device.dialect != pod.dialect) {
            return unexpected(bad_value(error_code::mismatch, "dialect", device.dialect,
                                        pod.dialect + ", the pod's; its components write no annotations for it")
                                  .at("device " + device.registered.uuid));
        }
        share.device = device_index{position[share.device.at()]};
    }
    const dialect* const spoken = node.dialects->find(pod.dialect);
    VGA_ASSERT(spoken != nullptr, "a pod with devices asks in a dialect");
    return spoken->write_assignment(pod.object, own, {.node = node.name, .time = time, .shares = shares});
}

} // namespace vgpualloc::kube
