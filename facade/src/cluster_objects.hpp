// Objects of a cluster, which are to have nodes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vgpufacade/core_names.hpp"
#include "vgpusim/workload/cluster_files.hpp"

namespace vgpufacade {

/// The objects of these inputs. Error missing where none is a node and nothing else is wrong with them.
[[nodiscard]] inline expected<vgpusim::shared_objects> objects_with_nodes(const std::vector<std::string>& files,
                                                                          vgpusim::input_reader& from) {
    auto objects = load_shared_objects(files, from);
    if (!objects) return objects;
    if (auto checked = vgpusim::check_nodes(**objects, files); !checked) return unexpected(std::move(checked).error());
    return objects;
}

} // namespace vgpufacade
