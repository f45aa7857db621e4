// One node asked about one request, in full.
#include <algorithm>
#include <utility>

#include "alloc/reference.hpp"
#include "reference_parts.hpp"

namespace vgpualloc {

std::vector<device_answer> reference_allocator::ask_devices(const question& attempt, const node_state& now,
                                                            const device_request& container) const {
    const device_request wanted = settled(attempt, container);
    std::vector<device_answer> answers(now.devices.size());
    for (std::size_t d = 0; d < answers.size(); ++d) answers[d].refusal = why_not_device(attempt, now, d, wanted);
    rejection ignored;
    const std::vector<bool> none_taken(answers.size(), false);
    for (const step& candidate : possible_steps(attempt, now, wanted, none_taken, ignored)) {
        device_answer& answer = answers[candidate.index];
        answer.score = answer.parts.empty() ? candidate.device_score : std::max(answer.score, candidate.device_score);
        answer.parts.push_back(candidate.part);
    }
    return answers;
}

/// Places the containers one after the other up to the one that does not fit.
void reference_allocator::explain_stop(const question& attempt, node_decision& decision) const {
    const auto& containers = attempt.request().containers;
    choice chosen{.state = attempt.start};
    std::size_t stop = 0;
    while (stop < containers.size()) {
        choice next = chosen;
        rejection_code refused = rejection_code::none;
        if (!choose_for(attempt, stop, next, refused)) break;
        chosen = std::move(next);
        ++stop;
    }
    if (stop == containers.size()) return;
    decision.stopped_at = stop;
    for (device_answer& answer : ask_devices(attempt, chosen.state, containers[stop])) {
        decision.stopped_by.emplace_back(std::move(answer));
    }
    if (!attempt.request().containers_apart) return;
    for (const device_share& share : chosen.shares) decision.stopped_by[share.device.at()].reset();
}

node_decision reference_allocator::try_node(node_index where, const pod_request& request) const {
    node_decision decision{.answer = {}, .where = {.node = where, .shares = {}}};
    decision.refusal = why_not_node(request, where);
    decision.answer.code = decision.refusal.code;
    if (decision.refusal.code != rejection_code::none) return decision;
    choice chosen;
    decision.answer = attempt_on(question_for(request, where), chosen, decision.refusal);
    if (decision.answer.code != rejection_code::none) return decision;
    decision.refusal = why_not_beside_peers(request, where);
    decision.answer.code = decision.refusal.code;
    if (decision.answer.code == rejection_code::none) decision.where.shares = std::move(chosen.shares);
    return decision;
}

node_decision reference_allocator::ask_node(node_index where, const pod_request& request) const {
    node_decision decision = try_node(where, request);
    if (!ledger_->is_present(where)) return decision;
    const question attempt = question_for(request, where);
    for (std::size_t c = 0; c < request.containers.size(); ++c) {
        const bool like_last = c > 0 && request.containers[c] == request.containers[c - 1];
        decision.containers.push_back(like_last ? decision.containers.back()
                                                : ask_devices(attempt, attempt.start, request.containers[c]));
    }
    if (decision.answer.code != rejection_code::none) explain_stop(attempt, decision);
    return decision;
}

/// Asks about the change that a placement is of its node.
template <class Ask>
auto reference_allocator::ask_about(const pod_request& request, const placement& where, Ask ask) const {
    const node_state start = state_of(where.node);
    node_state state = start;
    for (const device_share& share : where.shares) state = state.with(share.device.at(), share.part);
    state.cpu_left = start.cpu_left - request.cpu;
    const seen_state before{*this, start};
    const seen_state after{*this, state};
    const request_view view{.request = &request, .devices = count_devices(request)};
    return ask(view, before.view, after.view);
}

double reference_allocator::score_placement(policy& scorer, const pod_request& request, const placement& where) const {
    return ask_about(request, where, [&](const request_view& view, const node_view& before, const node_view& after) {
        return scorer.node_score(view, before, after);
    });
}

std::vector<score_part> reference_allocator::parts_of_placement(policy& scorer, const pod_request& request,
                                                                const placement& where) const {
    return ask_about(request, where, [&](const request_view& view, const node_view& before, const node_view& after) {
        return scorer.score_parts(view, before, after);
    });
}

} // namespace vgpualloc
