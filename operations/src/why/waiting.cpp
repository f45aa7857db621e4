// Groups of pods that wait.
#include "vgpuops/why/waiting.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "../show/overview_parts.hpp"
#include "because.hpp"
#include "vgpualloc/explain/not_considered.hpp"
#include "waiting_groups.hpp"
#include "waiting_rooms.hpp"

namespace vgpuops::why {

namespace {

/// Pods of one group.
struct group_members {
    const kube::snapshot_pod* first = nullptr; ///< by name
    show::waiting_pod first_entry{};
    waiting_group group{};
};

/// Takes a pod that comes after those already there by name.
void add_member(const kube::snapshot_pod& pod, const show::waiting_pod& waiting, std::int64_t asked_milli,
                group_members& to) {
    if (to.first == nullptr) {
        to.first = &pod;
        to.first_entry = waiting;
    }
    waiting_group& group = to.group;
    group.verdict = waiting.why;
    group.names.push_back(waiting.name);
    group.asked_milli += asked_milli;
    if (!waiting.since.empty() && (group.since.empty() || waiting.since < group.since)) group.since = waiting.since;
}

/// A GPU for each unit of a request that can be read; nothing for others.
std::int64_t asked_by_one(const show::room& available) { return available.is_readable ? available.asked_milli : 0; }

/// Groups of pods that wait, and how many pods they are; returns these pods. Once an end is wanted, groups are missing.
std::vector<const kube::snapshot_pod*> add_groups(kube::snapshot& state, const std::vector<show::waiting_pod>& waiting,
                                                  const show::rooms& available, const stop_signal& stop,
                                                  waiting_answer& to) {
    std::vector<const kube::snapshot_pod*> listed;
    std::map<std::string, const kube::snapshot_pod*> pods;
    for (const kube::snapshot_pod& pod : state.pending) pods.emplace(pod.full_name(), &pod);
    using group_key = std::tuple<show::verdict, vgpualloc::pod_request, std::vector<std::string>, std::string,
                                 std::optional<show::gang_shortage>>;
    std::map<group_key, group_members> groups;
    for (const show::waiting_pod& entry : waiting) {
        const kube::snapshot_pod& pod = *pods.at(entry.name);
        listed.push_back(&pod);
        ++to.pods;
        if (entry.why == show::verdict::fits_now) ++to.fitting;
        const std::optional<error>& refusal = pod.failure ? pod.failure : pod.unserved;
        std::string hold = refusal ? refusal->message() : std::string{};
        if (pod.queue_hold) hold = *pod.queue_hold;
        group_members& members = groups[{entry.why, pod.request, pod.gates, hold,
                                         entry.why == show::verdict::gang ? entry.gang : std::nullopt}];
        add_member(pod, entry, asked_by_one(room_for(available, pod)), members);
    }
    stop_signal end = stop;
    for (auto& [key, members] : groups) {
        if (end.poll()) return listed;
        waiting_group& group = members.group;
        group.because =
            because_of(state, *members.first, members.first_entry, room_for(available, *members.first), stop);
        to.groups.push_back(std::move(group));
    }
    std::ranges::sort(to.groups, {}, [](const waiting_group& group) {
        return std::tuple{group.since.empty(), std::string_view{group.since}, std::string_view{group.names.front()}};
    });
    return listed;
}

} // namespace

expected<waiting_answer> groups_of_waiting(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                           const stop_signal& stop,
                                           const std::function<bool(const std::string&)>& is_wanted) {
    const waiting_rooms waiting = rooms_for_waiting(state, objects, stop);
    if (stop.raised()) return unexpected(stop_signal::stopped());
    std::vector<show::waiting_pod> wanted;
    for (const show::waiting_pod& pod : waiting.pods) {
        if (!is_wanted || is_wanted(pod.name)) wanted.push_back(pod);
    }
    waiting_answer result;
    std::vector<const kube::snapshot_pod*> listed = add_groups(state, wanted, waiting.rooms, stop, result);
    if (stop.raised()) return unexpected(stop_signal::stopped());
    for (const kube::snapshot_pod& pod : state.pending) {
        if ((is_wanted && !is_wanted(pod.full_name())) || !show::asks_for_unread(state, pod)) continue;
        ++result.unread;
        listed.push_back(&pod);
    }
    result.not_looked_at = explaining::not_considered(state, listed);
    result.warnings = state.warnings;
    return result;
}

expected<waiting_answer> waiting_of(const std::vector<kube::manifest>& objects, const vgpualloc::dialect_set& dialects,
                                    const std::string& ns, const stop_signal& stop) {
    auto state = kube::make_snapshot(objects, dialects, stop);
    if (!state) return unexpected(std::move(state).error());
    std::vector<show::held_job> makes_no_pods = show::held_jobs(*state, objects, {.ns = ns});
    if (makes_no_pods.empty()) {
        if (auto checked = show::check_namespace(*state, ns); !checked) return unexpected(std::move(checked).error());
    }
    std::function<bool(const std::string&)> is_wanted;
    if (!ns.empty()) is_wanted = [prefix = ns + "/"](const std::string& pod) { return pod.starts_with(prefix); };
    auto result = groups_of_waiting(*state, objects, stop, is_wanted);
    if (result) result->makes_no_pods = std::move(makes_no_pods);
    return result;
}

expected<seen_and_waiting> overview_and_waiting(const std::vector<kube::manifest>& objects,
                                                const vgpualloc::dialect_set& dialects, const show::selection& chosen,
                                                const stop_signal& stop) {
    waiting_answer waiting;
    auto seen =
        show::overview_while(objects, dialects, chosen, stop,
                             [&](kube::snapshot& state, const show::rooms& available, const show::overview& now) {
                                 static_cast<void>(add_groups(state, now.waiting, available, stop, waiting));
                             });
    if (!seen) return unexpected(std::move(seen).error());
    waiting.makes_no_pods = seen->makes_no_pods;
    waiting.unread = seen->pods_unread;
    waiting.not_looked_at = seen->not_looked_at;
    waiting.warnings = seen->warnings;
    return seen_and_waiting{*std::move(seen), std::move(waiting)};
}

} // namespace vgpuops::why
