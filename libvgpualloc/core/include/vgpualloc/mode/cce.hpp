// Huawei Cloud CCE GPU virtualization: memory in units of 128 MiB, compute in steps of 5 %, one kind of isolation a
// GPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/mode/budget.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc::modes {

/// Slices whose memory is isolated (cores 0), or memory and compute. The first tenant of a GPU fixes which of the two
/// its GPU has, until it is empty again. A request for all units of memory that the GPU has (its memory / 128, rounded
/// down), for 100 % of compute, or for neither gets the whole GPU. device_state::layout counts such tenants. Source:
/// Huawei Cloud, "Using GPU Virtualization" (cce_10_0646); the rounding is this project's reading of it.
class cce final : public named<"cce", one_part_mode<cce>> {
public:
    static constexpr mib unit{128};
    static constexpr core_percent step{5};
    static constexpr std::int64_t tenants_max = 20; ///< virtual GPUs of one GPU

    [[nodiscard]] bool first_tenant_decides() const noexcept override { return true; }

    [[nodiscard]] device_spec adapted(device_spec spec) const override {
        spec.cores = whole_compute;
        spec.slots = std::min(spec.slots, tenants_max);
        return spec;
    }

    /// Of a request that is valid and no larger than the device.
    [[nodiscard]] static partition part_for(const device_spec& device, const device_request& request) {
        const mib memory = memory_wanted(device, request);
        const bool all_units = memory.count() / unit.count() >= device.memory.count() / unit.count();
        if (all_units || request.cores == whole_compute) return whole_device{};
        return slice{.memory = memory, .cores = request.cores};
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const device_request& request) const override {
        const auto refused =
            first_refusal({why_not_valid(device, request), why_no_memory(device, {}, memory_wanted(device, request)),
                           why_no_cores(device, {}, request.cores)});
        if (refused.code != rejection_code::none) return refused;
        return why_not(device, state, part_for(device, request));
    }

    /// Isolation is a budget here: whichever of two parts came first, they may not share a GPU.
    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const partition& part) const override {
        const auto* cut = std::get_if<slice>(&part);
        const bool whole = std::holds_alternative<whole_device>(part);
        if (!whole && (cut == nullptr || !is_known(*cut))) return {.code = rejection_code::mode_not_offered};
        if (state.layout != 0) return {.code = rejection_code::device_taken_whole, .wanted = 1, .available = 0};
        if (whole && state.slots > 0) {
            return {.code = rejection_code::device_in_use, .wanted = 0, .available = state.slots};
        }
        if (whole) return {};
        if (state.slots > 0 && (state.cores > core_percent{0}) != (cut->cores > core_percent{0})) {
            return {.code = rejection_code::isolation_differs};
        }
        return first_refusal({why_no_slot(std::min(device.slots, tenants_max), state),
                              why_no_memory(device, state, cut->memory), why_no_cores(device, state, cut->cores)});
    }

    [[nodiscard]] device_state with(const device_spec& device, const device_state& state,
                                    const partition& part) const override {
        device_state result = with_slice(state, charge_of(device, part));
        if (std::holds_alternative<whole_device>(part)) ++result.layout;
        return result;
    }

    [[nodiscard]] device_state without(const device_spec& device, const device_state& state,
                                       const partition& part) const override {
        device_state result = without_slice(state, charge_of(device, part));
        if (std::holds_alternative<whole_device>(part)) --result.layout;
        return result;
    }

    [[nodiscard]] milli_gpu used(const device_spec& device, const device_state& state) const override {
        return larger_share(device, state);
    }

    /// Without an amount of memory a whole device is asked for.
    [[nodiscard]] requested_share requested(const device_spec& device, const device_request& request) const override {
        return wants_all_memory(request) ? requested_share::all() : sharing_mode::requested(device, request);
    }

    /// A request that is not valid may ask for odd memory, odd compute or a percentage: its numbers have no one unit.
    [[nodiscard]] amount_unit unit_of(rejection_code code, const device_request& request) const override {
        return code == rejection_code::request_not_valid ? amount_unit::none : sharing_mode::unit_of(code, request);
    }

private:
    [[nodiscard]] static bool is_known(const slice& part) noexcept {
        return part.memory > mib{0} && part.memory.count() % unit.count() == 0 && part.cores >= core_percent{0} &&
               part.cores.count() % step.count() == 0;
    }
    [[nodiscard]] static bool says_nothing_of_memory(const device_request& request) noexcept {
        return request.memory <= mib{0} && !request.memory_percent;
    }

    /// What no GPU can serve: compute without memory, odd amounts, memory in percent of a GPU but for all of it.
    [[nodiscard]] static rejection_detail why_not_valid(const device_spec&, const device_request& request) {
        const auto invalid = [](std::int64_t amount) {
            return rejection_detail{.code = rejection_code::request_not_valid, .wanted = amount, .available = 0};
        };
        const std::int64_t cores = request.cores.count();
        if (cores < 0 || cores > whole_compute.count() || cores % step.count() != 0) return invalid(cores);
        if (says_nothing_of_memory(request)) return cores > 0 ? invalid(cores) : rejection_detail{};
        if (request.memory_percent) {
            return *request.memory_percent == 100 ? rejection_detail{} : invalid(*request.memory_percent);
        }
        const std::int64_t memory = request.memory.count();
        return memory % unit.count() == 0 ? rejection_detail{} : invalid(memory);
    }

    [[nodiscard]] static slice charge_of(const device_spec& device, const partition& part) {
        if (const auto* some = std::get_if<slice>(&part)) return *some;
        return {.memory = device.memory, .cores = device.cores};
    }
};

} // namespace vgpualloc::modes
