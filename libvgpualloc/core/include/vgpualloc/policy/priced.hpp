// Policies whose scores are sums of prices that move with every event.
#pragma once

#include <cstdint>
#include <span>

#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc {

/// The score of a step depends on what it makes of its device, and on prices: never on the node or its other devices,
/// nor on the device's identity. Prices move with every booking, so that no score of a node can be kept; but the
/// changes that steps make are few, and many nodes share them. An allocator asks for each change once per decision.
///
/// node_score() of a placement of one device and device_score() of its step are score_changes() of its change. Such a
/// policy is the node policy and the device policy of an allocator at once, or is asked through node_score() as any
/// other one.
class priced_policy : public policy {
public:
    /// A number for what a step makes of its device; equal changes have the same one until forget_ids().
    [[nodiscard]] virtual std::uint32_t change_of(const device_view& before, const device_view& after) = 0;
    /// Another one whenever numbers of changes are void.
    [[nodiscard]] virtual std::uint64_t change_generation() const noexcept = 0;
    /// The scores of changes at the prices of now; `scores` is as long as `changes`.
    virtual void score_changes(std::span<const std::uint32_t> changes, std::span<double> scores) = 0;

    [[nodiscard]] policy_traits traits() const noexcept override { return {.device_score_is_node_score = true}; }
    [[nodiscard]] priced_policy* priced() noexcept final { return this; }
};

} // namespace vgpualloc
