// Answers about one pod.
#include "vgpuops/why/pod.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "../show/near_names.hpp"
#include "../show/overview_parts.hpp"
#include "because.hpp"
#include "owned_pods.hpp"
#include "try_changes.hpp"
#include "try_quota.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/explain/not_considered.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/pod_admission.hpp"
#include "vgpualloc/kube/quotas.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/headroom.hpp"
#include "vgpuops/show/names.hpp"
#include "vgpuops/why/scheduler_words.hpp"
#include "waiting_rooms.hpp"

namespace vgpuops::why {

namespace {

/// Every one of them is placed, more than once.
constexpr std::int64_t pods_of_file_max = 100'000;

/// Where a pod of the snapshot is.
struct pod_place {
    const kube::snapshot_pod* pod = nullptr;
    std::string runs_on{}; ///< empty: it waits
};

error not_one_pod(const std::string& name, std::string accepted) {
    return bad_value(error_code::unknown_name, "", name, std::move(accepted)).at("--pod");
}

expected<pod_place> find_pod(const kube::snapshot& state, const std::vector<kube::manifest>& objects,
                             const std::string& name) {
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
    for (const std::string& owner : owners_of_pods(state, objects)) names.push_back(owner);
    return unexpected(not_one_pod(name, "a pod of the cluster; near: " +
                                            vgpuformats::joined(show::near_names(name, names, names_shown))));
}

void add_object(const std::vector<kube::manifest>& objects, pod_answer& to) {
    for (const kube::manifest& object : objects) {
        if (object.kind != "Pod" || kube::full_name_of(object) != to.name) continue;
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

pod_answer begin_answer(const kube::snapshot& state, const kube::snapshot_pod& pod) {
    pod_answer result{.name = pod.full_name(),
                      .cpu_milli = pod.request.cpu.count(),
                      .memory_mib = vgpualloc::mib_up(pod.request.memory),
                      .rules = show::shape_rules(pod.request)};
    result.warnings = state.warnings;
    return result;
}

/// What a pod without devices waits for, which `show` has no verdict for.
error asks_for_no_device(const std::string& name) {
    return bad_value(error_code::unsupported, "", name, "a pod that asks for GPUs or other devices").at("--pod");
}

/// Verdict, what it is due to, and what the pod asks for: as all pods of the snapshot that wait are told apart.
expected<void> add_verdict(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                           const kube::snapshot_pod& pod, pod_answer& to, const stop_signal& stop) {
    const waiting_rooms waiting = rooms_for_waiting(state, objects, stop);
    if (stop.raised()) return unexpected(stop_signal::stopped());
    const auto entry = std::ranges::find(waiting.pods, to.name, &show::waiting_pod::name);
    if (entry == waiting.pods.end()) return unexpected(asks_for_no_device(to.name));
    to.verdict = entry->why;
    if (const auto asks = waiting.asks.find(pod.request); asks != waiting.asks.end()) to.asks = asks->second;
    to.because = because_of(state, pod, *entry, room_for(waiting, pod), stop);
    return {};
}

/// The answer with what the nodes say, and with changes that help.
expected<pod_answer> finished(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                              const vgpualloc::dialect_set& dialects, pod_to_start wanted, pod_answer result,
                              const stop_signal& stop) {
    const kube::snapshot_pod& pod = *wanted.pod;
    if (!pod.failure) {
        const auto explained = explain_waiting(state, pod, stop);
        if (!explained) return unexpected(explained.error());
        result.nodes = reasons_of(state, *explained);
        result.scheduler_words = scheduler_words(state, objects, pod);
        wanted.nodes = &result.nodes;
        std::ranges::move(try_changes(state, objects, dialects, wanted, stop), std::back_inserter(result.changes));
    }
    if (stop.raised()) return unexpected(stop_signal::stopped());
    const std::vector<const kube::snapshot_pod*> pods{&pod};
    result.not_looked_at = explaining::not_considered(state, pods);
    return result;
}

/// Who counts for the quota that holds an owner, or a pod of a file, and changes that help.
void add_quota(kube::snapshot& state, const std::vector<kube::manifest>& objects, const kube::manifest& maker,
               const show::held_job& held, pod_answer& to, const stop_signal& stop) {
    const std::string ns = kube::namespace_of(maker);
    std::erase_if(state.pending.own_items(), [&](const kube::snapshot_pod& pod) { return pod.ns != ns; });
    const waiting_rooms waiting = rooms_for_waiting(state, objects, stop);
    std::map<std::string, show::verdict> verdicts;
    for (const kube::snapshot_pod& pod : state.pending) verdicts.emplace(pod.full_name(), show::verdict::fits_now);
    for (const show::waiting_pod& pod : waiting.pods) verdicts[pod.name] = pod.why;
    to.counted = counted_pods(state, objects, held, verdicts);
    to.changes = try_quota(state, objects, maker, held, to.counted, stop);
}

/// An owner that makes no pods, with what would have to change.
expected<pod_answer> about_held_owner(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                      show::held_job held, const stop_signal& stop) {
    pod_answer result{.name = held.name, .kind = held.kind, .makes_no_pods = held};
    result.warnings = state.warnings;
    const auto is_maker = [&](const kube::manifest& object) {
        return object.pod && object.kind == held.kind && kube::full_name_of(object) == held.name;
    };
    const auto maker = std::ranges::find_if(objects, is_maker);
    if (maker == objects.end()) return result;
    if (held.by_queue) {
        const auto pod = kube::read_snapshot_pod(*maker, state);
        const std::vector<std::string> names = pod ? takers_of(state, pod->request) : std::vector<std::string>{};
        if (!names.empty()) {
            const char* const which = maker->replicas == 1 ? "its pod" : "its first pod";
            result.changes.push_back({.what = "its queue lets it in", .then = takers_words(names, which)});
        }
    } else {
        add_quota(state, objects, *maker, held, result, stop);
    }
    if (stop.raised()) return unexpected(stop_signal::stopped());
    return result;
}

/// The one object of a file that is or makes a pod.
expected<kube::manifest*> only_maker(std::vector<kube::manifest>& added, const std::string& file) {
    std::vector<kube::manifest*> makers;
    for (kube::manifest& object : added) {
        if (!object.problems.empty()) return unexpected(object.problems.front());
        if (object.pod) makers.push_back(&object);
    }
    if (makers.size() == 1) return makers.front();
    return unexpected(bad_value(error_code::mismatch, "", file,
                                fmt::format("one object that is or makes a pod; the file has {} (whatif --add-pods "
                                            "places all of them)",
                                            makers.size()))
                          .at("--pod"));
}

/// Lets so many pods run, as far as they fit, and says how many do.
std::int64_t fill(kube::snapshot& state, const kube::snapshot_pod& pod, std::int64_t pods, const stop_signal& stop) {
    const vgpualloc::owned_policies policies = show::best_fit();
    vgpualloc::allocator decider{*state.book, policies.pair()};
    const auto request = decider.intern(pod.request);
    if (!request) return 0;
    stop_signal end = stop;
    std::int64_t placed = 0;
    for (; placed < pods && !end.poll(); ++placed) {
        const auto place = decider.place(*state.book, pod_id{state.bound.size()}, *request);
        if (!place) break;
        state.bound.push_back({.pod = pod, .node = place->node});
    }
    return placed;
}

/// Takes the last pods away again.
void forget_last(kube::snapshot& state, std::size_t pods) {
    for (std::size_t i = 0; i < pods; ++i) {
        const auto released = state.book->release(pod_id{state.bound.size() - 1});
        VGA_ASSERT(released.has_value(), "it was placed");
        state.bound.pop_back();
    }
}

} // namespace

expected<pod_answer> pod_of(const std::vector<kube::manifest>& objects, const vgpualloc::dialect_set& dialects,
                            const std::string& name, const stop_signal& stop) {
    auto state = kube::make_snapshot(objects, dialects, stop);
    if (!state) return unexpected(std::move(state).error());
    const auto place = find_pod(*state, objects, name);
    if (!place) {
        auto held = held_owner(*state, objects, name);
        if (!held) return unexpected(place.error());
        return about_held_owner(*state, objects, *std::move(held), stop);
    }
    const kube::snapshot_pod& pod = *place->pod;
    pod_answer result = begin_answer(*state, pod);
    result.runs_on = place->runs_on;
    add_object(objects, result);
    if (!result.runs_on.empty()) return result;
    if (auto done = add_verdict(*state, objects, pod, result, stop); !done) return unexpected(done.error());
    return finished(*state, objects, dialects, {.pod = &pod, .verdict = result.verdict}, std::move(result), stop);
}

expected<pod_answer> pod_of_file(const std::vector<kube::manifest>& objects, const vgpualloc::dialect_set& dialects,
                                 std::vector<kube::manifest> added, const std::string& file, const stop_signal& stop) {
    auto state = kube::make_snapshot(objects, dialects, stop);
    if (!state) return unexpected(std::move(state).error());
    state->expect_pods(added);
    const auto maker = only_maker(added, file);
    if (!maker) return unexpected(maker.error());
    kube::manifest& object = **maker;
    if (!object.one_per_node && (object.replicas < 1 || object.replicas > pods_of_file_max)) {
        return unexpected(bad_value(error_code::out_of_range, "pods", std::to_string(object.replicas),
                                    "an object that makes 1 to " + std::to_string(pods_of_file_max) + " pods")
                              .at(object.place));
    }
    kube::pod_admission admission{objects, added};
    if (auto refusal = admission.admit(object)) return unexpected(*std::move(refusal));
    auto pod = kube::read_snapshot_pod(object, *state);
    if (!pod) return unexpected(std::move(pod).error());
    if (!show::asks_for_devices(*pod)) return unexpected(asks_for_no_device(file));
    pod_answer result = begin_answer(*state, *pod);
    result.kind = object.kind;
    result.file = file;
    result.priority = object.priority;
    result.pods = object.one_per_node ? 1 : object.replicas;
    kube::quota_book quotas{objects, added};
    const kube::quota_admission admitted = quotas.admit(object, result.pods);
    kube::add_flavor_rules(admitted.rules, pod->request.rules);
    const bool is_gang = kube::starts_together(object);
    const std::int64_t minimum = is_gang && object.min_available > 0 ? object.min_available : result.pods;
    state->pending.own_items().assign(1, *pod); // no other pod that waits takes anything
    pod_to_start wanted{.pod = &*pod, .added = added, .file = file};
    if (auto done = add_verdict(*state, objects, *pod, result, stop); !done) return unexpected(done.error());
    if (result.verdict == show::verdict::fits_now) {
        const std::int64_t room = fill(*state, *pod, admitted.pods, stop);
        const bool is_short = is_gang && room < std::min(minimum, admitted.pods);
        result.fitting = is_short ? 0 : room;
        if (is_short || room == admitted.pods) {
            forget_last(*state, static_cast<std::size_t>(room));
        } else {
            wanted.booked = static_cast<std::size_t>(room);
        }
        if (is_short) {
            result.verdict = show::verdict::gang;
            result.because = fmt::format("{} of its {} pods {}, and {} start together or not at all", room, result.pods,
                                         room == 1 ? "fits" : "fit", minimum);
        } else if (room < admitted.pods) {
            if (auto done = add_verdict(*state, objects, *pod, result, stop); !done) return unexpected(done.error());
        }
    }
    wanted.pods = std::max<std::int64_t>(admitted.pods - result.fitting, 1);
    if (admitted.short_of && result.fitting == admitted.pods) {
        const kube::quota_shortage& shortage = *admitted.short_of;
        const show::held_job held{.name = result.name,
                                  .kind = result.kind,
                                  .quota = shortage.quota,
                                  .resource = shortage.resource,
                                  .used = shortage.used,
                                  .hard = shortage.hard,
                                  .needed = shortage.needed};
        const bool is_queue = !shortage.queue.empty();
        result.verdict = is_queue ? show::verdict::queue : show::verdict::quota;
        result.because = fmt::format("{}: {}", holder_of(shortage), words_of(shortage));
        if (!is_queue && shortage.container.empty()) {
            auto cluster = kube::make_snapshot(objects, dialects, stop);
            if (!cluster) return unexpected(std::move(cluster).error());
            add_quota(*cluster, objects, object, held, result, stop);
        }
    }
    wanted.verdict = result.verdict;
    auto answered = finished(*state, objects, dialects, std::move(wanted), std::move(result), stop);
    if (!answered) return answered;
    for (const auto& list : {quotas.not_looked_at(), admission.not_looked_at()}) {
        for (const std::string& rule : list) answered->not_looked_at.push_back(rule);
    }
    return answered;
}

} // namespace vgpuops::why
