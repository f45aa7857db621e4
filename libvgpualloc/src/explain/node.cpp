// A node's refusal and its score in detail.
#include "node.hpp"

#include <string>

#include "rule_words.hpp"
#include "vgpualloc/explain/part_words.hpp"
#include "vgpualloc/policy/weighted.hpp"

namespace vgpualloc::explaining {

namespace {

/// The numbers of the device that comes closest among those that refuse with the node's code.
void note_closest_device(const cluster& nodes, node_index where, const device_request& container,
                         const node_decision& decision, refusal& result) {
    const auto& registered = nodes.nodes[where.at()].devices;
    for (std::size_t d = 0; d < decision.stopped_by.size(); ++d) {
        const auto& answer = decision.stopped_by[d];
        if (!answer || answer->refusal.code != result.code) continue;
        if (!result.device.empty() && answer->refusal.available <= result.available) continue;
        result.wanted = answer->refusal.wanted;
        result.available = answer->refusal.available;
        result.unit = unit_of(result.code, &nodes.kinds[registered[d].kind], &container);
        result.device = registered[d].uuid;
    }
}

} // namespace

refusal refusal_of(const cluster& nodes, node_index where, const pod_request& request, const node_decision& decision) {
    const rejection_code code = decision.answer.code;
    refusal result{.code = code,
                   .wanted = decision.refusal.wanted,
                   .available = decision.refusal.available,
                   .unit = unit_of(code, nullptr, nullptr),
                   .rule = {},
                   .device = {},
                   .container = {}};
    const node& described = nodes.nodes[where.at()];
    result.rule = rule_words(code, request.rules, described.host, described.name);
    const bool of_the_host = code == rejection_code::too_many_pods || code == rejection_code::insufficient_cpu ||
                             code == rejection_code::insufficient_memory;
    if (code == rejection_code::insufficient_memory) { // bytes, shown in the unit of manifests
        result.wanted = mib_up(bytes{result.wanted});
        result.available = mib_down(bytes{result.available});
    }
    if (of_the_host || !decision.stopped_at) return result;
    const auto& container = request.containers[*decision.stopped_at];
    result.container = decision.stopped_at;
    result.wanted = 0;
    result.available = 0;
    for (const auto& answer : decision.stopped_by) {
        if (answer) ++result.devices[answer->refusal.code];
    }
    if (code != rejection_code::too_few_devices) {
        note_closest_device(nodes, where, container, decision, result);
        return result;
    }
    result.wanted = container.count;
    const auto fitting = result.devices.find(rejection_code::none);
    if (fitting != result.devices.end()) result.available = fitting->second;
    return result;
}

std::vector<score_term> terms_of(allocator& decider, policy& scorer, const pod_request& request,
                                 const node_decision& decision) {
    const auto* const sum = dynamic_cast<const policies::weighted*>(&scorer);
    if (sum == nullptr) {
        return {{.policy = std::string{scorer.name()}, .weight = 1.0, .score = decision.answer.score}};
    }
    std::vector<score_term> terms;
    for (const auto& term : sum->terms()) {
        terms.push_back({.policy = std::string{term.scorer->name()},
                         .weight = term.weight,
                         .score = *decider.score_placement(*term.scorer, request, decision.where)});
    }
    return terms;
}

} // namespace vgpualloc::explaining
