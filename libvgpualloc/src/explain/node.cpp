// A node's refusal and its score in detail.
#include "node.hpp"

#include <string>

#include "part_words.hpp"
#include "vgpualloc/policy/weighted.hpp"

namespace vgpusim {

using vgpualloc::rejection_code;

refusal refusal_of(const snapshot& in, vgpualloc::node_index where, const vgpualloc::pod_request& request,
                   const vgpualloc::node_decision& decision) {
    const rejection_code code = decision.answer.code;
    refusal result{.code = code,
                   .wanted = decision.refusal.wanted,
                   .available = decision.refusal.available,
                   .unit = unit_of(code, nullptr, nullptr),
                   .device = {},
                   .container = {}};
    const bool of_the_host = code == rejection_code::too_many_pods || code == rejection_code::insufficient_cpu ||
                             code == rejection_code::insufficient_memory || !decision.stopped_at;
    if (of_the_host) return result;
    result.container = decision.stopped_at;
    result.wanted = 0;
    result.available = 0;
    const auto& container = request.containers[*decision.stopped_at];
    for (const auto& answer : decision.stopped_by) {
        if (answer) ++result.devices[answer->refusal.code];
    }
    if (code == rejection_code::too_few_devices) {
        result.wanted = container.count;
        const auto fitting = result.devices.find(rejection_code::none);
        if (fitting != result.devices.end()) result.available = fitting->second;
        return result;
    }
    const auto& registered = in.nodes().nodes[where.at()].devices;
    for (std::size_t d = 0; d < decision.stopped_by.size(); ++d) {
        const auto& answer = decision.stopped_by[d];
        if (!answer || answer->refusal.code != code) continue;
        if (!result.device.empty() && answer->refusal.available <= result.available) continue;
        result.wanted = answer->refusal.wanted;
        result.available = answer->refusal.available;
        result.unit = unit_of(code, &in.nodes().kinds[registered[d].kind], &container);
        result.device = registered[d].uuid;
    }
    return result;
}

std::vector<score_term> terms_of(vgpualloc::allocator& decides, vgpualloc::policy& scorer,
                                 const vgpualloc::pod_request& request, const vgpualloc::node_decision& decision) {
    const auto* sum = dynamic_cast<const vgpualloc::policies::weighted*>(&scorer);
    if (sum == nullptr) {
        return {{.policy = std::string{scorer.name()}, .weight = 1.0, .score = decision.answer.score}};
    }
    std::vector<score_term> terms;
    for (const auto& term : sum->terms()) {
        terms.push_back({.policy = std::string{term.scorer->name()},
                         .weight = term.weight,
                         .score = decides.score_placement(*term.scorer, request, decision.where)});
    }
    return terms;
}

} // namespace vgpusim
