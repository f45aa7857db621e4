// Nodes of NVIDIA's own device plugin as they are once their GPUs are cut by another MIG layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/core/units.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/whatif/changes.hpp"

namespace vgpuops::whatif {

/// What another layout does to a node.
struct layout_change {
    std::string node;
    std::string before; ///< "28 x 1g.10gb", "4 whole GPUs"
    std::string after;
    std::int64_t gpus = 0;
    /// What destroying and creating instances takes on all of its GPUs, one GPU after the other, at the times that
    /// `vgpusim transition` has; none: a GPU is whole before or after, and its driver's mode changes too, or GPUs of
    /// the node are cut in several ways.
    std::optional<vgpualloc::ticks> cut_time{};
};

/// The changes of mode by node, and nodes that are cut.
struct cut_changes {
    std::vector<mode_change> modes{};      ///< each of one node; `cut_as` names the object that it will be like
    std::vector<kube::manifest> objects{}; ///< those objects, of nodes that no cluster has
    std::vector<layout_change> layouts{};  ///< in the order of `modes`
};

/// The changes of mode `wanted`, whose nodes may be sets, by node. Modes `mig` and `exclusive` of GPUs of NVIDIA's own
/// plugin are layouts; nodes that have the layout already do not change. Of a set, nodes without devices do not change.
/// `objects` are those of the snapshot. Errors, at --set-mode: those of nodes_named() and of
/// dialects::nvidia::cut_node(); unsupported for a layout of other devices; duplicate for a node that is cut twice.
[[nodiscard]] expected<cut_changes> by_node(const std::vector<mode_change>& wanted,
                                            const std::vector<kube::manifest>& objects, const kube::snapshot& cluster);

} // namespace vgpuops::whatif
