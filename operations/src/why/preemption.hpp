// Pods of lower priority that kube-scheduler would stop for one that waits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/why/pod.hpp"

namespace vgpuops::why {

/// Whom kube-scheduler's plugin DefaultPreemption would choose (pkg/scheduler/framework/preemption, version 1.34) for a
/// pod that fits nowhere: on each node that only lacks room all pods of lower priority go in a trial, and come back one
/// by one as long as the pod still fits, first those whose budget forbids it and then the more important ones. Of the
/// nodes it takes the one whose victims have the fewest such budgets, then the lowest priority, sum of priorities,
/// number, and the latest start. None: no node would take the pod, or its policy is Never. `object` is the pod, or what
/// makes it. The ledger is as before. Once an end is wanted, nodes are missing.
[[nodiscard]] std::optional<preemption> preemption_for(kube::snapshot& state,
                                                       const std::vector<kube::manifest>& objects,
                                                       const kube::snapshot_pod& pod, const kube::manifest& object,
                                                       const stop_signal& stop);

} // namespace vgpuops::why
