// Policies to which it matters which device it is, and not only in what state.
#pragma once

#include <span>

#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc {

/// A whole placement on one node. Devices are by index.
struct placement_view {
    node_view before;                           ///< its configuration lists the devices by index
    const node* described = nullptr;            ///< what the node is: uuids and link groups of its devices
    std::span<const device_share> shares;       ///< in the order chosen
    std::span<const device_view* const> taken;  ///< per share: the device just before it
    std::span<const device_view* const> became; ///< per share: the device with it
    bool compromised = false;                   ///< some share falls short of what was asked (sharing_mode::compromise)
};

/// Scores a node by the whole placement on it; steps know their device's index, and equal devices go by the lowest
/// index. Its device_score() looks at the step alone: `after` is the node before the step. Such decisions are made on
/// the reference path, which asks every node. Both policies of an allocator are positional, or neither is.
class positional_policy : public policy {
public:
    [[nodiscard]] virtual double placement_score(const request_view& request, const placement_view& chosen) = 0;

    [[nodiscard]] policy_traits traits() const noexcept override { return {.view = looks_at::positions}; }
    [[nodiscard]] positional_policy* positional() noexcept final { return this; }
    /// Never asked for: placement_score() stands for it.
    [[nodiscard]] double node_score(const request_view&, const node_view&, const node_view&) final { return 0.0; }
};

} // namespace vgpualloc
