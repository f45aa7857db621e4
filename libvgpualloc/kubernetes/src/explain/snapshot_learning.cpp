// Arrivals as a snapshot shows them.
#include "vgpualloc/explain/snapshot_learning.hpp"

namespace vgpualloc::explaining {

void note_arrival(const pod_request& request, const kube::snapshot& state, const policy_pair& policies) {
    policies.node->note_arrival(request, *state.book);
    if (policies.device != policies.node) policies.device->note_arrival(request, *state.book);
}

void learn_of_pods(const kube::snapshot& state, const policy_pair& policies) {
    if (!policies.learns()) return;
    tell_of_bookings(*state.book, policies);
    const auto note = [&](const kube::snapshot_pod& pod) {
        if (!pod.failure) note_arrival(pod.request, state, policies);
    };
    for (const kube::bound_pod& running : state.bound) note(running.pod);
    for (const kube::snapshot_pod& waiting : state.pending) note(waiting);
}

} // namespace vgpualloc::explaining
