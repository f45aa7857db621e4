// fgd_stranded: fragmentation in stranded units: what is free and could not be used even by as many as fit.
#pragma once

#include <algorithm>

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/device_values.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/weighed_requests.hpp"

namespace vgpualloc::policies {

/// The placement wins that makes F grow least: over the workload's device requests, frequency times what is left of the
/// free part of a device when as many such requests as fit have taken theirs. A baseline (docs/policies.md).
class fgd_stranded final : public named<"fgd_stranded", device_value_policy<fgd_stranded>> {
public:
    explicit fgd_stranded(const policy_parameters& parameters) : requests_{parameters.target} {}

    [[nodiscard]] std::int64_t value_of(const device_view& device, const slot_shape& shape,
                                        const free_slots& free) const {
        const free_amount amount = free_amount_of(device, shape, free);
        std::int64_t stranded = 0;
        for (const auto& [request, weight] : requests_.entries()) {
            const std::int64_t taken = further_on(device, request) * size_of(device, shape, request);
            stranded += weight * std::max<std::int64_t>(0, amount.free - taken) * 1000 / amount.all;
        }
        return -stranded;
    }
    [[nodiscard]] static double scale() noexcept { return 1000.0 * static_cast<double>(weighed_requests::total); }

private:
    /// What one such request takes of the device while it is empty, in the units of free_amount.
    [[nodiscard]] static std::int64_t size_of(const device_view& device, const slot_shape& shape,
                                              const device_request& request) {
        std::vector<partition> parts;
        device.spec->mode->candidates(*device.spec, {}, request, parts);
        if (parts.empty()) return 0;
        device_view after = device;
        after.state = device.spec->mode->with(*device.spec, {}, parts.front());
        after.used = device.spec->mode->used(*device.spec, after.state);
        const free_amount left = free_amount_of(after, shape, free_slots_of(after));
        return left.all - left.free;
    }

    weighed_requests requests_;
};

} // namespace vgpualloc::policies
