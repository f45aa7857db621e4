// worst_fit: the node, and on it the device, with the most left over.
#pragma once

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/usage.hpp"

namespace vgpualloc::policies {

/// Scores are the GPUs left idle after the placement.
class worst_fit final : public named<"worst_fit", usage_policy<worst_fit>> {
public:
    [[nodiscard]] static double of_node(const node_view&, const node_view& after) {
        return in_gpus(after.config->free);
    }
    [[nodiscard]] static double of_device(const step_view& step) { return in_gpus(step.after->free()); }
};

} // namespace vgpualloc::policies
