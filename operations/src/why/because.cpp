// What verdicts are due to.
#include "because.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "vgpualloc/model/host_rules.hpp"
#include "vgpualloc/model/requested_amount.hpp"
#include "vgpualloc/model/trial.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/headroom.hpp"
#include "vgpuops/show/names.hpp"
#include "vgpuops/show/rounding.hpp"
#include "vgpuops/why/reasons.hpp"

namespace vgpuops::why {

namespace {

using show::verdict;

/// What is free of the right kind, whether or not in one place. Milli-GPU.
std::int64_t free_of_the_kind(const show::room& available) {
    using vgpualloc::idle_cause;
    std::int64_t sum = 0;
    for (const idle_cause cause : {idle_cause::of_use, idle_cause::scattered, idle_cause::host_full}) {
        sum += available.idle[static_cast<std::size_t>(cause)];
    }
    return sum;
}

/// The same in units where the pod asks for units of one kind, else in GPUs to a tenth.
std::string free_words(const show::room& available) {
    if (available.in_sum.units) return std::to_string(*available.in_sum.units);
    return show::thousandths(show::rounded(free_of_the_kind(available), show::tenth));
}

/// Of all nodes that have a reason, the check of that kind of which most is there, in proportion.
std::optional<failed_check> closest(const std::vector<node_reasons>& nodes, node_reason word) {
    std::optional<failed_check> result;
    for (const node_reasons& node : nodes) {
        if (node.word != word) continue;
        for (const failed_check& check : node.checks) {
            if (check.word != word || check.refused.wanted <= 0) continue;
            const bool is_closer = !result || check.refused.available * result->refused.wanted >
                                                  result->refused.available * check.refused.wanted;
            if (is_closer) result = check;
        }
    }
    return result;
}

/// Of a pod with one container that asks for several devices: as many of them as some node has room for now.
std::int64_t most_on_one_node(kube::snapshot& state, const vgpualloc::pod_request& request, const stop_signal& stop) {
    vgpualloc::pod_request fewer = request;
    show::headroom spare{state};
    for (std::int64_t& count = fewer.containers.front().count; --count > 0;) {
        if (spare.more_of(fewer, stop) > 0) return count;
    }
    return 0;
}

std::string scattered_words(kube::snapshot& state, const kube::snapshot_pod& pod, const show::room& available,
                            const std::vector<node_reasons>& nodes, const stop_signal& stop) {
    const std::string free_now = free_words(available);
    const auto most = closest(nodes, node_reason::too_few_free);
    if (!most) return fmt::format("{}; {} free, not in one place", device_words(pod), free_now);
    const explaining::refusal& refused = most->refused;
    if (is_of_units(refused)) {
        return fmt::format("{} on one node; {} free, at most {} on one", device_words(pod), free_now,
                           refused.available);
    }
    if (pod.request.containers.size() == 1 && pod.request.containers.front().count > 1) {
        const std::int64_t devices = most_on_one_node(state, pod.request, stop);
        if (devices > 0) {
            return fmt::format("{} on one node; {} free, at most {} on one", device_words(pod), free_now, devices);
        }
    }
    const bool is_compute = refused.code == rejection_code::insufficient_device_cores;
    return fmt::format("{} free, at most {} of {} {} on one GPU", free_now, refused.available, refused.wanted,
                       is_compute ? "cores" : refused.unit);
}

/// The profile of a pod that asks for one MIG instance; else empty.
std::string single_profile(const vgpualloc::pod_request& request) {
    std::string profile;
    for (const vgpualloc::device_request& container : request.containers) {
        if (container.count == 0) continue;
        if (container.count > 1 || !profile.empty() || container.profile.empty()) return {};
        profile = container.profile;
    }
    return profile;
}

/// How many pods of a request there would be room for if no other pod were there.
std::int64_t room_without_pods(kube::snapshot& state, const vgpualloc::pod_request& request, const stop_signal& stop) {
    vgpualloc::trial scope{*state.book};
    for (const pod_id id : state.book->live_pods()) static_cast<void>(state.book->release(id));
    return show::headroom{state}.more_of(request, stop);
}

std::string all_used_words(kube::snapshot& state, const kube::snapshot_pod& pod, const show::room& available,
                           const stop_signal& stop) {
    if (std::ranges::any_of(pod.request.containers, vgpualloc::names_uuids)) { // what others have free is no matter
        const auto explained = explain_waiting(state, pod, stop);
        const auto most = explained ? closest(reasons_of(state, *explained), node_reason::too_few_free) : std::nullopt;
        if (most) return most->text;
    }
    const std::string profile = single_profile(pod.request);
    if (profile.empty()) {
        return fmt::format("{}; {}{} free of the right kind", device_words(pod), free_words(available),
                           available.in_sum.units ? "" : " GPUs");
    }
    const std::int64_t places = room_without_pods(state, pod.request, stop);
    return fmt::format("mig-{}: {} of {} used", profile, places - available.more, places);
}

std::string host_full_words(const std::vector<node_reasons>& nodes) {
    const auto most = closest(nodes, node_reason::host_full);
    return most ? most->text + " where GPUs are free" : "the pod limit of nodes with free GPUs is reached";
}

/// Of the nodes that would take the pod but for other pods, what keeps it from the first.
std::string kept_away_words(const std::vector<node_reasons>& nodes) {
    for (const node_reasons& node : nodes) {
        if (node.word != node_reason::not_allowed || node.checks.size() != 1) continue;
        if (node.checks.front().refused.code < rejection_code::topology_spread) continue;
        return fmt::format("{} would take it; {}", node.node, node.checks.front().text);
    }
    return "nodes with room for it are closed by other pods";
}

/// Of a pod whose rules alone keep it from every node that could serve it: the rule that the nearest node has.
std::string rule_words(const kube::snapshot& state, const vgpualloc::host_rules& rules, const node_reasons& node) {
    const node_index where = state.book->find_node(node.node);
    const vgpualloc::host_facts& facts = state.nodes().nodes[where.at()].host;
    const vgpualloc::taint* const repelling = vgpualloc::repelling_taint(rules, facts);
    const bool is_selected = !rules.node_selector.empty() && vgpualloc::differing_label(rules, facts) == nullptr;
    if (repelling == nullptr || !is_selected) return fmt::format("{}: {}", node.node, node.checks.front().text);
    const auto label_words = [](const auto& label) { return label.first + "=" + label.second; };
    return fmt::format("wants {}; does not tolerate {}{}", vgpuformats::joined(rules.node_selector, label_words),
                       repelling->key, repelling->value.empty() ? "" : "=" + repelling->value);
}

/// Why no node takes the pod even if no other pod is there.
std::string never_words(kube::snapshot& state, const kube::snapshot_pod& pod, const stop_signal& stop) {
    if (pod.failure) return "its request cannot be read: " + pod.failure->message();
    if (pod.unserved) {
        const bool is_of_scheduler = pod.unserved->code == error_code::mismatch;
        return (is_of_scheduler ? "no scheduler serves it: " : "no such resource: ") + pod.unserved->message();
    }
    vgpualloc::trial scope{*state.book};
    for (const pod_id id : state.book->live_pods()) static_cast<void>(state.book->release(id));
    const auto explained = explain_waiting(state, pod, stop);
    if (!explained) return explained.error().message();
    const std::vector<node_reasons> nodes = reasons_of(state, *explained);
    const node_reasons* nearest = nullptr;
    for (const node_reasons& node : nodes) {
        const bool is_nearer = nearest == nullptr || std::pair{node.word, node.checks.size()} <
                                                         std::pair{nearest->word, nearest->checks.size()};
        if (is_nearer) nearest = &node;
    }
    if (nearest == nullptr || nearest->checks.empty()) return "no node";
    // A node that has the labels which are wanted, and whose plugin gives no container what is asked for, is nearer
    // than one with other labels.
    for (const node_reasons& node : nodes) {
        if (node.checks.size() != 1 || nearest->word != node_reason::not_allowed) continue;
        if (node.checks.front().refused.code == rejection_code::request_not_valid) nearest = &node;
    }
    // A taint on a node that has the labels which are wanted is nearer than labels that differ.
    for (const node_reasons& node : nodes) {
        if (node.word != node_reason::not_allowed || nearest->word != node_reason::not_allowed) continue;
        if (node.checks.size() > nearest->checks.size()) continue;
        if (node.checks.front().refused.code != rejection_code::taint_not_tolerated) continue;
        nearest = &node;
        break;
    }
    switch (nearest->word) {
    case node_reason::not_allowed:
        return rule_words(state, pod.request.rules, *nearest);
    case node_reason::too_few_free:
    case node_reason::host_full:
        if (const auto most = closest(nodes, nearest->word)) {
            return fmt::format("{}; at most {} on an empty node", device_words(pod), most->text);
        }
        return device_words(pod);
    default:
        if (pod.request.containers.empty()) return nearest->checks.front().text; // of resources that are not read
        return fmt::format("{}; {}", device_words(pod), nearest->checks.front().text);
    }
}

/// Names of gates, or what a queue lacks, and what the pod would be without them.
std::string gate_words(const kube::snapshot_pod& pod, const show::room& available) {
    kube::snapshot_pod without_gates = pod;
    without_gates.gates.clear();
    without_gates.queue_hold.reset();
    const verdict next = show::verdict_of(without_gates, available, false);
    const std::string names = pod.queue_hold ? *pod.queue_hold : vgpuformats::joined(pod.gates);
    if (next == verdict::fits_now) return names + "; fits without it";
    return fmt::format("{}; {} without it", names, show::to_string(next));
}

/// "it fits; of its gang 2 pods fit, and 3 have to start together".
std::string gang_words(const show::gang_shortage& gang) {
    const std::string words =
        fmt::format("it fits; of its gang {} {}, and ", gang.fitting, gang.fitting == 1 ? "pod fits" : "pods fit");
    if (!gang.is_said) return fmt::format("{}all {} are taken to start together", words, gang.minimum);
    return fmt::format("{}{} have to start together", words, gang.minimum);
}

} // namespace

std::string because_of(kube::snapshot& state, const kube::snapshot_pod& pod, const show::waiting_pod& waiting,
                       const show::room& available, const stop_signal& stop) {
    const verdict why = waiting.why;
    switch (why) {
    case verdict::queue:
    case verdict::gate:
        return gate_words(pod, available);
    case verdict::gang:
        return gang_words(waiting.gang.value_or(show::gang_shortage{}));
    case verdict::never:
        return never_words(state, pod, stop);
    case verdict::all_used:
        return all_used_words(state, pod, available, stop);
    default:
        break;
    }
    const auto explained = explain_waiting(state, pod, stop);
    if (!explained) return explained.error().message();
    if (why == verdict::fits_now) {
        return explained->chosen ? explained->nodes[*explained->chosen].name + " takes it now" : device_words(pod);
    }
    const std::vector<node_reasons> nodes = reasons_of(state, *explained);
    if (why == verdict::not_allowed) return kept_away_words(nodes);
    return why == verdict::host_full ? host_full_words(nodes) : scattered_words(state, pod, available, nodes, stop);
}

} // namespace vgpuops::why
