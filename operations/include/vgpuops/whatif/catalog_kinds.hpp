// Kinds of nodes that no file has: a device of the catalog, a mode, and how many of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuformats/document.hpp"
#include "vgpuops/core_names.hpp"
#include "vgputraces/workload_nodes.hpp"

namespace vgpuops::whatif {

/// Whether a kind is described and not named: it has a ':' or begins with '{', as no name of a node does.
[[nodiscard]] bool is_described(std::string_view kind) noexcept;

/// What a description may leave open.
struct open_amounts {
    std::int64_t devices = 1;   ///< of a kind with a layout
    std::string mig_strategy{}; ///< of a kind with a layout (label nvidia.com/mig.strategy); empty: mixed
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::vector<std::string> dialects{}; ///< one of those possible that is among these, if there is one
};

/// The most devices, CPU and memory that a node has, and the MIG strategy of the first one that has one; no dialects.
[[nodiscard]] open_amounts most_of(const vgpualloc::cluster& nodes);

struct described_kind {
    vgputraces::workload_node_kind nodes;
    std::string name;         ///< as that of a node
    std::string layout;       ///< that its GPUs are cut by (dialect/nvidia_layouts.hpp); empty: none, or `nodes` has it
    std::string mig_strategy; ///< of these GPUs
};

/// A kind: "MODEL:MODE:DEVICES", "MODEL:MODE:DEVICES:CPU_MILLI:MEMORY_MIB", "MODEL:mig:LAYOUT" with or without these
/// numbers, or a JSON object as in nodes.kinds of a workload model (docs/trace-model.md), with "layout" besides.
/// Errors, at `option`: what is no such description, and those of read_workload_node_kind().
[[nodiscard]] expected<described_kind> read_described_kind(const std::string& kind, const open_amounts& open,
                                                           const vgpualloc::dialect_set& dialects,
                                                           const vgpualloc::hardware_catalog& catalog,
                                                           const std::string& option);

/// A node of that kind with a name of its own, and the ConfigMaps that say more of it: a List. Errors, at `option`: an
/// object that cannot be read with all of its devices.
[[nodiscard]] expected<vgpuformats::document> described_node(const described_kind& kind, const std::string& name,
                                                             const vgpualloc::dialect_set& dialects,
                                                             const std::string& option);

/// Makes nodes of described kinds, each kind once. What a description leaves open is as in the cluster.
class catalog_kinds {
public:
    /// All three must outlive it. Names of nodes in `objects` are not used again.
    catalog_kinds(const std::vector<kube::manifest>& objects, const kube::snapshot& cluster,
                  const vgpualloc::hardware_catalog& catalog);

    /// The name of the node that stands for `kind`. Without amounts the host has the most CPU and the most memory that
    /// a node of the cluster has; without a dialect devices register in the one of those possible that the cluster's
    /// devices have. Errors: those of read_described_kind() and described_node().
    [[nodiscard]] expected<std::string> node_for(const std::string& kind, const std::string& option);

    /// The nodes that were asked for, with the ConfigMaps that say more of them, as templates.
    [[nodiscard]] std::vector<kube::manifest> take_objects() && { return std::move(made_); }

private:
    [[nodiscard]] std::string free_name(const std::string& wanted) const;

    const kube::snapshot* cluster_;
    const vgpualloc::hardware_catalog* catalog_;
    std::vector<std::string> taken_;                           ///< names of nodes
    std::vector<std::pair<std::string, std::string>> known_{}; ///< descriptions and the names of their nodes
    std::vector<kube::manifest> made_{};
};

} // namespace vgpuops::whatif
