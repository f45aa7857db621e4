// Small measures that several policies share.
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

} // namespace vgpualloc::policies
