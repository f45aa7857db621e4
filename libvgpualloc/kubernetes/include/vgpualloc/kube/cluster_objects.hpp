// The objects of one cluster, sorted out: which nodes and pods there are, and what belongs to which node.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/dialect/dialect.hpp"
#include "vgpualloc/kube/objects.hpp"

namespace vgpualloc::kube {

/// What ConfigMaps of one name say, by namespace.
template <class Data>
using by_namespace = std::map<std::string, Data, std::less<>>;

/// The one that counts; null if there is none. Dialects know ConfigMaps of nodes by name alone. Where several
/// namespaces have one, that of kube-system counts, where components of a cluster are, or else the first by name: which
/// came last makes no difference.
template <class Data>
[[nodiscard]] const Data* one_that_counts(const by_namespace<Data>& config_maps) {
    if (config_maps.empty()) return nullptr;
    const auto of_system = config_maps.find("kube-system");
    return of_system == config_maps.end() ? &config_maps.begin()->second : &of_system->second;
}

/// Points into the objects that it was made of, which outlive it.
struct cluster_objects {
    std::vector<const manifest*> nodes; ///< each once, in the order found
    std::map<std::string, const kubernetes::node*> nodes_by_name;
    std::vector<const manifest*> pods; ///< each once, in the order found; those that have ended are left out
    std::map<std::string, std::vector<const kubernetes::pod*>> pods_on_node;      ///< bound, or being bound
    std::map<std::string, by_namespace<const kubernetes::text_map*>> config_maps; ///< data by name; the last one

    /// What a dialect reads of a node; `node` outlives the result.
    [[nodiscard]] node_source source_of(const dialect& reader, const kubernetes::node& node) const;
    /// The Node objects themselves.
    [[nodiscard]] std::vector<const kubernetes::node*> node_objects() const;
};

/// Kinds other than Node, Pod and ConfigMap are passed over. An object that is there twice counts once and is a
/// warning.
[[nodiscard]] cluster_objects sort_out(std::span<const manifest> objects, const dialect_set& dialects,
                                       std::vector<error>& warnings);

/// The name of the node that a pod is bound to, or is being bound to; empty: to none.
[[nodiscard]] std::string node_of(const manifest& pod, const dialect_set& dialects);

/// Whether the pod holds nothing any more.
[[nodiscard]] bool has_ended(const manifest& pod);

/// The object's namespace, "default" where it names none.
[[nodiscard]] std::string namespace_of(const manifest& object);
/// "<namespace>/<name>".
[[nodiscard]] std::string full_name_of(const manifest& object);

} // namespace vgpualloc::kube
