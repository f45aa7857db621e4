// MIG layouts that nodes could be cut by for a pod that asks for instances.
#pragma once

#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/why/reasons.hpp"

namespace vgpuops::why {

/// A node, and the layouts of the catalog that have instances of all profiles which the pod asks for.
struct layouts_to_try {
    std::string node{};
    std::vector<std::string> layouts{}; ///< without that of now
};

/// Nodes of NVIDIA's own plugin that take pods and are closed to this one by no rule, under MIG strategy mixed. Of
/// nodes with the same GPUs in the same layout only the one with the fewest pods on its GPUs is there. Whole GPUs with
/// pods come last: such pods find no instance that is like a GPU. Then the fewest pods come first. Empty for a pod that
/// asks for no instance.
[[nodiscard]] std::vector<layouts_to_try> layouts_for(const kube::snapshot& state,
                                                      const std::vector<kube::manifest>& objects,
                                                      const kube::snapshot_pod& pod,
                                                      const std::vector<node_reasons>& nodes);

} // namespace vgpuops::why
