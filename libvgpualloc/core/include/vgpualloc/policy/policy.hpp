// The interface of a policy: which of the possible placements is best, on the node level and on the device level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/model/view.hpp"
#include "vgpualloc/policy/traits.hpp"

namespace vgpualloc {

/// A request with what policies ask of it again and again.
struct request_view {
    const pod_request* request = nullptr;
    std::int64_t devices = 0; ///< over all containers
};

/// One thing that happened to a pod's booking or to a node.
struct policy_event {
    ledger_event_kind kind;         ///< none of those of trials
    const booking* entry = nullptr; ///< of an event of a pod
    node_index where;
    const ledger* book = nullptr; ///< as it is now, which may be after later events
};

/// A part of a node score, for explanations. Parts add up to the score but for what only orders equals.
struct score_part {
    std::string what;    ///< "leftovers", "room for 8 whole GPUs"
    double worth = 0.0;  ///< what it adds to the score
    double amount = 0.0; ///< of what has a price, how many are lost; 0 = the part is not of that kind
    double price = 0.0;  ///< of one of these
};

struct learned_prices;
class positional_policy;
class priced_policy;

/// Ranks feasible placements. The highest score wins. Scores are IEEE doubles and are compared exactly.
///
/// On one node, every device that fits is tried: the highest device_score() wins, then the highest node_score(), then
/// the lowest device index. Among nodes, the highest node_score() wins. Ties go to the lowest ledger::rank_of(), or to
/// a uniform draw if traits().nodes is `drawn`.
///
/// The allocator caches a node's score until the node changes or epoch() rises. So a score may depend only on its
/// arguments, on what observe() reported about the same node, and on epoch().
class policy {
public:
    virtual ~policy() = default;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0;

    /// Scores the change of a node from `before` to `after`.
    [[nodiscard]] virtual double node_score(const request_view& request, const node_view& before,
                                            const node_view& after) = 0;

    /// How good it is to take `step.before` for one device's worth of the request; `after` is the node after that step.
    [[nodiscard]] virtual double device_score(const request_view& request, const node_view& before,
                                              const node_view& after, const step_view& step) = 0;

    /// What the scores depend on and how ties are broken.
    [[nodiscard]] virtual policy_traits traits() const noexcept { return {}; }
    /// This policy, if it is one that looks at positions.
    [[nodiscard]] virtual positional_policy* positional() noexcept { return nullptr; }
    /// This policy, if its scores are sums of prices that move with every event.
    [[nodiscard]] virtual priced_policy* priced() noexcept { return nullptr; }

    /// Where traits().batched, a decision that will ask for many scores asks for them twice: between these two calls
    /// the policy only hears which are wanted, and what it returns does not count. Afterwards it is asked again, and
    /// may also be asked for others. end_batch() returns how many scores it has computed.
    virtual void begin_batch() {}
    [[nodiscard]] virtual std::size_t end_batch() { return 0; }

    /// Whether equal devices are drawn for this request; asked only where traits().devices is `drawn`.
    [[nodiscard]] virtual bool draws_device_for(const request_view& /*request*/) const noexcept { return true; }
    /// A position in [0, count); called once per choice that is made by a draw, `count` >= 1.
    [[nodiscard]] virtual std::uint64_t draw(std::uint64_t /*count*/) { return 0; }

    /// A trial begins, possibly inside another one. A policy that draws notes where its stream stands.
    virtual void enter_trial() {}
    /// The innermost trial ends. Unless it is kept, the draws made since it began have never happened.
    virtual void leave_trial(bool /*keep*/) {}

    /// Called for every change of the ledger, in order, before the next score is requested.
    virtual void observe(const policy_event& /*event*/) {}

    /// Called for a pod that has arrived, before the first decision about it and whether or not it will be placed.
    /// `book` is the ledger as it is then.
    virtual void note_arrival(const pod_request& /*request*/, const ledger& /*book*/) {}

    /// What the policy has learned of arrivals (policy/learned_prices.hpp); null: it learns nothing that can be kept.
    [[nodiscard]] virtual std::shared_ptr<const learned_prices> learned() const { return nullptr; }

    /// Goes on from what another policy has learned, as if this one had heard all that the other has. True if it did;
    /// false where the two are of different kinds or learn nothing.
    virtual bool take_over(const policy& /*other*/) { return false; }

    /// What node_score() is made of; empty: it has no parts that say more than the sum.
    [[nodiscard]] virtual std::vector<score_part> score_parts(const request_view& /*request*/,
                                                              const node_view& /*before*/, const node_view& /*after*/) {
        return {};
    }

    /// Rises when scores of unchanged nodes change.
    [[nodiscard]] virtual std::uint64_t epoch() const noexcept { return 0; }

    /// Called when ids of configurations and devices are about to be reassigned: whatever was stored by id is void.
    virtual void forget_ids() {}
};

} // namespace vgpualloc
