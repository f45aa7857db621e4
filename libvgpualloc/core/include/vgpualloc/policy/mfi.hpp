// mfi: the placement that makes fragmentation of a MIG GPU grow least ("minimum fragmentation increment").
#pragma once

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/device_values.hpp"

namespace vgpualloc::policies {

/// F of a GPU is, over all profiles that its free units would be enough for and all their starts, the units of the
/// profile where the start is blocked. After Zambianco, Fasol and Doriguzzi-Corin, "An Online Fragmentation-Aware GPU
/// Scheduler for Multi-Tenant MIG-based Clouds", arXiv 2511.18906; the formula is from memory and was not verified
/// against the paper. A baseline (docs/policies.md). On devices whose parts lie at no places it takes the fullest
/// device.
class mfi final : public named<"mfi", device_value_policy<mfi>> {
public:
    [[nodiscard]] static std::int64_t value_of(const device_view&, const slot_shape& shape, const free_slots& free) {
        std::int64_t blocked_units = 0;
        for (std::size_t p = 0; p < shape.profiles.size(); ++p) {
            const slot_profile& profile = shape.profiles[p];
            if (!profile.plain || profile.units > free.free_units) continue;
            blocked_units += profile.units * (profile.starts - free.free_starts[p]);
        }
        return -blocked_units;
    }
    [[nodiscard]] static double scale() noexcept { return 16.0; }
};

} // namespace vgpualloc::policies
