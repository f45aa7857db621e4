// Exclusive: a device belongs to one container, as with the plain NVIDIA device plugin.
#pragma once

#include <variant>

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/mode/budget.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc::modes {

/// Whole devices only. A request for a part still gets the whole device, provided that the part exists at all: this is
/// the baseline in which a container that needs 3 GB occupies a GPU of 80 GB.
class exclusive final : public named<"exclusive", one_part_mode<exclusive>> {
public:
    [[nodiscard]] static whole_device part_for(const device_spec&, const device_request&) { return {}; }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const device_request& request) const override {
        if (const mib memory = memory_wanted(device, request); memory > device.memory) {
            return {.code = rejection_code::insufficient_device_memory,
                    .wanted = memory.count(),
                    .available = device.memory.count()};
        }
        if (request.cores > device.cores) {
            return {.code = rejection_code::insufficient_device_cores,
                    .wanted = request.cores.count(),
                    .available = device.cores.count()};
        }
        return why_not(device, state, partition{whole_device{}});
    }

    [[nodiscard]] rejection_detail why_not(const device_spec&, const device_state& state,
                                           const partition& part) const override {
        if (!std::holds_alternative<whole_device>(part)) return {.code = rejection_code::mode_not_offered};
        if (state.slots > 0) return {.code = rejection_code::device_taken_whole, .wanted = 1, .available = 0};
        return {};
    }

    [[nodiscard]] device_state with(const device_spec& device, const device_state&, const partition&) const override {
        return {.memory = device.memory, .cores = device.cores, .slots = 1, .layout = 1};
    }

    [[nodiscard]] device_state without(const device_spec&, const device_state&, const partition&) const override {
        return {};
    }

    [[nodiscard]] milli_gpu used(const device_spec&, const device_state& state) const override {
        return state.slots > 0 ? whole_gpu : milli_gpu{0};
    }

    /// Without an amount of memory a whole device is asked for.
    [[nodiscard]] requested_share requested(const device_spec& device, const device_request& request) const override {
        return wants_all_memory(request) ? requested_share::all() : sharing_mode::requested(device, request);
    }
};

} // namespace vgpualloc::modes
