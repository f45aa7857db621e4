// The allocator: for a pod, the best node and devices by a policy, from an index that is kept up to date change by
// change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpualloc/alloc/answer.hpp"
#include "vgpualloc/alloc/index.hpp"
#include "vgpualloc/alloc/mirror.hpp"
#include "vgpualloc/alloc/reference.hpp"
#include "vgpualloc/alloc/requests.hpp"
#include "vgpualloc/alloc/scorer.hpp"
#include "vgpualloc/alloc/state_buckets.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/policy/pair.hpp"

namespace vgpualloc {

struct allocator_options {
    mirror_limits interned{};
    std::size_t index_bytes_max = std::size_t{3} << 29; ///< indexes kept before dropping the least used (1.5 GiB)
    std::size_t requests_max = std::size_t{1} << 16;    ///< requests known before forgetting the least used
};

/// A pod that was placed, and its booking in the ledger.
struct placed_pod : placement {
    booking_id booking{};
};

/// Devices of a node, and the node's answer.
struct scored_placement : placement {
    node_answer answer{};
};

/// Decides placements on one ledger. Placing a pod changes one node, and so does most of what happens to a cluster, so
/// per class of requests a tree keeps every node's score and a decision re-scores only the nodes that changed since the
/// class was last asked for (docs/algorithms.md). Gives the decisions of reference_allocator, always; asks it about
/// nodes where it matters which device it is (uuids, tags, link groups, parts that fall short, positional policies).
///
/// The ledger may be changed by anyone between calls: the allocator reads its log. Ledger and policies must outlive the
/// allocator and stay where they are. Deciding changes neither ledger nor cluster. Not thread-safe.
class allocator {
public:
    allocator(const ledger& book, policy_pair policies, allocator_options options = {});
    allocator(const allocator&) = delete;
    allocator& operator=(const allocator&) = delete;

    /// A number for a request; equal requests get the same one. Errors: those of check_request().
    [[nodiscard]] expected<request_id> intern(const pod_request& request) { return requests_.intern(request); }

    /// Tells the policies of a pod that has arrived, once, before it is decided about. For those that learn the demand;
    /// nothing happens for a request that was forgotten.
    void note_arrival(request_id request);

    /// The best placement, without booking it. A request that was forgotten (allocator_options::requests_max) is
    /// refused with code request_not_known.
    [[nodiscard]] expected<placement, rejection> decide(request_id request);

    /// decide(), then reserve and commit in `book`, which is the ledger that the allocator reads. Refused with code
    /// pod_is_live or pod_not_known if the pod cannot be booked.
    VGA_HOT [[nodiscard]] expected<placed_pod, rejection> place(ledger& book, pod_id pod, request_id request);

    /// Feasibility and score of every node, in node order; empty for a request that was forgotten.
    [[nodiscard]] std::vector<node_answer> evaluate(request_id request);

    /// Everything that one node has to say to one request. Refused with code amount_not_valid if the request does not
    /// pass check_request(), node_not_known if there never was such a node.
    [[nodiscard]] node_decision ask_node(node_index where, const pod_request& request);
    /// The best devices of one node, without booking them and without drawing; what evaluate() says of the node.
    /// Refused with the node's code, request_not_known if the request was forgotten, node_not_known if there never was
    /// such a node.
    [[nodiscard]] expected<scored_placement, rejection_code> try_node(node_index where, request_id request);

    /// What another policy thinks of a placement on a node as it is now. Errors: amount_not_valid if the request does
    /// not pass check_request(), those of ledger::why_not_there().
    [[nodiscard]] expected<double, rejection_detail> score_placement(policy& scorer, const pod_request& request,
                                                                     const placement& where);

    /// A present node as policies see it now. Valid until the ledger changes or a decision is made.
    [[nodiscard]] node_view view_of(node_index where);
    /// Rises when configurations get new ids, which voids whatever was kept by id.
    [[nodiscard]] std::uint64_t id_generation() const noexcept { return mirror_.id_generation(); }
    /// The number of the first event of the ledger that this allocator has not read: ledger::checkpoint() may be given
    /// the smallest of all readers.
    [[nodiscard]] std::uint64_t next_event() const noexcept { return mirror_.next_event(); }

    /// What a request was; null if it was forgotten.
    [[nodiscard]] const pod_request* find_request(request_id request) noexcept {
        const request_record* const known = requests_.find(request);
        return known == nullptr ? nullptr : known->original;
    }
    /// Distinct configurations of devices interned so far: what the work depends on.
    [[nodiscard]] std::size_t config_count() const noexcept { return mirror_.states().config_count(); }
    [[nodiscard]] std::size_t index_bytes() const noexcept { return indexes_.bytes(); }
    [[nodiscard]] std::size_t request_count() const noexcept { return requests_.size(); }

private:
    VGA_HOT void follow_ledger();
    VGA_HOT [[nodiscard]] expected<placement, rejection> decide_known(request_record& request);
    VGA_HOT void follow_changes(const request_class& wanted, index_head& head, const node_group& group);
    VGA_HOT void refresh_index(const request_record& request, const request_part& part, const node_group& group);
    VGA_HOT void build_index(const request_class& wanted, cached_index& index, const node_group& group);
    [[nodiscard]] placement choose_on(const request_record& request, node_index where, bool may_draw);
    void refresh_part(const request_record& request, std::uint32_t group);
    [[nodiscard]] node_answer answer_at(const request_record& request, cluster_mirror::slot_place place);
    [[nodiscard]] static std::uint32_t first_of(index_head& head);
    [[nodiscard]] rejection_code known_refusal(const request_class& wanted, const node_slot& owner) const noexcept;
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
