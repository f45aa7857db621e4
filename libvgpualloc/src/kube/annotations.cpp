// The annotations that carry a decision.
#include "annotations.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "dialects.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpusim {

vgpualloc::expected<vgpualloc::kubernetes::text_map> annotations_of(const snapshot& in, const snapshot_pod& pod,
                                                                    const vgpualloc::placement& made) {
    if (made.shares.empty()) return {};
    const auto& on_node = in.devices[made.node.at()];
    std::vector<vgpualloc::device_registration> own; // a dialect counts its own devices only
    std::vector<std::size_t> position(on_node.size());
    for (std::size_t d = 0; d < on_node.size(); ++d) {
        position[d] = own.size();
        if (on_node[d].dialect == pod.dialect) own.push_back(on_node[d].registered);
    }
    std::vector<vgpualloc::device_share> shares{made.shares.begin(), made.shares.end()};
    for (auto& each : shares) {
        const snapshot_device& device = on_node[each.device.at()];
        if (device.dialect != pod.dialect) {
            return vgpualloc::unexpected(
                vgpualloc::error{.code = vgpualloc::error_code::mismatch,
                                 .where = "device " + device.registered.uuid,
                                 .field = "dialect",
                                 .value = device.dialect,
                                 .expected = pod.dialect + ", the pod's; its components write no annotations for it"});
        }
        each.device = vgpualloc::device_index{position[each.device.at()]};
    }
    const auto dialects = manifest_dialects(in.with);
    const auto speaks = std::ranges::find(dialects, pod.dialect, &manifest_dialect::name);
    VGA_ASSERT(speaks != dialects.end(), "a pod with devices asks in a dialect");
    return speaks->write_assignment(
        pod.object, own, {.node = in.nodes().nodes[made.node.at()].name, .time = "<time>", .shares = shares});
}

} // namespace vgpusim
