// HAMi-core: a device shared in software by memory and compute limits, up to its split count.
#pragma once

#include <algorithm>
#include <vector>

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/mode/budget.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc::modes {

/// Slices of memory and compute. Joining a device follows HAMi's and Volcano's order of checks: split count, memory,
/// compute, then two rules about full compute: a container that asks for 100 % joins nobody, and one that asks for no
/// share of the compute does not join a device whose compute is all given out. The two rules are about joining only: a
/// set of slices within the budgets is a legal state in whatever order it is counted.
class hami_core final : public named<"hami_core", slice_mode> {
public:
    void candidates(const device_spec& device, const device_state& state, const device_request& request,
                    std::vector<partition>& out) const override {
        // Asked of every device of every node: the same checks as why_not(), without their numbers.
        const slice part = part_for(device, request);
        const bool within = state.slots < device.slots && part.memory <= device.memory - state.memory &&
                            part.cores <= device.cores - state.cores;
        const bool valid = part.memory >= mib{0} && part.cores >= core_percent{0};
        if (within && valid && why_not_join(device, state, part.cores).code == rejection_code::none) {
            out.emplace_back(part);
        }
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const device_request& request) const override {
        const slice part = part_for(device, request);
        if (const auto over = why_not(device, state, partition{part}); over.code != rejection_code::none) return over;
        return why_not_join(device, state, part.cores);
    }

    [[nodiscard]] rejection_detail why_not(const device_spec& device, const device_state& state,
                                           const partition& part) const override {
        return why_no_slice(device, device.slots, state, part);
    }

    [[nodiscard]] milli_gpu used(const device_spec& device, const device_state& state) const override {
        return larger_share(device, state);
    }
};

} // namespace vgpualloc::modes
