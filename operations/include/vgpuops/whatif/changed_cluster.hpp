// A cluster from which runs begin: with nodes that are changed, or with kinds of nodes that may be added.
#pragma once

#include <string>
#include <vector>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/whatif/changes.hpp"

namespace vgpuops::whatif {

struct extendable_cluster {
    kube::snapshot state;
    std::vector<node_kind> kinds; ///< by position among the names
};

/// Reads the cluster and the kinds: names of its nodes, or descriptions (catalog_kinds). The nodes that stand for
/// descriptions are gone from the snapshot again, behind all others; ledger::is_present() tells. Errors, at `option`:
/// those of catalog_kinds::node_for() and find_node(), duplicate for a kind that is named twice; those of
/// kube::make_snapshot().
[[nodiscard]] expected<extendable_cluster> with_kinds(const std::vector<kube::manifest>& objects,
                                                      const vgpualloc::dialect_set& dialects,
                                                      const vgpualloc::hardware_catalog& catalog,
                                                      const std::vector<std::string>& kinds, const std::string& option,
                                                      stop_signal stop = {});

/// The cluster once its nodes are uncordoned, drained, failed and cut as `wanted` says; other changes are passed over.
/// Pods that this evicts are live no longer. Nodes that stand for cuts are gone again, as of with_kinds(). Errors:
/// those of by_node(), apply() and kube::make_snapshot().
[[nodiscard]] expected<kube::snapshot> changed_cluster(const std::vector<kube::manifest>& objects,
                                                       const vgpualloc::dialect_set& dialects, const changes& wanted,
                                                       stop_signal stop = {});

} // namespace vgpuops::whatif
