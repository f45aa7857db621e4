// What policies learn of the pods of a snapshot.
#pragma once

#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/policy/pair.hpp"

namespace vgpualloc::explaining {

/// Has policies that learn (policy_traits::learns) hear of the pods that are there, as those of a scheduler do that has
/// just started: those that run have their devices already, and all of them have arrived. Nobody has left yet.
void learn_of_pods(const kube::snapshot& state, const policy_pair& policies);
/// Has both hear that a pod has arrived.
void note_arrival(const pod_request& request, const kube::snapshot& state, const policy_pair& policies);

} // namespace vgpualloc::explaining
