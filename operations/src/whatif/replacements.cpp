// What the API server makes of pods that take the place of deleted ones.
#include "replacements.hpp"

#include <map>
#include <utility>

#include "vgpualloc/kube/cluster_objects.hpp"

namespace vgpuops::whatif {

std::string refused_pod::words() const {
    if (by_limits) return error{*by_limits}.at("").message();
    return by_quota ? holder_of(*by_quota) + ": " + words_of(*by_quota) : std::string{};
}

refused_pod replacements::make(const kube::manifest& pod) {
    if (refuse_none()) return {};
    kube::manifest next = pod;
    if (auto refusal = limits_.admit(next)) return {.by_limits = std::move(refusal)};
    kube::quota_admission one{.pods = 1};
    quotas_.admit(next, one);
    return {.by_quota = std::move(one.short_of)};
}

refused_pod replacements::ask(const kube::manifest& pod) {
    if (refuse_none()) return {};
    kube::manifest next = pod;
    if (auto refusal = limits_.admit(next)) return {.by_limits = std::move(refusal)};
    return {.by_quota = quotas_.shortage_of_replacement(pod, next)};
}

void hold_refused(const std::vector<kube::manifest>& objects, pod_queue& queue) {
    replacements made_again{objects};
    if (made_again.refuse_none()) return;
    std::map<std::string, const kube::manifest*> evicted;
    for (const queued_pods& entry : queue.pods) {
        if (entry.origin == pod_origin::evicted) evicted.emplace(entry.pod.full_name(), nullptr);
    }
    for (const kube::manifest& object : objects) {
        if (object.kind != "Pod") continue;
        const auto known = evicted.find(kube::full_name_of(object));
        if (known != evicted.end()) known->second = &object;
    }
    for (const auto& [name, object] : evicted) {
        if (object != nullptr) made_again.remove(*object);
    }
    for (queued_pods& entry : queue.pods) {
        if (entry.origin != pod_origin::evicted) continue;
        const kube::manifest* const object = evicted.at(entry.pod.full_name());
        if (object == nullptr) continue;
        refused_pod refused = made_again.make(*object);
        if (refused.by_limits && !entry.unreadable) entry.unreadable = std::move(refused.by_limits);
        if (!refused.by_quota) continue;
        entry.held = std::exchange(entry.count, 0);
        entry.short_of = std::move(refused.by_quota);
    }
}

} // namespace vgpuops::whatif
