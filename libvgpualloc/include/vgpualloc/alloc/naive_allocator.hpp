// The reference path: ask every node about every pod, remember nothing. Slow and plain on purpose.
#pragma once

#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc {

/// Gives the same decisions as allocator, from the ledger's states and the policies' and modes' functions alone.
class naive_allocator {
public:
    naive_allocator(ledger& book, policy_pair policies);

    [[nodiscard]] expected<placement, rejection> decide(const pod_request& request);
    [[nodiscard]] expected<placement, rejection> place(pod_id pod, const pod_request& request);
    [[nodiscard]] std::vector<node_answer> evaluate(const pod_request& request);

private:
    struct node_state; ///< a node's devices and totals, built for one question
    struct step;

    void observe_events();
    [[nodiscard]] node_state state_of(node_index where) const;
    [[nodiscard]] rejection_code why_never_here(const pod_request& request, node_index where) const;
    [[nodiscard]] node_answer ask(const pod_request& request, node_index where);
    [[nodiscard]] bool choose(const request_view& request, node_state& state, bool may_draw,
                              small_vector<device_share, 1>& shares, rejection_code& refused);
    [[nodiscard]] bool next_step(const request_view& request, const node_state& start, const node_state& now,
                                 const device_request& wanted, const std::vector<bool>& taken, bool may_draw,
                                 step& best, rejection& reasons);

    ledger* ledger_;
    policy_pair policies_;
    std::size_t events_read_ = 0;
};

} // namespace vgpualloc
