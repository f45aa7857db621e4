// What is tried on a cluster: other nodes, nodes and devices that go, modes that change, pods that come.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vgpualloc/kube/disruption_budgets.hpp"
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
    std::string node;     ///< or a set of them
    std::string device{}; ///< uuid, or index as the node counts it; empty: the whole node
};
struct mode_change {
    std::string node; ///< or a set of them
    std::string mode;
    std::string layout{}; ///< of mode mig of NVIDIA's own plugin (dialect/nvidia_layouts.hpp)
    std::string cut_as{}; ///< the kind that the node is like then (by_node); empty: it only changes its mode
};
/// Nodes are named one by one or as sets (kube/node_set.hpp).
struct changes {
    std::vector<node_addition> added_nodes{};
    std::vector<std::string> uncordoned{};
    std::vector<std::string> drained{};
    std::vector<failure> failed{};
    std::vector<mode_change> modes{};
    std::vector<kube::manifest> added_pods{}; ///< pods and templates of them; others are passed over
    /// Every pod with devices that may move (kube::may_move) is placed anew, in the mode that it has. Those on nodes
    /// that take none stay.
    bool anew = false;
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

/// Kinds by name.
using named_kinds = std::map<std::string, node_kind>;

/// The nodes that a name or a set stands for, those of them that are there, ascending. Errors: unknown_name for a name
/// or a set that no node has, with the first of those that there are; those of kube::nodes_in_set(). `option` is where.
[[nodiscard]] expected<std::vector<node_index>> nodes_named(const kube::snapshot& state, const std::string& set,
                                                            const std::string& option);

/// Takes the nodes among the templates, which were read with the cluster, as kinds by their names. Errors: what of one
/// cannot be read, or find_node()'s at `option`.
[[nodiscard]] expected<named_kinds> take_templates(kube::snapshot& state, const std::vector<kube::manifest>& templates,
                                                   const std::string& option);

/// The object of a node that a snapshot of `objects` has.
[[nodiscard]] const kube::manifest& object_of(const std::vector<kube::manifest>& objects, const std::string& node_name);

/// Changes modes, uncordons, drains and fails, and releases the pods that this evicts: those on the node, or with a
/// part of the device that fails; for another mode, those with a part of any device of the node. Nodes with
/// mode_change::cut_as become like that kind of `kinds`. Pods of a DaemonSet
/// stay on a node that is drained, as kubectl drain leaves them, and so do those that a budget keeps, which
/// `not_evicted` gets; pods of a DaemonSet go with one that fails; `objects`, those of the snapshot, say which they
/// are. Last, it releases what is to be placed anew. Returns the evicted pods, ascending, and those of `evicted`, which
/// earlier changes evicted. Errors: those of nodes_named(); unknown_name for devices and modes that there are none of,
/// which list those that there are; mismatch for a node or a set to uncordon that takes pods; duplicate for a node that
/// is to go twice; those of add_device() and of the node's dialects for a mode that a device cannot have.
[[nodiscard]] expected<std::vector<pod_id>> apply(kube::snapshot& state, const changes& wanted,
                                                  const std::vector<kube::manifest>& objects,
                                                  std::vector<pod_id> evicted = {}, const named_kinds& kinds = {},
                                                  std::vector<kube::kept_pod>* not_evicted = nullptr);

/// The node of that name. Error unknown_name, which lists the first of those that there are; `option` is where.
[[nodiscard]] expected<node_index> find_node(const kube::snapshot& state, const std::string& name,
                                             const std::string& option);

} // namespace vgpuops::whatif
