// Time-slicing: containers take turns on a whole GPU, and nothing keeps them apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/mode/budget.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc::modes {

/// One of the replicas that a GPU is offered as (the slots of its registration). A container has all of the GPU in its
/// turn: neither its memory nor its compute is limited, so a part has none of either, and an amount that is asked for
/// is only held against what the GPU has. Source: NVIDIA's k8s-device-plugin, sharing.timeSlicing, whose replicas have
/// no memory or fault isolation.
class time_slicing final : public named<"time_slicing", one_part_mode<time_slicing, replica_mode<time_slicing>>> {
public:
    using named::named;

    /// A crash of one container hits all of the GPU (R049 of docs/requirements.md).
    [[nodiscard]] bool shares_faults() const noexcept override { return true; }
    [[nodiscard]] static slice part_for(const device_spec&, const device_request&) { return {}; }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const device_request& request) const override {
        return first_refusal({why_too_many_units(units(), request),
                              why_no_memory(device, {}, memory_wanted(device, request)),
                              why_no_cores(device, {}, request.cores), why_no_slot(device, state)});
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const partition& part) const override {
        const auto* turn = std::get_if<slice>(&part);
        if (turn == nullptr || *turn != slice{}) return {.code = rejection_code::mode_not_offered};
        return why_no_slot(device, state);
    }

    /// A replica, whatever else is asked for.
    [[nodiscard]] requested_share requested(const device_spec& device, const device_request&) const override {
        const fraction replica = fraction::of(1, device.slots);
        return {.memory = replica, .compute = replica};
    }

    /// The share of the replicas that is given out: of memory and compute there is nothing to count.
    [[nodiscard]] milli_gpu used(const device_spec& device, const device_state& state) const override {
        return share_of_slots(device, state);
    }
};

} // namespace vgpualloc::modes
