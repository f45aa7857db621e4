// A mode for properties: its parts fall short by memory where a device has too little left.
#pragma once

#include <algorithm>
#include <string_view>
#include <variant>
#include <vector>

#include "vgpualloc/mode/budget.hpp"

namespace vgpualloc::property {

/// A request for an amount of memory gets a slice of it, or half of it (rounded up) where only that is left, which is a
/// compromise. A request in percent, or for all of the memory, gets what it asks for or nothing.
class yielding_mode final : public sharing_mode {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "yielding"; }

    void candidates(const device_spec& device, const device_state& state, const device_request& request,
                    std::vector<partition>& out) const override {
        for (const partition& part : {partition{full(device, request)}, partition{least(device, request)}}) {
            if (why_not(device, state, part).code != rejection_code::none) continue;
            out.push_back(part);
            return;
        }
    }

    void further_candidates(const device_spec& device, const device_state& state, const device_request& request,
                            std::vector<partition>& out) const override {
        const bool has_full = why_not(device, state, partition{full(device, request)}).code == rejection_code::none;
        if (has_full && full(device, request) != least(device, request)) out.emplace_back(least(device, request));
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const device_request& request) const override {
        return why_not(device, state, partition{least(device, request)});
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const partition& part) const override {
        const auto* cut = std::get_if<slice>(&part);
        if (cut == nullptr || cut->memory < mib{0} || cut->cores < core_percent{0}) {
            return {.code = rejection_code::mode_not_offered};
        }
        return modes::first_refusal({modes::why_no_slot(device, state),
                                     modes::why_no_memory(device, state, cut->memory),
                                     modes::why_no_cores(device, state, cut->cores)});
    }

    [[nodiscard]] int compromise(const device_spec& device, const device_request& request,
                                 const partition& part) const override {
        return part == partition{full(device, request)} ? 0 : 1;
    }
    [[nodiscard]] bool may_compromise(const device_request& request) const override {
        return !request.memory_percent && request.memory > mib{1};
    }

    [[nodiscard]] device_state with(const device_spec&, const device_state& state,
                                    const partition& part) const override {
        return modes::with_slice(state, std::get<slice>(part));
    }
    [[nodiscard]] device_state without(const device_spec&, const device_state& state,
                                       const partition& part) const override {
        return modes::without_slice(state, std::get<slice>(part));
    }
    [[nodiscard]] milli_gpu used(const device_spec& device, const device_state& state) const override {
        return std::min(whole_gpu,
                        std::max(share_of(state.memory, device.memory), share_of(state.cores, device.cores)));
    }

private:
    [[nodiscard]] static slice full(const device_spec& device, const device_request& request) {
        return {.memory = memory_wanted(device, request), .cores = request.cores};
    }
    [[nodiscard]] static slice least(const device_spec& device, const device_request& request) {
        slice part = full(device, request);
        if (!request.memory_percent && request.memory > mib{0}) part.memory = mib{(part.memory.count() + 1) / 2};
        return part;
    }
};

} // namespace vgpualloc::property
