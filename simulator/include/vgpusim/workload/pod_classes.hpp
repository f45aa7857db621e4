// Classes of pods: what the manifests of a file make, by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// Pods of one template.
struct pod_template {
    std::string suffix;    ///< of their names, before the number: "-worker" for a task of a Volcano Job
    std::int64_t pods = 1; ///< at least 1
    pod_request request;
    vgpualloc::kubernetes::pod object{}; ///< of one pod, with the name of the class
};

/// A Pod, or an object that makes pods.
struct pod_class {
    std::string name;
    std::string place; ///< file and line
    std::vector<pod_template> templates;
    std::int64_t pods = 1;    ///< of all templates
    std::int64_t minimum = 1; ///< without which none starts
};

/// The classes that the objects make, in their order: a Pod, a Deployment, ReplicaSet, StatefulSet, Job or CronJob with
/// its replicas, a Volcano Job with all of its tasks; other kinds are passed over. The minimum is what a Volcano Job
/// says, else all pods. Errors, with file and line: no class, two of one name, an object that cannot be read or is
/// bound to a node, resources that no dialect reads, a DaemonSet (its pods are as many as there are nodes), no pod or
/// more than 10,000,000 pods, a minimum above the pods. `source` is the name of the file.
[[nodiscard]] expected<std::vector<pod_class>> read_pod_classes(std::span<const vgpualloc::kube::manifest> objects,
                                                                const vgpualloc::dialect_set& dialects,
                                                                const std::string& source);

} // namespace vgpusim
