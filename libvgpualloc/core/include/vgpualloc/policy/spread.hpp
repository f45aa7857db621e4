// spread: the node, and on it the device, that is emptiest before the placement.
#pragma once

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/usage.hpp"

namespace vgpualloc::policies {

/// Scores are free shares before the placement, 0 to 1, as the seeds' spread is decided (the state before counts).
class spread final : public named<"spread", usage_policy<spread>> {
public:
    [[nodiscard]] static double of_node(const node_view& before, const node_view&) {
        return 1.0 - used_ratio(before, 0.0);
    }
    [[nodiscard]] static double of_device(const step_view& step) { return 1.0 - in_gpus(step.before->used); }
};

} // namespace vgpualloc::policies
