// Keeping the states of a group of nodes apart.
#include "alloc/state_buckets.hpp"

#include <algorithm>
#include <functional>

namespace vgpualloc {

void state_buckets::follow(const node_group& group, std::uint64_t generation) {
    if (generation != generation_ || changes_read_ < group.renumbered) {
        generation_ = generation;
        build(group);
    } else if (changes_read_ != group.changes) {
        seen_.resize(group.slots.size(), nullptr);
        for (std::uint32_t slot = group.newest; slot != no_slot; slot = group.slots[slot].older) {
            if (group.slots[slot].changed <= changes_read_) break;
            read_slot(group, slot);
        }
    }
    changes_read_ = group.changes;
}

void state_buckets::build(const node_group& group) {
    buckets_.clear();
    present_.clear();
    seen_.assign(group.slots.size(), nullptr);
    for (std::uint32_t slot = 0; slot < group.slots.size(); ++slot) read_slot(group, slot);
}

/// Devices of both configurations are sorted alike, so one walk finds what has left and what is new.
void state_buckets::read_slot(const node_group& group, std::uint32_t slot) {
    const device_config* const now = group.slots[slot].config;
    const device_config* const before = seen_[slot];
    if (now == before) return;
    seen_[slot] = now;
    constexpr std::span<const device_view* const> none{};
    const auto old_devices = before == nullptr ? none : before->devices;
    const auto new_devices = now == nullptr ? none : now->devices;
    const auto holds = [](std::span<const device_view* const> devices, const device_view* device) {
        return std::ranges::find(devices, device) != devices.end();
    };
    // Few devices differ; an equal one at the same position is the common case.
    for (std::size_t i = 0; i < new_devices.size(); ++i) {
        const device_view* const device = new_devices[i];
        if (i < old_devices.size() && old_devices[i] == device) continue;
        enter(*device, holds(old_devices, device) ? no_slot : slot);
    }
    for (std::size_t i = 0; i < old_devices.size(); ++i) {
        if (i < new_devices.size() && new_devices[i] == old_devices[i]) continue;
        leave(*old_devices[i]);
    }
}

/// One more device is in this state; `slot` is its node's, or no_slot if the node had one already.
void state_buckets::enter(const device_view& device, std::uint32_t slot) {
    if (device.id >= buckets_.size()) buckets_.resize(device.id + std::size_t{64});
    bucket& home = buckets_[device.id];
    home.device = &device;
    if (home.devices++ == 0) {
        home.position = static_cast<std::uint32_t>(present_.size());
        present_.push_back(device.id);
    }
    if (slot == no_slot) return;
    if (home.slots.size() > 2 * std::size_t{home.devices} + 64) { // most have left
        std::erase_if(home.slots, [&](std::uint32_t other) { return !has(other, device.id); });
        std::ranges::sort(home.slots);
        const auto repeated = std::ranges::unique(home.slots);
        home.slots.erase(repeated.begin(), repeated.end());
    }
    home.slots.push_back(slot);
    std::ranges::push_heap(home.slots, std::greater{});
}

void state_buckets::leave(const device_view& device) {
    bucket& home = buckets_[device.id];
    if (--home.devices > 0) return;
    const std::uint32_t last = present_.back();
    present_[home.position] = last;
    buckets_[last].position = home.position;
    present_.pop_back();
}

bool state_buckets::has(std::uint32_t slot, std::uint32_t id) const noexcept {
    const device_config* const config = seen_[slot];
    return config != nullptr &&
           std::ranges::any_of(config->devices, [id](const device_view* d) { return d->id == id; });
}

/// Of a state that is present.
std::uint32_t state_buckets::first_of(std::uint32_t id) {
    std::vector<std::uint32_t>& slots = buckets_[id].slots;
    while (!has(slots.front(), id)) {
        std::ranges::pop_heap(slots, std::greater{});
        slots.pop_back();
    }
    return slots.front();
}

} // namespace vgpualloc
