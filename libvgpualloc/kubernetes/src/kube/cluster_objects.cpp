// The objects of one cluster, sorted out.
#include "vgpualloc/kube/cluster_objects.hpp"

#include <set>

namespace vgpualloc::kube {

bool has_ended(const manifest& pod) { return pod.phase == "Succeeded" || pod.phase == "Failed"; }

std::string namespace_of(const manifest& object) { return object.ns.empty() ? "default" : object.ns; }

std::string full_name_of(const manifest& object) { return namespace_of(object) + "/" + object.name; }

std::string node_of(const manifest& pod, const dialect_set& dialects) {
    if (!pod.node_name.empty() || !pod.pod) return pod.node_name;
    return dialects.binding_node(*pod.pod);
}

node_source cluster_objects::source_of(const dialect& reader, const kubernetes::node& node) const {
    node_source source{.object = node};
    const std::string map_name = reader.config_map_of(node.name);
    if (const auto data = config_maps.find(map_name); !map_name.empty() && data != config_maps.end()) {
        source.config_map = *one_that_counts(data->second);
    }
    if (const auto on_node = pods_on_node.find(node.name); on_node != pods_on_node.end()) source.pods = on_node->second;
    return source;
}

std::vector<const kubernetes::node*> cluster_objects::node_objects() const {
    std::vector<const kubernetes::node*> objects;
    objects.reserve(nodes.size());
    for (const manifest* node : nodes) objects.push_back(&*node->node);
    return objects;
}

cluster_objects sort_out(std::span<const manifest> objects, const dialect_set& dialects, std::vector<error>& warnings) {
    cluster_objects sorted;
    std::set<std::string> seen;
    const auto is_new = [&](const manifest& object, const std::string& name) {
        if (seen.insert(object.kind + " " + name).second) return true;
        warnings.push_back(
            bad_value(error_code::duplicate, object.kind, name, "every object once; only the first counts")
                .at(object.place));
        return false;
    };
    for (const manifest& object : objects) {
        if (object.node && object.name.empty()) continue; // one of its problems says so
        if (object.node && is_new(object, object.name)) {
            sorted.nodes.push_back(&object);
            sorted.nodes_by_name.emplace(object.name, &*object.node);
        }
        if (object.kind == "ConfigMap") sorted.config_maps[object.name][namespace_of(object)] = &object.data;
        if (object.kind != "Pod" || !object.pod || has_ended(object)) continue;
        if (!is_new(object, full_name_of(object))) continue;
        sorted.pods.push_back(&object);
        if (const std::string node = node_of(object, dialects); !node.empty()) {
            sorted.pods_on_node[node].push_back(&*object.pod);
        }
    }
    return sorted;
}

} // namespace vgpualloc::kube
