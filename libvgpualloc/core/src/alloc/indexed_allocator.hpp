// The allocator's index: what it keeps up to date change by change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "alloc/index.hpp"
#include "alloc/mirror.hpp"
#include "alloc/reference.hpp"
#include "alloc/requests.hpp"
#include "alloc/scorer.hpp"
#include "alloc/state_buckets.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

/// Of two nodes that fit; which of them goes first is for the ranks to say.
[[nodiscard]] inline bool are_equally_good(const node_answer& a, const node_answer& b) noexcept {
    return a.compromise == b.compromise && a.score == b.score;
}

/// What an allocator is made of; its functions are those of `allocator`.
class indexed_allocator {
public:
    indexed_allocator(const ledger& book, policy_pair policies, allocator_options options);
    indexed_allocator(const indexed_allocator&) = delete;
    indexed_allocator& operator=(const indexed_allocator&) = delete;
    [[nodiscard]] expected<request_id> intern(const pod_request& request) { return requests_.intern(request); }
    void note_arrival(request_id request);
    [[nodiscard]] expected<placement, rejection> decide(request_id request);
    VGA_HOT [[nodiscard]] expected<placed_pod, rejection> place(ledger& book, pod_id pod, request_id request);
    [[nodiscard]] std::vector<node_answer> evaluate(request_id request);
    [[nodiscard]] node_decision ask_node(node_index where, const pod_request& request);
    [[nodiscard]] expected<scored_placement, rejection_code> try_node(node_index where, request_id request);
    [[nodiscard]] rejection_detail ask_peers(node_index where, const pod_request& request) const {
        return reference_.why_not_beside_peers(request, where);
    }
    [[nodiscard]] std::map<std::string, std::int64_t> count_peers(const pod_request& request, std::size_t rule) const {
        return reference_.count_peers(request, rule);
    }
    [[nodiscard]] expected<double, rejection_detail> score_placement(policy& scorer, const pod_request& request,
                                                                     const placement& where);
    [[nodiscard]] expected<std::vector<score_part>, rejection_detail>
    parts_of_placement(policy& scorer, const pod_request& request, const placement& where);
    void catch_up() { follow_ledger(); }
    [[nodiscard]] node_view view_of(node_index where);
    [[nodiscard]] std::uint64_t id_generation() const noexcept { return mirror_.id_generation(); }
    [[nodiscard]] std::uint64_t next_event() const noexcept { return mirror_.next_event(); }
    [[nodiscard]] const pod_request* find_request(request_id request) noexcept {
        const request_record* const known = requests_.find(request);
        return known == nullptr ? nullptr : known->original;
    }
    [[nodiscard]] std::size_t config_count() const noexcept { return mirror_.states().config_count(); }
    [[nodiscard]] std::size_t index_bytes() const noexcept { return indexes_.bytes(); }
    [[nodiscard]] std::size_t request_count() const noexcept { return requests_.size(); }

private:
    VGA_HOT void follow_ledger();
    VGA_HOT [[nodiscard]] expected<placement, rejection> decide_known(request_record& request);
    [[nodiscard]] expected<placement, rejection> decide_beside_peers(request_record& request);
    [[nodiscard]] std::vector<node_answer> answers_to(request_record& request);
    VGA_HOT void follow_changes(const request_class& wanted, index_head& head, const node_group& group);
    VGA_HOT void refresh_index(const request_record& request, const request_part& part, const node_group& group);
    void rehearse(const request_record& request);
    [[nodiscard]] std::size_t rehearse_once(const request_record& request);
    VGA_HOT void build_index(const request_class& wanted, cached_index& index, const node_group& group);
    [[nodiscard]] placement choose_on(const request_record& request, node_index where, bool may_draw);
    void refresh_part(const request_record& request, std::uint32_t group);
    [[nodiscard]] node_answer answer_at(const request_record& request, cluster_mirror::slot_place place);
    [[nodiscard]] node_answer answer_without_peers(const request_record& request, cluster_mirror::slot_place place);
    [[nodiscard]] static std::uint32_t first_of(index_head& head);
    /// Why a node refuses, as far as that is known without touching more than its slot; most nodes that changed refuse
    /// so.
    [[nodiscard]] rejection_code known_refusal(const request_class& wanted, const node_slot& owner) const noexcept {
        if (!owner.has_cpu(wanted.scored.request.cpu)) return rejection_code::insufficient_cpu;
        return scorer_.known_refusal(wanted.scored, owner.config_id);
    }
    [[nodiscard]] rejection_code host_refusal(const request_class& wanted, cached_index& index,
                                              const node_facts& facts) const;
    [[nodiscard]] rejection_code entry_refusal(const request_class& wanted, cached_index& index, const node_slot& owner,
                                               const node_facts& facts) const;
    [[nodiscard]] double plain_key(const request_class& wanted, cached_index& index, const node_group& group,
                                   std::size_t slot);
    VGA_HOT [[nodiscard]] double new_key(const request_class& wanted, const node_slot& owner, const node_facts& facts);
    [[nodiscard]] rejection_code fixed_refusal(const request_class& wanted, cached_index& index, std::size_t slot,
                                               node_index where);
    [[nodiscard]] node_answer named_answer(const request_class& wanted, cached_index& index, const node_group& group,
                                           std::size_t slot);
    [[nodiscard]] static node_answer best_with(const request_record& request, double key);
    VGA_HOT [[nodiscard]] node_index best_node(request_record& request, node_answer& best);
    [[nodiscard]] node_index draw_node(const request_record& request, const node_answer& best);
    VGA_HOT void decide_by_changes(request_class& wanted, index_head& head, std::size_t group);
    VGA_HOT [[nodiscard]] rejection why_nowhere(const request_record& request) const;

    policy_pair policies_;
    pair_traits traits_;
    cluster_mirror mirror_;
    node_scorer scorer_;
    index_cache indexes_;
    request_table requests_;
    reference_allocator reference_;
    std::vector<state_buckets> buckets_; ///< by group, where the policy has moving prices
};

} // namespace vgpualloc
