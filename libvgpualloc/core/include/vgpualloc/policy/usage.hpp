// Small measures that several policies share, and the form of those that need no more.
#pragma once

#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc::policies {

/// Milli-GPU as GPUs, the unit in which native scores are given.
[[nodiscard]] constexpr double in_gpus(milli_gpu amount) noexcept {
    return static_cast<double>(amount.count()) / 1000.0;
}

/// Used share of a node's devices, 0 to 1. A node without devices has nothing to keep free and gives `without_devices`.
[[nodiscard]] inline double used_ratio(const node_view& node, double without_devices) noexcept {
    const milli_gpu total = node.config->total();
    if (total == milli_gpu{0}) return without_devices;
    return static_cast<double>(node.config->used.count()) / static_cast<double>(total.count());
}

/// A policy that scores a node by its totals before and after the placement (Policy::of_node), and a device by its own
/// state before and after the step (Policy::of_device).
template <class Policy>
class usage_policy : public policy {
public:
    [[nodiscard]] policy_traits traits() const noexcept final { return {.view = looks_at::totals}; }
    [[nodiscard]] double node_score(const request_view&, const node_view& before, const node_view& after) final {
        return Policy::of_node(before, after);
    }
    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view& step) final {
        return Policy::of_device(step);
    }
};

} // namespace vgpualloc::policies
