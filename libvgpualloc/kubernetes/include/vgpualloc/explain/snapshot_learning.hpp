// What policies learn of the pods of a snapshot.
#pragma once

#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/policy/pair.hpp"

namespace vgpualloc::explaining {

/// Has policies that learn (policy_traits::learns) hear of the pods that are there, as those of a scheduler do that has
/// just started: all of them have arrived, and nobody has left yet.
void learn_of_pods(const kube::snapshot& state, const policy_pair& policies);

} // namespace vgpualloc::explaining
