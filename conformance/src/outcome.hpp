// What native is held to of a recorded event: fit, node, devices, MIG slot or template, and what is booked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recording.hpp"
#include "vgpuconformance/conformance.hpp"

namespace vgpuconformance {

/// One device's part in the answer to one container that asks for devices.
struct taken_part {
    std::int64_t container = 0; ///< among those with a part
    std::int64_t device = 0;
    std::string cut;         ///< MIG `group-position`, NPU template, else empty
    std::int64_t memory = 0; ///< asked for, rounded by the template; 0 where the recording has none
    std::int64_t cores = 0;

    bool operator==(const taken_part&) const = default;
};

/// What is booked on one device.
struct booked_use {
    std::int64_t slots = 0;
    std::int64_t memory = 0; ///< 310P: AI CPUs
    std::int64_t cores = 0;

    bool operator==(const booked_use&) const = default;
};
using booked_devices = std::map<std::int64_t, booked_use>; ///< by device index

struct outcome {
    std::vector<bool> fits; ///< per node; empty for events that decide nothing
    std::int64_t chosen = -1;
    bool allocated = false;
    std::vector<taken_part> parts;
    std::optional<booked_devices> session; ///< of the chosen node
    std::optional<booked_devices> cache;

    bool operator==(const outcome&) const = default;
};

/// Of an event as recorded, or as the model of Volcano answers it.
[[nodiscard]] outcome outcome_of(const event_result& result, const std::string& family);

/// The first place in which two outcomes differ, in words; case and event are left to the caller.
[[nodiscard]] event_difference difference_between(const outcome& recorded, const outcome& decided);

} // namespace vgpuconformance
