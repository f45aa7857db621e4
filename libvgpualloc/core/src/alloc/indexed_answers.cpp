// What all nodes, or one, answer to a request, and decisions that look at all of them.
#include "alloc/indexed_allocator.hpp"

#include <cstddef>
#include <utility>

#include "alloc/draw.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc {

namespace {

/// Why a placement has no score; none if it has one.
rejection_detail why_no_score(const ledger& book, const pod_request& request, const placement& where) {
    if (!check_request(request)) return {.code = rejection_code::amount_not_valid};
    return book.why_not_there(where);
}

} // namespace

/// Other pods anywhere may open or close a node to such a pod, so all nodes are looked at.
expected<placement, rejection> indexed_allocator::decide_beside_peers(request_record& request) {
    const std::vector<node_answer> answers = answers_to(request);
    rejection reasons;
    node_index winner = node_index::none();
    const auto is_before = [&](node_index one, node_index other) {
        const node_answer& a = answers[one.at()];
        const node_answer& b = answers[other.at()];
        if (!are_equally_good(a, b)) return std::pair{a.compromise, -a.score} < std::pair{b.compromise, -b.score};
        return mirror_.book().rank_of(one) < mirror_.book().rank_of(other);
    };
    for (std::size_t n = 0; n < answers.size(); ++n) {
        if (answers[n].code == rejection_code::node_gone) continue;
        if (answers[n].code != rejection_code::none) {
            ++reasons.nodes[static_cast<std::size_t>(answers[n].code)];
        } else if (!winner.valid() || is_before(node_index{n}, winner)) {
            winner = node_index{n};
        }
    }
    if (!winner.valid()) return unexpected(reasons);
    if (traits_.draws_nodes) {
        const node_answer best = answers[winner.at()];
        const auto is_tied = [&](std::size_t n) {
            return answers[n].code == rejection_code::none && are_equally_good(answers[n], best);
        };
        winner =
            node_index{draw_tied_node(*policies_.node, answers.size(), is_tied, [&](std::vector<std::size_t>& out) {
                for (std::size_t n = 0; n < answers.size(); ++n) {
                    if (is_tied(n)) out.push_back(n);
                }
            })};
    }
    return choose_on(request, winner, true);
}

std::vector<node_answer> indexed_allocator::evaluate(request_id id) {
    follow_ledger();
    request_record* const request = requests_.find(id);
    return request == nullptr ? std::vector<node_answer>{} : answers_to(*request);
}

/// Of a request that was found, in a ledger that was followed.
std::vector<node_answer> indexed_allocator::answers_to(request_record& request) {
    indexes_.begin_decision();
    requests_.use(request, policies_.node->epoch() + policies_.device->epoch());
    std::vector<node_answer> answers(mirror_.node_count(), {.code = rejection_code::node_gone});
    for (std::uint32_t g = 0; g < request.parts.size(); ++g) {
        const node_group& group = mirror_.groups()[g];
        refresh_part(request, g);
        for (std::uint32_t slot = 0; slot < group.slots.size(); ++slot) {
            if (group.slots[slot].config == nullptr) continue;
            answers[group.facts[slot].node.at()] = answer_at(request, {.group = g, .slot = slot});
        }
    }
    return answers;
}

/// Brings what a request knows of a group up to date.
void indexed_allocator::refresh_part(const request_record& request, std::uint32_t group) {
    const request_part& part = request.parts[group];
    const node_group& nodes = mirror_.groups()[group];
    if (part.head != nullptr && part.head->changes_read != nodes.changes) refresh_index(request, part, nodes);
}

/// What a present node answers, in a part that is up to date.
node_answer indexed_allocator::answer_at(const request_record& request, cluster_mirror::slot_place place) {
    node_answer answer = answer_without_peers(request, place);
    if (answer.code != rejection_code::none || request.original->peers.empty()) return answer;
    const node_index where = mirror_.groups()[place.group].facts[place.slot].node;
    answer.code = reference_.why_not_beside_peers(*request.original, where).code;
    return answer;
}

inline node_answer indexed_allocator::answer_without_peers(const request_record& request,
                                                           cluster_mirror::slot_place place) {
    const request_part& part = request.parts[place.group];
    if (part.refused != rejection_code::none) return {.code = part.refused};
    node_answer answer = part.head->index->at(place.slot);
    if (answer.code != rejection_code::none) return answer;
    const request_class& wanted = requests_.class_of(part);
    if (wanted.scored.by_changes) {
        const node_index where = mirror_.groups()[place.group].facts[place.slot].node;
        answer.score = scorer_.score(wanted.scored, mirror_.view_of(where));
    }
    const bool has_memory = mirror_.groups()[place.group].facts[place.slot].has_memory(request.original->memory);
    return has_memory ? answer : node_answer{.code = rejection_code::insufficient_memory};
}

node_decision indexed_allocator::ask_node(node_index where, const pod_request& request) {
    const auto refuse = [](rejection_code code) {
        node_decision refused;
        refused.answer.code = code;
        refused.refusal.code = code;
        return refused;
    };
    if (!check_request(request)) return refuse(rejection_code::amount_not_valid);
    if (where.at() >= mirror_.book().nodes().nodes.size()) return refuse(rejection_code::node_not_known);
    follow_ledger();
    return reference_.ask_node(where, request);
}

expected<scored_placement, rejection_code> indexed_allocator::try_node(node_index where, request_id id) {
    follow_ledger();
    request_record* const request = requests_.find(id);
    if (request == nullptr) return unexpected(rejection_code::request_not_known);
    if (where.at() >= mirror_.node_count()) return unexpected(rejection_code::node_not_known);
    const cluster_mirror::slot_place place = mirror_.place_of(where);
    if (place.group == no_slot) return unexpected(rejection_code::node_gone);
    indexes_.begin_decision();
    requests_.use(*request, policies_.node->epoch() + policies_.device->epoch());
    refresh_part(*request, place.group);
    const node_answer answer = answer_at(*request, place);
    if (answer.code != rejection_code::none) return unexpected(answer.code);
    return scored_placement{choose_on(*request, where, false), answer};
}

expected<double, rejection_detail> indexed_allocator::score_placement(policy& scorer, const pod_request& request,
                                                                      const placement& where) {
    const rejection_detail refusal = why_no_score(mirror_.book(), request, where);
    if (refusal.code != rejection_code::none) return unexpected(refusal);
    follow_ledger();
    return reference_.score_placement(scorer, request, where);
}

expected<std::vector<score_part>, rejection_detail>
indexed_allocator::parts_of_placement(policy& scorer, const pod_request& request, const placement& where) {
    const rejection_detail refusal = why_no_score(mirror_.book(), request, where);
    if (refusal.code != rejection_code::none) return unexpected(refusal);
    follow_ledger();
    return reference_.parts_of_placement(scorer, request, where);
}

} // namespace vgpualloc
