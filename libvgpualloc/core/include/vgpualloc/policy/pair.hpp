// The two policies of an allocator and what they are together.
#pragma once

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/policy/positional.hpp"
#include "vgpualloc/policy/priced.hpp"

namespace vgpualloc {

/// One policy chooses among nodes, one among the devices of a node; they may be the same object.
struct policy_pair {
    policy* node = nullptr;
    policy* device = nullptr;

    void note_arrival(const pod_request& request, const ledger& book) const {
        node->note_arrival(request, book);
        if (device != node) device->note_arrival(request, book);
    }
    [[nodiscard]] bool learns() const { return node->traits().learns || device->traits().learns; }
    /// policy::take_over() of both; true if none that learns is left without.
    bool take_over(const policy_pair& before) const {
        const bool has_node_taken = node->take_over(*before.node) || !node->traits().learns;
        if (device == node) return has_node_taken;
        const bool has_device_taken = device->take_over(*before.device) || !device->traits().learns;
        return has_node_taken && has_device_taken;
    }
};

/// The traits of both, as an allocator needs them; they never change, so they are read once.
struct pair_traits {
    bool by_totals = false;   ///< neither looks at more than totals
    bool one_score = false;   ///< the device score is the node score
    bool state_alone = false; ///< nodes in equal states score alike
    bool batched = false;     ///< one of them scores many nodes at once
    bool draws_nodes = false;
    bool draws_devices = false;              ///< for the requests that policy::draws_device_for() names
    positional_policy* positional = nullptr; ///< scores placements; null if the pair is not positional
    priced_policy* priced = nullptr;         ///< if one policy of moving prices is both; null otherwise
};

/// Aborts if the two cannot be what they say, alone or together.
[[nodiscard]] inline pair_traits traits_of(const policy_pair& policies) {
    const policy_traits node = policies.node->traits();
    const policy_traits device = policies.device->traits();
    VGA_ASSERT(consistent(node) && consistent(device), "a policy's traits go together (policy/traits.hpp)");
    const bool positional = node.view == looks_at::positions;
    VGA_ASSERT(positional == (device.view == looks_at::positions), "both policies look at positions, or neither does");
    VGA_ASSERT(positional == (policies.node->positional() != nullptr) &&
                   positional == (policies.device->positional() != nullptr),
               "a policy that looks at positions is a positional_policy");
    return {.by_totals = node.view == looks_at::totals && device.view == looks_at::totals,
            .one_score = policies.node == policies.device && node.device_score_is_node_score,
            .state_alone = !node.history && !device.history,
            .batched = node.batched || device.batched,
            .draws_nodes = node.nodes == ties::drawn,
            .draws_devices = device.devices == ties::drawn,
            .positional = policies.node->positional(),
            .priced = policies.node == policies.device ? policies.node->priced() : nullptr};
}

/// Tells both policies of one event of a ledger's log.
inline void tell_policies(const ledger& book, const ledger_event& event, const policy_pair& policies) {
    const auto tell = [&](policy& listener) {
        if (event.kind == ledger_event_kind::trial_begun) {
            listener.enter_trial();
        } else if (event.kind == ledger_event_kind::trial_kept || event.kind == ledger_event_kind::trial_undone) {
            listener.leave_trial(event.kind == ledger_event_kind::trial_kept);
        } else if (is_of_booking(event.kind)) {
            const booking& entry = book.bookings()[event.subject];
            listener.observe({.kind = event.kind, .entry = &entry, .where = entry.where.node, .book = &book});
        } else {
            const node_index where = book.change(event).where;
            listener.observe({.kind = event.kind, .entry = nullptr, .where = where, .book = &book});
        }
    };
    tell(*policies.node);
    if (policies.device != policies.node) tell(*policies.device);
}

} // namespace vgpualloc
