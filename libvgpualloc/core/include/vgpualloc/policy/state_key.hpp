// What policies remember of a device by: its kind, whether it is in service, and its state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vgpualloc/core/hash.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc::policies {

/// Devices with equal keys are alike to every policy.
struct state_key {
    std::uint32_t kind = 0; ///< position in device_kinds::kinds
    service_state service{};
    device_state state;

    bool operator==(const state_key&) const = default;
};

struct state_key_hash {
    [[nodiscard]] std::size_t operator()(const state_key& key) const noexcept {
        return hash_combine(hash_value(key.state), key.kind * 4U + static_cast<std::uint64_t>(key.service));
    }
};

} // namespace vgpualloc::policies
