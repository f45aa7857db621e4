// The Kubernetes objects that a workload was read from, for schedulers that decide by them.
#pragma once

#include <optional>
#include <vector>

#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/kube/scheduler_config.hpp"
#include "vgpualloc/kube/snapshot.hpp"

namespace vgpusim {

struct kubernetes_node {
    vgpualloc::kubernetes::node object;
    /// DeviceList of the ConfigMap in which MindCluster says more of the node's chips; empty where there is none.
    vgpualloc::kubernetes::text_map device_list{};
    std::vector<vgpualloc::kube::snapshot_device> devices{}; ///< by device index, as they were registered
};

/// One copy per node and per request, however many pods there are.
struct kubernetes_objects {
    vgpualloc::dialect_set dialects;
    std::vector<kubernetes_node> nodes;           ///< as simulation_input::nodes
    std::vector<vgpualloc::kubernetes::pod> pods; ///< as simulation_input::requests; names are those of the classes
    std::optional<vgpualloc::kube::scheduler_config> scheduler{}; ///< Volcano's; none: no such file was given
};

} // namespace vgpusim
