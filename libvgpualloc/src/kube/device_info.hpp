// The list of chips that MindCluster keeps in a ConfigMap for each node.
#pragma once

#include <map>
#include <span>
#include <string>

#include "vgpualloc/dialect/mindcluster.hpp"
#include "vgpualloc/kube/objects.hpp"

namespace vgpusim {

/// By node. A ConfigMap that is not as MindCluster writes it tells of no node.
[[nodiscard]] std::map<std::string, vgpualloc::dialect::mindcluster::device_info>
read_device_infos(std::span<const vgputraces::manifest> objects);

/// `with` for a cluster of these objects: chips of the sizes that its nodes have, as far as there are any.
[[nodiscard]] vgpualloc::dialect::mindcluster::options options_for(vgpualloc::dialect::mindcluster::options with,
                                                                   std::span<const vgputraces::manifest> objects);

} // namespace vgpusim
