// What a mode says of one request, with the rule checked that candidates() and why_not() agree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "vgpualloc/model/device.hpp"

namespace vgpualloc::test {

[[nodiscard]] inline device_state used(std::int64_t memory_mib, std::int64_t cores, std::int64_t slots) {
    return {.memory = mib{memory_mib}, .cores = core_percent{cores}, .slots = slots, .layout = 0};
}

/// Of a mode that serves a request in one way at the most.
[[nodiscard]] inline rejection_detail refusal_of(const device_spec& device, const device_state& state,
                                                 const device_request& request) {
    const rejection_detail refusal = device.mode->why_not(device, state, request);
    std::vector<partition> parts;
    device.mode->candidates(device, state, request, parts);
    EXPECT_EQ(parts.size(), refusal.code == rejection_code::none ? 1U : 0U) << "candidates() and why_not() disagree";
    for (const partition& part : parts) {
        EXPECT_EQ(device.mode->why_not(device, state, part).code, rejection_code::none)
            << "what is offered is within the budgets";
    }
    return refusal;
}

} // namespace vgpualloc::test
