// mcc: the placement that costs the fewest free starts ("maximum configuration capability").
#pragma once

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/device_values.hpp"

namespace vgpualloc::policies {

/// The configuration capability of a MIG GPU is the number of free starts of its profiles, together; the placement wins
/// that lowers it least. The literature on MIG placement has this policy as MCC; its definition could not be read here.
/// Read literally, "maximum capability after the placement", it prefers empty GPUs and is far worse (both were
/// measured). Counted are the profiles that requests by memory get, without +me and its kin. On devices whose parts lie
/// at no places it takes the fullest device. A baseline (docs/policies.md).
class mcc final : public named<"mcc", device_value_policy<mcc>> {
public:
    [[nodiscard]] static std::int64_t value_of(const device_view&, const slot_shape& shape, const free_slots& free) {
        return plain_starts(shape, free);
    }
    [[nodiscard]] static double scale() noexcept { return 16.0; } ///< an empty A100 has 18 of these starts
};

} // namespace vgpualloc::policies
