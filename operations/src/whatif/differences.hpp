// What changes and pods that come make of a cluster, as somebody sees it who compares before and after.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/whatif/answer.hpp"

namespace vgpuops::whatif {

/// What of a node a change may change.
struct node_facts {
    bool takes_pods = false; ///< it is not cordoned
    std::string mode{};      ///< of its first device; empty: it has none
    std::vector<vgpualloc::service_state> services{};
};
using facts_by_node = std::map<std::string, node_facts>;

/// Of the nodes that are there.
[[nodiscard]] facts_by_node facts_of(const kube::snapshot& state);

/// The nodes that differ; those to which the same happens together.
[[nodiscard]] std::vector<node_change> compare_nodes(const facts_by_node& before, const facts_by_node& after,
                                                     const std::vector<layout_change>& layouts);

/// By pod_id, the pods that run and that `show` counts, of a cluster in which nothing was placed yet.
[[nodiscard]] std::vector<bool> counted_pods(const kube::snapshot& state);

/// The cluster as `show` counts it now. Of the pods of the snapshot those count that are in `counted` and still run;
/// the other pods of the ledger are those that a what-if placed.
[[nodiscard]] cluster_view view_of(const kube::snapshot& state, const std::vector<bool>& counted,
                                   const vgpualloc::power_catalog& power);

/// Sets pod_answer::waits_for of all pods that are refused. The ledger is as before.
void add_verdicts(kube::snapshot& state, vgpualloc::allocator& decider, answer& to, const stop_signal& stop);

} // namespace vgpuops::whatif
