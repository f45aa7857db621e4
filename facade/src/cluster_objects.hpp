// Objects of a cluster, which are to have nodes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "vgpufacade/core_names.hpp"
#include "vgpusim/workload/cluster_files.hpp"

namespace vgpufacade {

/// The objects of these inputs. Error missing where none is a node and nothing else is wrong with them.
[[nodiscard]] inline expected<std::vector<vgpualloc::kube::manifest>>
objects_with_nodes(const std::vector<std::string>& files, vgpusim::input_reader& from) {
    auto objects = load_objects(files, from);
    if (!objects) return objects;
    const auto may_be_node = [](const auto& object) { return object.node || !object.problems.empty(); };
    if (std::ranges::any_of(*objects, may_be_node)) return objects;
    std::string names;
    for (const std::string& name : files) names += (names.empty() ? "" : ", ") + name;
    return unexpected(
        bad_input(error_code::missing, "no nodes in " + names, "kubectl get nodes,pods -A -o json gives both"));
}

} // namespace vgpufacade
