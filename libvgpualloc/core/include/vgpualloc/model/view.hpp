// What a policy sees of a node and its devices: states and totals, nothing that names a mode or a spelling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc {

/// Marks a view that is not interned: it may not be remembered by its id.
inline constexpr std::uint32_t not_interned = std::numeric_limits<std::uint32_t>::max();

/// A device of a kind in a state. Equal id, equal content, as long as the id is not `not_interned`.
struct device_view {
    const device_spec* spec = nullptr;
    device_state state{};
    std::uint32_t kind = 0; ///< position in device_kinds::kinds
    std::uint32_t id = not_interned;
    milli_gpu used{};
    service_state service = service_state::in_service;

    [[nodiscard]] milli_gpu free() const noexcept { return whole_gpu - used; }
    [[nodiscard]] bool is_idle() const noexcept { return state == device_state{}; }
};

[[nodiscard]] inline rejection_detail why_not(const device_view& device, const device_request& request) {
    return why_not(*device.spec, device.state, device.service, request);
}

/// The devices of a node as a multiset, in an order without meaning, with their totals.
struct device_config {
    std::uint32_t id = not_interned;
    milli_gpu used{};
    milli_gpu free{};
    std::int64_t devices_free_whole = 0; ///< devices with nothing used
    std::span<const device_view* const> devices{};

    [[nodiscard]] milli_gpu total() const noexcept { return used + free; }
};

/// A node before or after a placement. Host memory and the pod limit decide feasibility only; policies do not see them.
struct node_view {
    node_index node;
    milli_cpu cpu_capacity;
    milli_cpu cpu_left;
    const device_config* config = nullptr;
};

/// One possible step of a placement: one device of one node changes.
struct step_view {
    const device_view* before = nullptr; ///< null for a pod without devices
    const device_view* after = nullptr;
    std::size_t index = 0; ///< of the device; only for policies that look at positions
};

/// Adds a device to a configuration's totals.
inline void add_to_totals(device_config& config, const device_view& device) noexcept {
    config.used += device.used;
    config.free += device.free();
    if (device.is_idle()) ++config.devices_free_whole;
}

/// The totals of `config` with one `before` replaced by `after`; id and devices are not filled in.
[[nodiscard]] inline device_config totals_after(const device_config& config, const device_view& before,
                                                const device_view& after) noexcept {
    device_config result;
    result.used = config.used - before.used + after.used;
    result.free = config.free + before.used - after.used;
    result.devices_free_whole =
        config.devices_free_whole + static_cast<int>(after.is_idle()) - static_cast<int>(before.is_idle());
    return result;
}

} // namespace vgpualloc
