// Kinds of nodes that no file has: a device of the catalog, a mode, and how many of them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::whatif {

/// Whether a kind is described and not named: it has a ':' or begins with '{', as no name of a node does.
[[nodiscard]] bool is_described(std::string_view kind) noexcept;

/// Makes nodes of described kinds, each kind once. What a description leaves open is as in the cluster.
class catalog_kinds {
public:
    /// All three must outlive it. Names of nodes in `objects` are not used again.
    catalog_kinds(const std::vector<kube::manifest>& objects, const kube::snapshot& cluster,
                  const vgpualloc::hardware_catalog& catalog);

    /// The name of the node that stands for `kind`: "MODEL:MODE:DEVICES", "MODEL:MODE:DEVICES:CPU_MILLI:MEMORY_MIB", or
    /// a JSON object as in nodes.kinds of a workload model (docs/trace-model.md). Without amounts the host has the most
    /// CPU and the most memory that a node of the cluster has; without a dialect devices register in the one of those
    /// possible that the cluster's devices have. Errors, at `option`: what is no such description, and those of
    /// read_workload_node_kind().
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
