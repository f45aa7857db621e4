// Verdicts.
#include "vgpuops/show/verdict.hpp"

#include <algorithm>

namespace vgpuops::show {

namespace {

std::int64_t idle_by(const room& available, vgpualloc::idle_cause cause) {
    return available.idle[static_cast<std::size_t>(cause)];
}

} // namespace

bool is_queued(const kube::snapshot_pod& pod) {
    return pod.queue_hold != nullptr ||
           std::ranges::any_of(pod.gates, [](const std::string& gate) { return gate.starts_with("kueue.x-k8s.io/"); });
}

bool is_gated(const kube::snapshot_pod& pod) { return !pod.gates.empty(); }

bool can_never_run(const room& available) { return !available.is_readable || !available.fits_alone; }

bool fits(const room& available) { return available.more > 0; }

bool is_kept_away(const room& available) { return available.more == 0 && available.more_alone > 0; }

bool is_host_full(const room& available) { return idle_by(available, vgpualloc::idle_cause::host_full) > 0; }

bool is_scattered(const room& available) { return available.in_sum.is_enough; }

verdict verdict_of(const kube::snapshot_pod& pod, const room& available, bool gang_is_short) {
    if (is_queued(pod)) return verdict::queue;
    if (is_gated(pod)) return verdict::gate;
    if (pod.unserved) return verdict::never;
    if (gang_is_short && fits(available)) return verdict::gang;
    if (can_never_run(available)) return verdict::never;
    if (fits(available)) return verdict::fits_now;
    if (is_kept_away(available)) return verdict::not_allowed;
    if (is_host_full(available)) return verdict::host_full;
    return is_scattered(available) ? verdict::scattered : verdict::all_used;
}

} // namespace vgpuops::show
