// first_fit: the first node that fits, and on it the first device.
#pragma once

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/usage.hpp"

namespace vgpualloc::policies {

/// Every placement is as good as another, so ties decide: nodes by rank, devices by index, and on the device the part
/// that its mode lists first (of MIG the start that leaves the most starts; the smallest state for pods of several
/// devices). The baseline of every study of packing.
class first_fit final : public named<"first_fit", usage_policy<first_fit>> {
public:
    [[nodiscard]] static double of_node(const node_view&, const node_view&) { return 0.0; }
    [[nodiscard]] static double of_device(const step_view&) { return 0.0; }
};

} // namespace vgpualloc::policies
