// A node's refusal and its score in detail.
#include "node.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "request_words.hpp"
#include "rule_words.hpp"
#include "vgpualloc/alloc/refusal.hpp"
#include "vgpualloc/model/rejection.hpp"
#include "vgpualloc/policy/weighted.hpp"

namespace vgpualloc::explaining {

namespace {

/// The numbers of the device that comes closest among those that refuse with the node's code.
void note_closest_device(const cluster& nodes, node_index where, const device_request& container,
                         const node_decision& decision, refusal& result) {
    const auto closest = closest_device(decision, result.code);
    if (!closest) return;
    const device& registered = nodes.nodes[where.at()].devices[*closest];
    const rejection_detail& refused = decision.stopped_by[*closest]->refusal;
    result.wanted = refused.wanted;
    result.available = refused.available;
    result.unit = unit_of(result.code, &nodes.kinds[registered.kind], &container);
    result.device = registered.uuid;
}

/// Units that one container asks for are entries of a unit each: where these entries begin that have `entry` in them.
std::size_t first_of_units(const pod_request& request, std::size_t entry) {
    const auto& entries = request.containers;
    if (entries[entry].units <= 1) return entry;
    std::size_t first = entry; // of those that are alike, which several containers may ask for
    while (first > 0 && entries[first - 1] == entries[entry]) --first;
    return entry - (entry - first) % static_cast<std::size_t>(entries[entry].units);
}

/// Whether too little of something is counted in the units that a device plugin offers.
bool counts_units(rejection_code code) {
    return code == rejection_code::too_few_devices || code == rejection_code::device_taken_whole ||
           code == rejection_code::insufficient_device_slots || code == rejection_code::no_free_instance;
}

/// What the host refuses: memory is in bytes, and shown in the unit of manifests.
refusal refusal_of_host(const rejection_detail& detail) {
    refusal result;
    result.code = detail.code;
    result.wanted = detail.wanted;
    result.available = detail.available;
    result.unit = unit_of(detail.code, nullptr, nullptr);
    if (detail.code == rejection_code::too_many_pods) result.available = std::max<std::int64_t>(detail.available, 0);
    if (detail.code == rejection_code::insufficient_memory) {
        result.wanted = mib_up(bytes{detail.wanted});
        result.available = mib_down(bytes{detail.available});
    }
    return result;
}

} // namespace

refusal refusal_of(const cluster& nodes, node_index where, const pod_request& request, const node_decision& decision) {
    const rejection_code code = decision.answer.code;
    refusal result =
        refusal_of_host({.code = code, .wanted = decision.refusal.wanted, .available = decision.refusal.available});
    const node& described = nodes.nodes[where.at()];
    result.rule = rule_words(code, request.rules, described.host, described.name);
    const bool of_the_host = code == rejection_code::too_many_pods || code == rejection_code::insufficient_cpu ||
                             code == rejection_code::insufficient_memory;
    if (of_the_host || !decision.stopped_at) return result;
    const auto& container = request.containers[*decision.stopped_at];
    result.container = decision.stopped_at;
    result.wanted = 0;
    result.available = 0;
    for (const auto& answer : decision.stopped_by) {
        if (answer) ++result.devices[answer->refusal.code];
    }
    if (container.units > 1 && counts_units(code)) {
        const std::size_t first = first_of_units(request, *decision.stopped_at);
        result.container = first;
        result.unit = units_word;
        result.wanted = container.units;
        result.available = static_cast<std::int64_t>(*decision.stopped_at - first);
        return result;
    }
    // Devices that are taken and devices that are too few are one shortage: it is told in devices.
    if (code != rejection_code::too_few_devices && code != rejection_code::device_taken_whole) {
        note_closest_device(nodes, where, container, decision, result);
        return result;
    }
    result.unit = "devices";
    result.wanted = container.count;
    const auto fitting = result.devices.find(rejection_code::none);
    if (fitting != result.devices.end()) result.available = fitting->second;
    return result;
}

namespace {

/// `rules` and `host` without what refuses with that code; false where nothing is left out.
bool leave_out(rejection_code code, host_rules& rules, host_facts& host) {
    switch (code) {
    case rejection_code::node_unschedulable:
        host.unreadable.clear();
        host.unschedulable = false;
        return true;
    case rejection_code::node_not_ready:
        host.ready = true;
        return true;
    case rejection_code::taint_not_tolerated:
        host.taints.clear();
        return true;
    case rejection_code::node_selector_differs:
        rules.node_selector.clear();
        return true;
    case rejection_code::node_affinity_differs:
        rules.has_affinity = false;
        return true;
    case rejection_code::resource_not_offered:
        rules.resources.clear();
        return true;
    default:
        return false;
    }
}

/// What the rules of the pod and the facts of the node refuse.
std::vector<refusal> refusals_of_rules(const pod_request& request, const node& described) {
    std::vector<refusal> result;
    host_rules rules = request.rules;
    host_facts host = described.host;
    while (true) {
        const rejection_code code = why_not_host(rules, host, described.name);
        if (code == rejection_code::none) return result;
        refusal refused;
        refused.code = code;
        refused.rule = rule_words(code, rules, host, described.name);
        result.push_back(std::move(refused));
        if (!leave_out(code, rules, host)) return result;
    }
}

/// Pods, CPU and memory of the host, each asked for alone: the ledger names the first that is short.
std::vector<refusal> refusals_of_amounts(const ledger& book, node_index where, const pod_request& request) {
    const node& has = book.nodes().nodes[where.at()];
    const host_use& used = book.host(where);
    std::vector<refusal> result;
    const auto add = [&](rejection_code code, std::int64_t wanted, std::int64_t left) {
        if (wanted <= 0 || wanted <= left) return;
        result.push_back(
            refusal_of_host({.code = code, .wanted = wanted, .available = std::max<std::int64_t>(left, 0)}));
    };
    add(rejection_code::too_many_pods, 1, has.pods_max - used.pods);
    add(rejection_code::insufficient_cpu, request.cpu.count(), (has.cpu - used.cpu).count());
    add(rejection_code::insufficient_memory, request.memory.count(), (has.memory - used.memory).count());
    return result;
}

bool is_of_devices(rejection_code code) {
    return code >= rejection_code::too_few_devices && code <= rejection_code::instance_memory_unknown;
}

/// Why the devices leave a container without what it asks for. The decision's own code may be of the host, which is
/// asked before them: a taint, a cordon, the limit of pods.
rejection_code code_of_devices(const node_decision& decision, const device_request& stopped) {
    if (is_of_devices(decision.answer.code)) return decision.answer.code;
    if (std::cmp_greater(stopped.count, decision.stopped_by.size())) return rejection_code::too_few_devices;
    rejection reasons;
    std::int64_t fitting = 0;
    for (const auto& answer : decision.stopped_by) {
        if (!answer) continue;
        if (answer->refusal.code == rejection_code::none)
            ++fitting;
        else
            ++reasons.nodes[static_cast<std::size_t>(answer->refusal.code)];
    }
    return step_refusal(reasons, fitting);
}

bool is_device_amount(rejection_code code) {
    return code >= rejection_code::insufficient_device_slots && code <= rejection_code::insufficient_device_cpus;
}

/// What other devices are short of where `told` says what most of them are short of.
std::vector<refusal> other_shortages(const cluster& nodes, node_index where, const pod_request& request,
                                     const node_decision& decision, const refusal& told) {
    std::vector<refusal> result;
    if (!decision.stopped_at || !is_device_amount(told.code)) return result;
    for (const auto& [code, count] : told.devices) {
        if (!is_device_amount(code) || code == told.code) continue;
        refusal further;
        further.code = code;
        further.container = told.container;
        note_closest_device(nodes, where, request.containers[*decision.stopped_at], decision, further);
        result.push_back(std::move(further));
    }
    return result;
}

/// What the devices refuse, whatever the host does.
std::vector<refusal> refusals_of_devices(allocator& decider, const cluster& nodes, node_index where,
                                         const pod_request& request) {
    pod_request devices = request;
    devices.rules = {};
    devices.cpu = {};
    devices.memory = {};
    devices.peers = {};
    node_decision decision = decider.ask_node(where, devices);
    if (!decision.stopped_at) return {};
    decision.answer.code = code_of_devices(decision, devices.containers[*decision.stopped_at]);
    std::vector<refusal> result{refusal_of(nodes, where, devices, decision)};
    std::ranges::move(other_shortages(nodes, where, devices, decision, result.front()), std::back_inserter(result));
    return result;
}

} // namespace

std::vector<refusal> further_refusals(allocator& decider, const ledger& book, node_index where,
                                      const pod_request& request, const node_decision& decision, const refusal& first) {
    const node& described = book.nodes().nodes[where.at()];
    const rejection_detail kept_away = decider.ask_peers(where, request);
    std::vector<refusal> result = refusals_of_rules(request, described);
    std::ranges::move(refusals_of_amounts(book, where, request), std::back_inserter(result));
    std::ranges::move(is_of_devices(first.code) ? other_shortages(book.nodes(), where, request, decision, first)
                                                : refusals_of_devices(decider, book.nodes(), where, request),
                      std::back_inserter(result));
    if (kept_away.code != rejection_code::none) result.push_back(refusal_of_host(kept_away));
    // A node without the wanted devices does not offer their resource either: that is told once.
    const auto lacks_the_kind = [&](rejection_code code) {
        return code == rejection_code::resource_not_offered || code == rejection_code::family_not_offered ||
               (code == rejection_code::too_few_devices && described.devices.empty());
    };
    std::erase_if(result, [&](const refusal& refused) {
        return refused.code == first.code || (lacks_the_kind(refused.code) && lacks_the_kind(first.code));
    });
    std::ranges::stable_sort(result, {}, &refusal::code);
    return result;
}

std::vector<score_term> terms_of(allocator& decider, policy& scorer, const pod_request& request,
                                 const node_decision& decision) {
    const auto* const sum = dynamic_cast<const policies::weighted*>(&scorer);
    if (sum == nullptr) {
        return {{.policy = std::string{scorer.name()},
                 .weight = 1.0,
                 .score = decision.answer.score,
                 .parts = *decider.parts_of_placement(scorer, request, decision.where)}};
    }
    std::vector<score_term> terms;
    for (const auto& term : sum->terms()) {
        terms.push_back({.policy = std::string{term.scorer->name()},
                         .weight = term.weight,
                         .score = *decider.score_placement(*term.scorer, request, decision.where),
                         .parts = *decider.parts_of_placement(*term.scorer, request, decision.where)});
    }
    return terms;
}

} // namespace vgpualloc::explaining
