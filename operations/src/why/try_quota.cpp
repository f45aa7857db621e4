// Quotas that are raised, and pods that no longer count for them.
#include "try_quota.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "../show/overview_parts.hpp"
#include "try_changes.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/resource_quotas.hpp"
#include "vgpualloc/model/trial.hpp"
#include "vgpuops/show/verdict.hpp"
#include "waiting_rooms.hpp"

namespace vgpuops::why {

namespace {

constexpr std::size_t ends_max = 3;    // pods whose end is listed
constexpr std::size_t trials_max = 24; // of ends

/// Whether the object is a pod of that namespace that is there and counts.
bool is_counted_in(const kube::manifest& object, const std::string& ns) {
    return object.kind == "Pod" && object.pod && kube::namespace_of(object) == ns && !kube::has_ended(object);
}

class quota_trials {
public:
    quota_trials(kube::snapshot& state, kube::resource_quotas quotas, const kube::manifest& next_pod,
                 const vgpualloc::pod_request& request)
        : state_{&state}, next_pod_{&next_pod}, request_{&request}, quotas_{std::move(quotas)} {}

    /// Whether the quotas as they are keep the pod from being made.
    [[nodiscard]] bool is_held() const { return is_held_by(quotas_); }

    /// With the quota so large that one more pod is made.
    void raise(const kube::quota_shortage& shortage, std::vector<tried_change>& to) {
        kube::resource_quotas raised = quotas_;
        const std::string hard = raised.raise(shortage, *next_pod_);
        if (hard.empty()) return;
        add_if_made(std::move(raised), fmt::format("quota {} is {}", shortage.quota, hard), to);
    }

    /// Without one of the pods.
    bool end(const kube::manifest& pod, std::vector<tried_change>& to) {
        kube::resource_quotas lowered = quotas_;
        lowered.forget(pod);
        const std::string name = kube::full_name_of(pod);
        vgpualloc::trial scope{*state_->book};
        for (std::size_t i = 0; i < state_->bound.size(); ++i) {
            if (state_->bound[i].pod.full_name() == name) static_cast<void>(state_->book->release(pod_id{i}));
        }
        return add_if_made(std::move(lowered), name + " is deleted", to);
    }

private:
    [[nodiscard]] bool is_held_by(kube::resource_quotas quotas) const {
        return quotas.shortage_of(*next_pod_).has_value();
    }

    bool add_if_made(kube::resource_quotas quotas, std::string what, std::vector<tried_change>& to) {
        if (is_held_by(std::move(quotas))) return false;
        const std::vector<std::string> names = takers_of(*state_, *request_);
        if (names.empty()) return false;
        to.push_back({.what = std::move(what), .then = takers_words(names, "its pod")});
        return true;
    }

    kube::snapshot* state_;
    const kube::manifest* next_pod_;
    const vgpualloc::pod_request* request_;
    kube::resource_quotas quotas_;
};

/// `waiting` are verdicts of pods that wait, by name.
std::vector<counted_pod> counted_pods(const std::vector<kube::manifest>& objects, kube::resource_quotas& quotas,
                                      const show::held_job& held, const std::map<std::string, show::verdict>& waiting) {
    const std::string ns = held.name.substr(0, held.name.find('/'));
    std::vector<counted_pod> result;
    for (const kube::manifest& object : objects) {
        if (!is_counted_in(object, ns)) continue;
        std::string amount = quotas.counted_words(held.shortage, object);
        if (amount.empty()) continue;
        counted_pod entry{.name = ns + "/" + object.name, .amount = std::move(amount), .state = "runs"};
        const auto verdict = waiting.find(entry.name);
        if (verdict != waiting.end()) entry.state = fmt::format("waits: {}", show::to_string(verdict->second));
        result.push_back(std::move(entry));
    }
    return result;
}

std::vector<tried_change> try_quota(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                    kube::resource_quotas quotas, const kube::manifest& maker,
                                    const show::held_job& held, const std::vector<counted_pod>& counted,
                                    const stop_signal& stop) {
    std::vector<tried_change> result;
    const auto pod = kube::read_snapshot_pod(maker, state);
    if (!pod) return result;
    quota_trials trials{state, std::move(quotas), held.next_pod, pod->request};
    if (!trials.is_held()) return result;
    trials.raise(held.shortage, result);
    // Pods that wait and can never run are missed least, then those that wait.
    std::vector<const counted_pod*> order;
    for (const counted_pod& entry : counted) order.push_back(&entry);
    std::ranges::stable_sort(order, {}, [](const counted_pod* entry) {
        return entry->state == "waits: never" ? 0 : entry->state == "runs" ? 2 : 1;
    });
    std::map<std::string, const kube::manifest*> pods;
    const std::string ns = kube::namespace_of(maker);
    for (const kube::manifest& object : objects) {
        if (is_counted_in(object, ns)) pods.emplace(ns + "/" + object.name, &object);
    }
    stop_signal end = stop;
    std::size_t listed = 0;
    for (std::size_t i = 0; i < std::min(order.size(), trials_max) && listed < ends_max && !end.poll(); ++i) {
        if (trials.end(*pods.at(order[i]->name), result)) ++listed;
    }
    return result;
}

} // namespace

quota_findings look_at_quota(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                             const kube::manifest& maker, const show::held_job& held, const stop_signal& stop) {
    const std::string ns = kube::namespace_of(maker);
    std::erase_if(state.pending.own_items(), [&](const kube::snapshot_pod& pod) { return pod.ns != ns; });
    const waiting_rooms waiting = rooms_for_waiting(state, objects, stop);
    std::map<std::string, show::verdict> verdicts;
    for (const kube::snapshot_pod& pod : state.pending) verdicts.emplace(pod.full_name(), show::verdict::fits_now);
    for (const show::waiting_pod& pod : waiting.pods) verdicts[pod.name] = pod.why;
    kube::resource_quotas quotas{objects};
    quota_findings result{.counted = counted_pods(objects, quotas, held, verdicts)};
    result.changes = try_quota(state, objects, std::move(quotas), maker, held, result.counted, stop);
    return result;
}

const kube::manifest* maker_of(const std::vector<kube::manifest>& objects, const show::held_job& held) {
    for (const bool is_part : {false, true}) { // a Deployment itself, else its ReplicaSet
        for (const kube::manifest& object : objects) {
            if (!object.pod || object.kind == "Pod" || (is_part && object.replicas == 0)) continue;
            const std::string& kind = is_part ? object.controller : object.kind;
            const std::string& name = is_part ? object.controller_name : object.name;
            if (kind == held.kind && kube::namespace_of(object) + "/" + name == held.name) return &object;
        }
    }
    return nullptr;
}

} // namespace vgpuops::why
