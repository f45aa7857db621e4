// equal_parts: a device is cut into as many equal parts as it has slots; a container gets one of them.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "vgpualloc/mode/budget.hpp"

namespace vgpualloc::modes {

/// A request for less than a part gets a whole one; a request for more, or for all of a device, is refused.
class equal_parts final : public sharing_mode {
public:
    static constexpr std::string_view id = "equal_parts";
    static constexpr std::string_view about = "as many equal parts of a device as it has slots, one per container";

    [[nodiscard]] std::string_view name() const noexcept override { return id; }

    void candidates(const device_spec& device, const device_state& state, const device_request& request,
                    std::vector<partition>& out) const override {
        if (why_not(device, state, request).code == rejection_code::none) out.emplace_back(one_part(device));
    }

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

    /// Of adopted parts there can be more than the device has.
    [[nodiscard]] milli_gpu used(const device_spec& device, const device_state& state) const override {
        return std::min(whole_gpu,
                        std::max(share_of(state.memory, device.memory), share_of(state.cores, device.cores)));
    }

private:
    [[nodiscard]] static slice one_part(const device_spec& device) {
        return {.memory = mib{device.memory.count() / device.slots},
                .cores = core_percent{device.cores.count() / device.slots}};
    }
};

} // namespace vgpualloc::modes
