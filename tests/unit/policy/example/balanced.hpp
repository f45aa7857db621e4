// balanced: the node whose CPU and devices are used alike after the placement; on it the fullest device.
#pragma once

#include <cmath>

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/usage.hpp"

namespace vgpualloc::policies {

/// A node that runs out of CPU strands its devices, and the other way round. The score is minus the distance between
/// the used share of the CPU and the used share of the devices, -1 to 0.
class balanced final : public named<"balanced", policy> {
public:
    [[nodiscard]] double node_score(const request_view&, const node_view&, const node_view& after) override {
        return -std::abs(used_cpu_ratio(after) - used_ratio(after, 0.0));
    }
    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view& step) override {
        return in_gpus(step.after->used);
    }

private:
    [[nodiscard]] static double used_cpu_ratio(const node_view& node) noexcept {
        if (node.cpu_capacity == milli_cpu{0}) return 0.0;
        const milli_cpu used = node.cpu_capacity - node.cpu_left;
        return static_cast<double>(used.count()) / static_cast<double>(node.cpu_capacity.count());
    }
};

} // namespace vgpualloc::policies
