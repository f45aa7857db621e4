// fgd_literal: the fragmentation of FGD, read literally for MIG: a GPU's free units are lost to whom none is left for.
#pragma once

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/device_values.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/weighed_requests.hpp"

namespace vgpualloc::policies {

/// The placement wins that makes F grow least: over the workload's device requests, frequency times all that is free on
/// a device that cannot take the request (Weng et al., "Beware of Fragmentation", USENIX ATC 2023, with free memory
/// slices in the place of milli-GPU). A baseline (docs/policies.md). Policy fgd is the same with a device's larger
/// share of memory and compute, and looks at the CPU of nodes besides.
class fgd_literal final : public named<"fgd_literal", device_value_policy<fgd_literal>> {
public:
    explicit fgd_literal(const policy_parameters& parameters) : requests_{parameters.target} {}

    [[nodiscard]] std::int64_t value_of(const device_view& device, const slot_shape& shape,
                                        const free_slots& free) const {
        std::int64_t weight_lost = 0;
        for (const auto& [request, weight] : requests_.entries()) {
            if (further_on(device, request) == 0) weight_lost += weight;
        }
        return -weight_lost * free_amount_of(device, shape, free).in_thousandths();
    }
    [[nodiscard]] static double scale() noexcept { return 1000.0 * static_cast<double>(weighed_requests::total); }

private:
    weighed_requests requests_;
};

} // namespace vgpualloc::policies
