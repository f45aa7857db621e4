// Answers about one pod.
#include "vgpuops/why/pod.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "../show/near_names.hpp"
#include "../show/overview_parts.hpp"
#include "because.hpp"
#include "try_changes.hpp"
#include "vgpualloc/explain/not_considered.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/names.hpp"
#include "vgpuops/why/scheduler_words.hpp"
#include "waiting_rooms.hpp"

namespace vgpuops::why {

namespace {

/// Where a pod of the snapshot is.
struct pod_place {
    const kube::snapshot_pod* pod = nullptr;
    std::string runs_on{}; ///< empty: it waits
};

error not_one_pod(const std::string& name, std::string accepted) {
    return bad_value(error_code::unknown_name, "", name, std::move(accepted)).at("--pod");
}

expected<pod_place> find_pod(const kube::snapshot& state, const std::string& name) {
    std::vector<pod_place> matches;
    std::vector<std::string> names;
    const auto look_at = [&](const kube::snapshot_pod& pod, const std::string& runs_on) {
        names.push_back(pod.full_name());
        if (name == names.back() || name == pod.name) matches.push_back({.pod = &pod, .runs_on = runs_on});
    };
    for (const kube::snapshot_pod& pod : state.pending) look_at(pod, "");
    for (const kube::bound_pod& bound : state.bound) {
        look_at(bound.pod, state.nodes().nodes[bound.node.at()].name);
    }
    if (matches.size() == 1) return matches.front();
    if (matches.size() > 1) {
        const auto name_of = [](const pod_place& place) { return place.pod->full_name(); };
        return unexpected(
            not_one_pod(name, "one pod of that name, with its namespace: " + vgpuformats::some_of(matches, name_of)));
    }
    if (names.empty()) return unexpected(not_one_pod(name, "a pod of the cluster, which has none"));
    constexpr std::size_t names_shown = 3;
    return unexpected(not_one_pod(name, "a pod of the cluster; near: " +
                                            vgpuformats::joined(show::near_names(name, names, names_shown))));
}

void add_object(const std::vector<kube::manifest>& objects, pod_answer& to) {
    for (const kube::manifest& object : objects) {
        if (object.kind != "Pod" || kube::namespace_of(object) + "/" + object.name != to.name) continue;
        to.since = object.created;
        to.priority = object.priority;
        return;
    }
}

/// The one owner of that name that is kept from making pods.
std::optional<show::held_job> held_owner(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                         const std::string& name) {
    std::vector<show::held_job> jobs = show::held_jobs(state, objects, {});
    std::erase_if(jobs, [&](const show::held_job& job) {
        return job.name != name && job.name.substr(job.name.find('/') + 1) != name;
    });
    return jobs.size() == 1 ? std::optional{jobs.front()} : std::nullopt;
}

/// What a pod without devices waits for, which `show` has no verdict for.
error asks_for_no_device(const std::string& name) {
    return bad_value(error_code::unsupported, "", name, "a pod that asks for GPUs or other devices").at("--pod");
}

} // namespace

expected<pod_answer> pod_of(const std::vector<kube::manifest>& objects, const vgpualloc::dialect_set& dialects,
                            const std::string& name, const stop_signal& stop) {
    auto state = kube::make_snapshot(objects, dialects, stop);
    if (!state) return unexpected(std::move(state).error());
    const auto place = find_pod(*state, name);
    if (!place) {
        auto held = held_owner(*state, objects, name);
        if (!held) return unexpected(place.error());
        pod_answer of_owner{.name = held->name, .makes_no_pods = std::move(held)};
        of_owner.warnings = state->warnings;
        return of_owner;
    }
    const kube::snapshot_pod& pod = *place->pod;
    pod_answer result{.name = pod.full_name(),
                      .runs_on = place->runs_on,
                      .cpu_milli = pod.request.cpu.count(),
                      .memory_mib = vgpualloc::mib_up(pod.request.memory),
                      .rules = show::shape_rules(pod.request)};
    result.warnings = state->warnings;
    add_object(objects, result);
    if (!result.runs_on.empty()) return result;
    const waiting_rooms waiting = rooms_for_waiting(*state, objects, stop);
    if (stop.raised()) return unexpected(stop_signal::stopped());
    const auto entry = std::ranges::find(waiting.pods, result.name, &show::waiting_pod::name);
    if (entry == waiting.pods.end()) return unexpected(asks_for_no_device(name));
    result.verdict = entry->why;
    if (const auto asks = waiting.asks.find(pod.request); asks != waiting.asks.end()) result.asks = asks->second;
    result.because = because_of(*state, pod, result.verdict, room_for(waiting, pod), stop);
    if (!pod.failure) {
        const auto explained = explain_waiting(*state, pod, stop);
        if (!explained) return unexpected(explained.error());
        result.nodes = reasons_of(*state, *explained);
        result.scheduler_words = scheduler_words(*state, objects, pod);
        result.changes = try_changes(*state, objects, dialects, pod, result.verdict, result.nodes, stop);
    }
    if (stop.raised()) return unexpected(stop_signal::stopped());
    const std::vector<const kube::snapshot_pod*> pods{&pod};
    result.not_looked_at = explaining::not_considered(*state, pods);
    return result;
}

} // namespace vgpuops::why
