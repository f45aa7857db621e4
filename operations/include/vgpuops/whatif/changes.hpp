// What is tried on a cluster: other nodes, nodes and devices that go, modes that change, pods that come.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::whatif {

/// Nodes like another one: a node of the cluster, or a template.
struct node_addition {
    std::string kind; ///< the other node's name, or what it is (catalog_kinds)
    std::int64_t nodes = 0;
};
struct failure {
    std::string node;
    std::string device{}; ///< uuid, or index as the node counts it; empty: the whole node
};
struct mode_change {
    std::string node;
    std::string mode;
};
struct changes {
    std::vector<node_addition> added_nodes{};
    std::vector<std::string> uncordoned{};
    std::vector<std::string> drained{};
    std::vector<failure> failed{};
    std::vector<mode_change> modes{};
    std::vector<kube::manifest> added_pods{}; ///< pods and templates of them; others are passed over
};

/// The largest number of nodes that may be added at once.
inline constexpr std::int64_t nodes_added_max = 100'000;

/// What a new node of a kind is.
struct node_kind {
    vgpualloc::node described{};
    std::vector<kube::snapshot_device> devices{};
    std::vector<std::int64_t> extended{}; ///< by dialect
};

/// Takes a node out of the cluster and keeps it as a kind. It has to be one on which nothing runs: a template that was
/// read with the cluster's objects, so that its devices are of the kinds that the ledger knows.
[[nodiscard]] node_kind take_template(kube::snapshot& state, node_index where);

/// A node of the cluster as a kind: empty, in service, and open for pods, whatever it is now.
[[nodiscard]] node_kind kind_of(const kube::snapshot& state, node_index where);

/// Adds nodes of a kind, with names and uuids of their own ("<kind>-added-1"). The hostname label is the node's name.
std::vector<node_index> add_nodes(kube::snapshot& state, const node_kind& kind, std::int64_t count);

/// Takes from the snapshot what it keeps of nodes that a trial had added and that are undone.
void forget_nodes(kube::snapshot& state, const std::vector<node_index>& undone);

/// Changes modes, uncordons, drains and fails, and releases the pods that this evicts: those on the node, or with a
/// part of the device that fails; for another mode, those with a part of any device of the node. Pods of a DaemonSet
/// stay on a node that is drained, as kubectl drain leaves them, and go with one that fails; `objects`, those of the
/// snapshot, say which they are. Returns the evicted pods, ascending, and those of `evicted`, which earlier changes
/// evicted. Errors: unknown_name for nodes, devices and modes that there are none of, which list those that there are;
/// mismatch for a node to uncordon that takes pods; duplicate for a node that is to go twice; those of add_device() and
/// of the node's dialects for a mode that a device cannot have.
[[nodiscard]] expected<std::vector<pod_id>> apply(kube::snapshot& state, const changes& wanted,
                                                  const std::vector<kube::manifest>& objects,
                                                  std::vector<pod_id> evicted = {});

/// The node of that name. Error unknown_name, which lists the first of those that there are; `option` is where.
[[nodiscard]] expected<node_index> find_node(const kube::snapshot& state, const std::string& name,
                                             const std::string& option);

} // namespace vgpuops::whatif
