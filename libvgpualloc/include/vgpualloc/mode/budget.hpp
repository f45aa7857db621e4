// Checks that several modes make alike: slots, memory and compute of a device against what one more container wants.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "vgpualloc/model/device.hpp"

namespace vgpualloc::modes {

/// `slots`: as many containers as may share the device.
[[nodiscard]] inline rejection_detail why_no_slot(std::int64_t slots, const device_state& state) {
    if (state.slots < slots) return {};
    return {.code = rejection_code::insufficient_device_slots, .wanted = 1, .available = slots - state.slots};
}
[[nodiscard]] inline rejection_detail why_no_slot(const device_spec& device, const device_state& state) {
    return why_no_slot(device.slots, state);
}

/// The state with one more user of so much, or one less.
[[nodiscard]] inline device_state with_slice(const device_state& state, const slice& part) {
    return {.memory = state.memory + part.memory,
            .cores = state.cores + part.cores,
            .slots = state.slots + 1,
            .layout = state.layout};
}
[[nodiscard]] inline device_state without_slice(const device_state& state, const slice& part) {
    return {.memory = state.memory - part.memory,
            .cores = state.cores - part.cores,
            .slots = state.slots - 1,
            .layout = state.layout};
}

[[nodiscard]] inline rejection_detail why_no_memory(const device_spec& device, const device_state& state, mib memory) {
    const mib left = device.memory - state.memory;
    if (memory <= left) return {};
    return {.code = rejection_code::insufficient_device_memory, .wanted = memory.count(), .available = left.count()};
}

[[nodiscard]] inline rejection_detail why_no_cores(const device_spec& device, const device_state& state,
                                                   core_percent cores) {
    const core_percent left = device.cores - state.cores;
    if (cores <= left) return {};
    return {.code = rejection_code::insufficient_device_cores, .wanted = cores.count(), .available = left.count()};
}

/// HAMi's and Volcano's two rules about full compute: a container that asks for all of it joins nobody, and one that
/// asks for no share does not join a device whose compute is all given out.
[[nodiscard]] inline rejection_detail why_not_join(const device_spec& device, const device_state& state,
                                                   core_percent cores) {
    if (cores == device.cores && state.slots > 0) {
        return {.code = rejection_code::device_in_use, .wanted = 0, .available = state.slots};
    }
    if (cores == core_percent{0} && state.cores == device.cores) {
        return {.code = rejection_code::device_taken_whole, .wanted = 1, .available = 0};
    }
    return {};
}

/// The first of the answers that is a refusal.
[[nodiscard]] inline rejection_detail first_refusal(std::initializer_list<rejection_detail> answers) {
    for (const rejection_detail& answer : answers) {
        if (answer.code != rejection_code::none) return answer;
    }
    return {};
}

} // namespace vgpualloc::modes
