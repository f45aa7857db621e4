// Interning of device states and configurations.
#include "alloc/state_table.hpp"

#include <algorithm>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/core/hash.hpp"

namespace vgpualloc {

namespace {

/// A configuration's hash is the sum of its devices': order does not matter, and one device is swapped in O(1).
std::uint64_t hash_of(const device_view& device) noexcept { return hash_combine(device.id, 0); }

bool by_id(const device_view* a, const device_view* b) noexcept { return a->id < b->id; }

} // namespace

const device_view& state_table::device(std::uint32_t kind, const device_state& state, service_state service) {
    const auto equal = [&](std::uint32_t id) {
        const device_view& known = *devices_[id];
        return known.kind == kind && known.state == state && known.service == service;
    };
    const auto make = [&] {
        const device_spec& spec = cluster_->kinds[kind];
        const auto id = static_cast<std::uint32_t>(devices_.size());
        device_view* const added = device_room_.room_for(1);
        *added = {.spec = &spec,
                  .state = state,
                  .kind = kind,
                  .id = id,
                  .used = spec.mode->used(spec, state),
                  .service = service};
        devices_.push_back(added);
        return id;
    };
    const std::uint64_t of_kind = kind + (static_cast<std::uint64_t>(service) << 32U);
    return *devices_[device_ids_.find_or_insert(hash_combine(hash_value(state), of_kind), equal, make)];
}

const device_config& state_table::intern_sorted(std::span<const device_view* const> devices, std::uint64_t hash) {
    const auto equal = [&](std::uint32_t id) { return std::ranges::equal(configs_[id]->devices, devices); };
    const auto make = [&] {
        const device_view** const copies = pointer_room_.room_for(devices.size());
        std::ranges::copy(devices, copies);
        device_config* const added = config_room_.room_for(1);
        *added = {.id = static_cast<std::uint32_t>(configs_.size()),
                  .used = {},
                  .free = {},
                  .devices_free_whole = 0,
                  .devices = {copies, devices.size()}};
        for (const device_view* device : devices) add_to_totals(*added, *device);
        configs_.push_back(added);
        hashes_.push_back(hash);
        return added->id;
    };
    return *configs_[config_ids_.find_or_insert(hash, equal, make)];
}

const device_config& state_table::config(std::span<const device_view* const> devices) {
    sorted_.assign(devices.begin(), devices.end());
    std::ranges::sort(sorted_, by_id);
    std::uint64_t hash = 0;
    for (const device_view* device : sorted_) hash += hash_of(*device);
    return intern_sorted(sorted_, hash);
}

const device_config& state_table::replace(const device_config& config, const device_view& before,
                                          const device_view& after) {
    sorted_.assign(config.devices.begin(), config.devices.end());
    auto at = std::ranges::find(sorted_, &before);
    VGA_ASSERT(at != sorted_.end(), "the replaced device is part of the configuration");
    *at = &after;
    // One element is out of place: move it, the rest stays sorted.
    while (at != sorted_.begin() && by_id(*at, *(at - 1))) {
        std::iter_swap(at, at - 1);
        --at;
    }
    while (at + 1 != sorted_.end() && by_id(*(at + 1), *at)) {
        std::iter_swap(at, at + 1);
        ++at;
    }
    return intern_sorted(sorted_, hashes_[config.id] - hash_of(before) + hash_of(after));
}

void state_table::clear() {
    devices_.clear();
    configs_.clear();
    device_ids_.clear();
    config_ids_.clear();
    hashes_.clear();
    device_room_.rewind();
    config_room_.rewind();
    pointer_room_.rewind();
}

} // namespace vgpualloc
