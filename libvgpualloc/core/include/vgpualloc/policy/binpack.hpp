// binpack: the node, and on it the device, that ends up fullest.
#pragma once

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/usage.hpp"

namespace vgpualloc::policies {

/// Scores are used shares after the placement, 0 to 1. Pods without devices go to nodes without devices first.
class binpack final : public named<"binpack", usage_policy<binpack>> {
public:
    [[nodiscard]] static double of_node(const node_view&, const node_view& after) { return used_ratio(after, 1.0); }
    [[nodiscard]] static double of_device(const step_view& step) { return in_gpus(step.after->used); }
};

} // namespace vgpualloc::policies
