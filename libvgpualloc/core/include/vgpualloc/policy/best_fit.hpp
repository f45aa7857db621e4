// best_fit: the node, and on it the device, with the least left over.
#pragma once

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/usage.hpp"

namespace vgpualloc::policies {

/// Scores are minus the GPUs left idle after the placement. Unlike binpack it compares amounts, not shares, so a small
/// node that is half full comes before a large one that is nearly full.
class best_fit final : public named<"best_fit", usage_policy<best_fit>> {
public:
    [[nodiscard]] static double of_node(const node_view&, const node_view& after) {
        return -in_gpus(after.config->free);
    }
    [[nodiscard]] static double of_device(const step_view& step) { return -in_gpus(step.after->free()); }
};

} // namespace vgpualloc::policies
