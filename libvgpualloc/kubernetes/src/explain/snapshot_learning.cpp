// Arrivals as a snapshot shows them.
#include "vgpualloc/explain/snapshot_learning.hpp"

namespace vgpualloc::explaining {

void learn_of_pods(const kube::snapshot& state, const policy_pair& policies) {
    if (!policies.learns()) return;
    const auto note = [&](const kube::snapshot_pod& pod) {
        if (!pod.failure) policies.note_arrival(pod.request, *state.book);
    };
    for (const kube::bound_pod& running : state.bound) note(running.pod);
    for (const kube::snapshot_pod& waiting : state.pending) note(waiting);
}

} // namespace vgpualloc::explaining
