// The allocator: for a pod, the best node and devices by a policy, from an index that is kept up to date change by
// change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vgpualloc/alloc/answer.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/policy/pair.hpp"

namespace vgpualloc {

/// A request known to one allocator. Requests that were not used for long are forgotten, and their numbers are given to
/// others with another generation.
class request_id {
public:
    constexpr request_id() noexcept = default;
    constexpr request_id(std::uint32_t index, std::uint32_t generation) noexcept
        : index_{index}, generation_{generation} {}
    [[nodiscard]] constexpr std::size_t at() const noexcept { return index_; }
    [[nodiscard]] constexpr std::uint32_t generation() const noexcept { return generation_; }
    constexpr bool operator==(const request_id&) const noexcept = default;

private:
    std::uint32_t index_ = ~std::uint32_t{0};
    std::uint32_t generation_ = 0;
};

/// Interned states are bounded: past a limit everything is interned afresh, which voids all ids.
struct mirror_limits {
    std::size_t configs_max = 4'000'000;            ///< or four times those of the cluster if that is more
    std::size_t devices_max = std::size_t{1} << 16; ///< likewise; each costs memory for every request class
};

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

/// Decides placements on one ledger. Placing a pod changes one node, and so does most of what happens to a cluster,
/// so per class of requests a tree keeps every node's score and a decision re-scores only the nodes that changed
/// since the class was last asked for. Gives the decisions of an allocator that asks every node every time, always;
/// asks that one about nodes where it matters which device it is (uuids, tags, link groups, parts that fall short,
/// positional policies).
///
/// The ledger may be changed by anyone between calls: the allocator reads its log. Ledger and policies must outlive
/// the allocator and stay where they are. Deciding changes neither ledger nor cluster. Not thread-safe.
class allocator {
public:
    allocator(const ledger& book, policy_pair policies, allocator_options options = {});
    ~allocator();
    allocator(const allocator&) = delete;
    allocator& operator=(const allocator&) = delete;

    /// A number for a request; equal requests get the same one. Errors: those of check_request().
    [[nodiscard]] expected<request_id> intern(const pod_request& request);

    /// Tells the policies of a pod that has arrived, once, before it is decided about. For those that learn the
    /// demand; nothing happens for a request that was forgotten.
    void note_arrival(request_id request);

    /// The best placement, without booking it. A request that was forgotten (allocator_options::requests_max) is
    /// refused with code request_not_known.
    [[nodiscard]] expected<placement, rejection> decide(request_id request);

    /// decide(), then reserve and commit in `book`, which is the ledger that the allocator reads. Refused with code
    /// pod_is_live or pod_not_known if the pod cannot be booked.
    [[nodiscard]] expected<placed_pod, rejection> place(ledger& book, pod_id pod, request_id request);

    /// Feasibility and score of every node, in node order; empty for a request that was forgotten.
    [[nodiscard]] std::vector<node_answer> evaluate(request_id request);

    /// Everything that one node has to say to one request. Refused with code amount_not_valid if the request does
    /// not pass check_request(), node_not_known if there never was such a node.
    [[nodiscard]] node_decision ask_node(node_index where, const pod_request& request);
    /// The best devices of one node, without booking them and without drawing; what evaluate() says of the node.
    /// Refused with the node's code, request_not_known if the request was forgotten, node_not_known if there never
    /// was such a node.
    [[nodiscard]] expected<scored_placement, rejection_code> try_node(node_index where, request_id request);

    /// Why pods that are booked keep the pod off a present node, whatever is free there (pod_request::peers); code none
    /// where they do not.
    [[nodiscard]] rejection_detail ask_peers(node_index where, const pod_request& request);
    /// What one of its rules about other pods counts: pods of its set by domain, for a spread of all domains, else of
    /// those that have some. `rule` is a position in request.peers->rules.
    [[nodiscard]] std::map<std::string, std::int64_t> count_peers(const pod_request& request, std::size_t rule);

    /// What another policy thinks of a placement on a node as it is now. Errors: amount_not_valid if the request
    /// does not pass check_request(), those of ledger::why_not_there().
    [[nodiscard]] expected<double, rejection_detail> score_placement(policy& scorer, const pod_request& request,
                                                                     const placement& where);

    /// What that score is made of (policy::score_parts). Errors: the same.
    [[nodiscard]] expected<std::vector<score_part>, rejection_detail>
    parts_of_placement(policy& scorer, const pod_request& request, const placement& where);
    /// Has the policies hear of all that the ledger has recorded.
    void catch_up();

    /// A present node as policies see it now. Valid until the ledger changes or a decision is made.
    [[nodiscard]] node_view view_of(node_index where);
    /// Rises when configurations get new ids, which voids whatever was kept by id.
    [[nodiscard]] std::uint64_t id_generation() const noexcept;
    /// The number of the first event of the ledger that this allocator has not read: ledger::checkpoint() may be
    /// given the smallest of all readers.
    [[nodiscard]] std::uint64_t next_event() const noexcept;

    /// What a request was; null if it was forgotten.
    [[nodiscard]] const pod_request* find_request(request_id request) noexcept;
    /// Distinct configurations of devices interned so far: what the work depends on.
    [[nodiscard]] std::size_t config_count() const noexcept;
    [[nodiscard]] std::size_t index_bytes() const noexcept;
    [[nodiscard]] std::size_t request_count() const noexcept;

private:
    std::unique_ptr<class indexed_allocator> index_;
};

} // namespace vgpualloc
