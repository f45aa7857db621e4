// mecc: as mcc, with each free start worth as much as its requests are frequent ("maximum expected configuration
// capability").
#pragma once

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/device_values.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/weighed_requests.hpp"

namespace vgpualloc::policies {

/// The sum over the workload's device requests of frequency times how many of them the device could still take; the
/// placement wins that lowers it least. For MIG that is the number of free starts, as instances of one profile that may
/// start at two places never overlap. The formula of MECC is a reading of its name (see mcc).
class mecc final : public named<"mecc", device_value_policy<mecc>> {
public:
    explicit mecc(const policy_parameters& parameters) : requests_{parameters.target} {}

    [[nodiscard]] std::int64_t value_of(const device_view& device, const slot_shape&, const free_slots&) const {
        std::int64_t value = 0;
        for (const auto& [request, weight] : requests_.entries()) value += weight * further_on(device, request);
        return value;
    }
    [[nodiscard]] static double scale() noexcept { return static_cast<double>(weighed_requests::total); }

private:
    weighed_requests requests_;
};

} // namespace vgpualloc::policies
