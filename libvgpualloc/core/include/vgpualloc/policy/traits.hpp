// What a policy says of itself: what its scores depend on and how equal scores are settled.
#pragma once

#include <cstdint>

namespace vgpualloc {

/// How much of the node after a placement the scores look at; each looks at all that the one before it does.
enum class looks_at : std::uint8_t {
    /// node_score(): the CPU that is left and the totals of the configuration. device_score(): nothing but the step.
    /// The
    /// configuration afterwards may then come without devices and without an id, and is never looked up.
    totals,
    configuration, ///< all devices, in no order
    positions,     ///< which device it is, and in which order they were taken: positional_policy alone
};

/// How one of several equally good nodes or devices is picked.
enum class ties : std::uint8_t {
    in_order, ///< the first
    drawn,    ///< policy::draw(), each equally likely
};

/// Fixed for the life of a policy.
struct policy_traits {
    looks_at view = looks_at::configuration;
    bool device_score_is_node_score = false; ///< one computation then serves both
    bool history = false; ///< nodes in equal states may score differently, by what observe() told of them
    bool batched = false; ///< scores are worth being computed many at once: policy::begin_batch()
    bool learns = false;  ///< scores go by what note_arrival() and observe() have told of the pods
    ties nodes = ties::in_order;
    ties devices = ties::in_order; ///< drawn: for the requests that policy::draws_device_for() names

    bool operator==(const policy_traits&) const = default;
};

/// Whether a policy can be all of this at once. A node score needs totals that device_score() is not given where
/// totals are all that is looked at, and a positional policy has no node score.
[[nodiscard]] constexpr bool consistent(const policy_traits& traits) noexcept {
    return !traits.device_score_is_node_score || traits.view == looks_at::configuration;
}

} // namespace vgpualloc
