// equal_parts: a device is cut into as many equal parts as it has slots; a container gets one of them.
#pragma once

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/mode/budget.hpp"

namespace vgpualloc::modes {

/// A request for less than a part gets a whole one; a request for more, or for all of a device, is refused.
class equal_parts final : public named<"equal_parts", one_part_mode<equal_parts>> {
public:
    [[nodiscard]] static slice part_for(const device_spec& device, const device_request&) { return one_part(device); }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const device_request& request) const override {
        const device_spec part_as_device{
            .model = {}, .memory = one_part(device).memory, .cores = one_part(device).cores};
        return first_refusal({why_no_memory(part_as_device, {}, memory_wanted(device, request)),
                              why_no_cores(part_as_device, {}, request.cores),
                              why_not(device, state, partition{one_part(device)})});
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const partition& part) const override {
        if (part != partition{one_part(device)}) return {.code = rejection_code::mode_not_offered};
        return why_no_slot(device, state);
    }

    [[nodiscard]] device_state with(const device_spec& device, const device_state& state,
                                    const partition&) const override {
        return with_slice(state, one_part(device));
    }

    [[nodiscard]] device_state without(const device_spec& device, const device_state& state,
                                       const partition&) const override {
        return without_slice(state, one_part(device));
    }

    [[nodiscard]] milli_gpu used(const device_spec& device, const device_state& state) const override {
        return larger_share(device, state);
    }

private:
    [[nodiscard]] static slice one_part(const device_spec& device) {
        return {.memory = mib{device.memory.count() / device.slots},
                .cores = core_percent{device.cores.count() / device.slots}};
    }
};

} // namespace vgpualloc::modes
