// What kube-scheduler says of a pod that fits nowhere.
#pragma once

#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::why {

/// Whether kube-scheduler alone decides about the pod.
[[nodiscard]] bool is_for_kube_scheduler(const kube::snapshot& state, const kube::snapshot_pod& pod);

/// The message of kube-scheduler's event FailedScheduling about the nodes, word for word as version 1.34 has it: "0/6
/// nodes are available: 1 node(s) were unschedulable, 4 Insufficient nvidia.com/gpu." A node counts under the first
/// plugin that refuses it, with all that NodeResourcesFit lacks. What comes behind the sentence, about preemption, is
/// not there. Empty where some node takes the pod, where the pod has a gate, and where another scheduler decides.
/// `objects` are those of the snapshot.
[[nodiscard]] std::string scheduler_words(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                          const kube::snapshot_pod& pod);

/// The reasons of each node for such a message, by the snapshot's order of nodes: none where the node takes the pod.
[[nodiscard]] std::vector<std::vector<std::string>> scheduler_reasons(const kube::snapshot& state,
                                                                      const std::vector<kube::manifest>& objects,
                                                                      const kube::snapshot_pod& pod);

/// The message of such reasons, of which every node has some.
[[nodiscard]] std::string message_of(const std::vector<std::vector<std::string>>& reasons);

} // namespace vgpuops::why
