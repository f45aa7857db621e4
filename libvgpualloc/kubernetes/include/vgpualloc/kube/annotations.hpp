// The annotations that carry a decision from a scheduler to the device plugin.
#pragma once

#include <span>
#include <string>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/model/placement.hpp"

namespace vgpualloc::kube {

/// What the component that serves the pod's dialect would write on the pod for `decided`, a placement on a node of the
/// snapshot. `time` is in the unit that the dialect documents. None for a pod that has no device. Errors: mismatch if
/// a device is registered in another dialect than the pod's, as that component does not know it; missing if its node
/// registers it no longer.
[[nodiscard]] expected<kubernetes::text_map> annotations_of(const snapshot& state, const snapshot_pod& pod,
                                                            const placement& decided, const std::string& time);

/// The node of a decision, where there is no snapshot.
struct decided_node {
    std::string name;
    std::span<const snapshot_device> devices; ///< by device index
    const dialect_set* dialects = nullptr;    ///< as the cluster's nodes have them
};
/// The same for a placement on that node.
[[nodiscard]] expected<kubernetes::text_map> annotations_of(const decided_node& node, const snapshot_pod& pod,
                                                            std::span<const device_share> decided,
                                                            const std::string& time);

} // namespace vgpualloc::kube
