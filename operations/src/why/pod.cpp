// Answers about one pod.
#include "vgpuops/why/pod.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "../show/near_names.hpp"
#include "../show/overview_parts.hpp"
#include "because.hpp"
#include "owned_pods.hpp"
#include "preemption.hpp"
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
#include "without_verdict.hpp"

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

/// Whether somebody who writes this means a manifest.
bool is_like_a_file(const std::string& name) {
    constexpr std::array<std::string_view, 4> endings{".yaml", ".yml", ".json", ".gz"};
    return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
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
    std::ranges::sort(names); // a pod may be called what its owner is
    names.erase(std::ranges::unique(names).begin(), names.end());
    return unexpected(not_one_pod(name, fmt::format("a pod of the cluster{}; near: {}",
                                                    is_like_a_file(name) ? "; there is no such file" : "",
                                                    vgpuformats::joined(show::near_names(name, names, names_shown)))));
}

/// The Pod of that name, with its namespace; null: it is not there.
const kube::manifest* object_of(const std::vector<kube::manifest>& objects, const std::string& full_name) {
    const auto is_it = [&](const kube::manifest& object) {
        return object.kind == "Pod" && kube::full_name_of(object) == full_name;
    };
    const auto object = std::ranges::find_if(objects, is_it);
    return object == objects.end() ? nullptr : &*object;
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

/// Whether it may help the pod that others go.
bool lacks_room(show::verdict why) {
    return why == show::verdict::scattered || why == show::verdict::all_used || why == show::verdict::host_full ||
           why == show::verdict::not_allowed;
}

/// The answer with what the nodes say, and with changes that help. `object`: the pod, or what makes it; null: it is not
/// known.
expected<pod_answer> finished(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                              const vgpualloc::dialect_set& dialects, pod_to_start wanted, const kube::manifest* object,
                              pod_answer result, const stop_signal& stop) {
    const kube::snapshot_pod& pod = *wanted.pod;
    if (!pod.failure && !pod.unserved) {
        const auto explained = explain_waiting(state, pod, stop);
        if (!explained) return unexpected(explained.error());
        result.nodes = reasons_of(state, *explained);
        result.scheduler_words = scheduler_words(state, objects, pod);
        wanted.nodes = &result.nodes;
        std::ranges::move(try_changes(state, objects, dialects, wanted, stop), std::back_inserter(result.changes));
    }
    const std::vector<const kube::snapshot_pod*> pods{&pod};
    result.not_looked_at = explaining::not_considered(state, pods);
    if (object != nullptr && lacks_room(result.verdict) && is_for_kube_scheduler(state, pod)) {
        result.preempts = preemption_for(state, objects, pod, *object, stop);
        std::erase_if(result.not_looked_at, [](const std::string& rule) {
            return rule.starts_with("priority ") || rule.starts_with("PriorityClass: ");
        });
    }
    if (stop.raised()) return unexpected(stop_signal::stopped());
    return result;
}

/// Who counts for the quota that holds an owner, or a pod of a file, and changes that help.
void add_quota(kube::snapshot& state, const std::vector<kube::manifest>& objects, const kube::manifest& maker,
               const show::held_job& held, pod_answer& to, const stop_signal& stop) {
    quota_findings findings = look_at_quota(state, objects, maker, held, stop);
    to.counted = std::move(findings.counted);
    to.changes = std::move(findings.changes);
}

/// An owner that makes no pods, with what would have to change.
expected<pod_answer> about_held_owner(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                      show::held_job held, const stop_signal& stop) {
    pod_answer result{.name = held.name, .kind = held.kind, .makes_no_pods = held};
    result.warnings = state.warnings;
    const kube::manifest* const maker = maker_of(objects, held);
    if (maker == nullptr) return result;
    const auto pod = kube::read_snapshot_pod(*maker, state);
    if (pod) {
        result.asks = show::resources_of(state, pod->object);
        result.cpu_milli = pod->request.cpu.count();
        result.memory_mib = vgpualloc::mib_up(pod->request.memory);
        result.priority = maker->priority;
    }
    if (held.why == show::verdict::queue) {
        const std::vector<std::string> names = pod ? takers_of(state, pod->request) : std::vector<std::string>{};
        if (!names.empty()) {
            const char* const which = maker->replicas == 1 ? "its pod" : "its first pod";
            result.changes.push_back({.what = "its queue lets it in", .then = takers_words(names, which)});
        }
    } else if (held.why == show::verdict::quota) {
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
        if (held && held->pods == 0) return about_held_owner(*state, objects, *std::move(held), stop);
        if (auto without_verdict = about_one_without_verdict(*state, objects, name)) {
            return *std::move(without_verdict);
        }
        return unexpected(place.error());
    }
    const kube::snapshot_pod& pod = *place->pod;
    pod_answer result = begin_answer(*state, pod);
    result.runs_on = place->runs_on;
    const kube::manifest* const object = object_of(objects, result.name);
    if (object != nullptr) {
        result.since = object->created;
        result.priority = object->priority;
    }
    if (!result.runs_on.empty()) {
        result.asks = show::resources_of(*state, pod.object);
        return result;
    }
    if (auto done = add_verdict(*state, objects, pod, result, stop); !done) return unexpected(done.error());
    return finished(*state, objects, dialects, {.pod = &pod, .verdict = result.verdict}, object, std::move(result),
                    stop);
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
        const show::held_job held{.name = result.name, .kind = result.kind, .shortage = shortage, .next_pod = object};
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
    auto answered = finished(*state, objects, dialects, std::move(wanted), &object, std::move(result), stop);
    if (!answered) return answered;
    for (const auto& list : {quotas.not_looked_at(), admission.not_looked_at()}) {
        for (const std::string& rule : list) answered->not_looked_at.push_back(rule);
    }
    return answered;
}

} // namespace vgpuops::why
