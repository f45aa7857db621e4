// HAMi-core: a device shared in software by memory and compute limits, up to its split count.
#pragma once

#include <algorithm>
#include <string_view>
#include <variant>
#include <vector>

#include "vgpualloc/mode/budget.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc::modes {

/// Slices of memory and compute. Joining a device follows HAMi's and Volcano's order of checks: split count, memory,
/// compute, then two rules about full compute: a container that asks for 100 % joins nobody, and one that asks for no
/// share of the compute does not join a device whose compute is all given out. The two rules are about joining only: a
/// set of slices within the budgets is a legal state in whatever order it is counted.
class hami_core final : public sharing_mode {
public:
    static constexpr std::string_view id = "hami_core";
    static constexpr std::string_view about = "software slices of memory and compute, up to a split count (HAMi-core)";

    [[nodiscard]] std::string_view name() const noexcept override { return id; }

    void candidates(const device_spec& device, const device_state& state, const device_request& request,
                    std::vector<partition>& out) const override {
        // Asked of every device of every node: the same checks as why_not(), without their numbers.
        const slice part = wanted_slice(device, request);
        const bool within = state.slots < device.slots && part.memory <= device.memory - state.memory &&
                            part.cores <= device.cores - state.cores;
        const bool valid = part.memory >= mib{0} && part.cores >= core_percent{0};
        if (within && valid && why_not_join(device, state, part.cores).code == rejection_code::none) {
            out.emplace_back(part);
        }
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const device_request& request) const override {
        const slice part = wanted_slice(device, request);
        if (const auto over = why_not(device, state, partition{part}); over.code != rejection_code::none) return over;
        return why_not_join(device, state, part.cores);
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const partition& part) const override {
        const auto* cut = std::get_if<slice>(&part);
        if (cut == nullptr || cut->memory < mib{0} || cut->cores < core_percent{0}) {
            return {.code = rejection_code::mode_not_offered};
        }
        return first_refusal({why_no_slot(device, state), why_no_memory(device, state, cut->memory),
                              why_no_cores(device, state, cut->cores)});
    }

    [[nodiscard]] device_state with(const device_spec&, const device_state& state,
                                    const partition& part) const override {
        return with_slice(state, std::get<slice>(part));
    }

    [[nodiscard]] device_state without(const device_spec&, const device_state& state,
                                       const partition& part) const override {
        return without_slice(state, std::get<slice>(part));
    }

    [[nodiscard]] milli_gpu used(const device_spec& device, const device_state& state) const override {
        return std::max(share_of(state.memory, device.memory), share_of(state.cores, device.cores));
    }

private:
    [[nodiscard]] static slice wanted_slice(const device_spec& device, const device_request& request) {
        return {.memory = memory_wanted(device, request), .cores = request.cores};
    }
};

} // namespace vgpualloc::modes
