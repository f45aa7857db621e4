// What the reference builds for one question to one node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "alloc/reference.hpp"

namespace vgpualloc {

/// The device with one more part given out.
[[nodiscard]] inline device_view with_part(device_view device, const partition& part) {
    device.state = device.spec->mode->with(*device.spec, device.state, part);
    device.used = device.spec->mode->used(*device.spec, device.state);
    device.id = not_interned;
    return device;
}

struct reference_allocator::node_state {
    node_index node;
    milli_cpu cpu_capacity;
    milli_cpu cpu_left;
    std::vector<device_view> devices; ///< by index

    [[nodiscard]] node_state with(std::size_t index, const partition& part) const {
        node_state result = *this;
        result.devices[index] = with_part(result.devices[index], part);
        return result;
    }
};

struct reference_allocator::step {
    std::size_t index = 0;
    partition part;
    int compromise = 0;
    std::int64_t unit_rank = 0; ///< vgpualloc::unit_rank()
    double device_score = 0.0;
    double node_score = 0.0;
};

struct reference_allocator::choice {
    node_state state; ///< with what was chosen so far
    small_vector<device_share, 1> shares{};
    std::vector<device_view> taken{};  ///< per share
    std::vector<device_view> became{}; ///< per share
    int compromise = 0;                ///< the largest of the shares'

    void take(std::size_t container, const step& next) {
        taken.push_back(state.devices[next.index]);
        shares.push_back({.container = static_cast<std::uint32_t>(container),
                          .device = device_index{next.index},
                          .part = next.part});
        state = state.with(next.index, next.part);
        became.push_back(state.devices[next.index]);
        compromise = std::max(compromise, next.compromise);
    }
};

struct reference_allocator::question {
    request_view view;
    node_state start;
    std::vector<bool> avoided; ///< by device; empty = none
    bool may_draw = false;
    bool positional = false; ///< the policies look at which device it is

    [[nodiscard]] const pod_request& request() const noexcept { return *view.request; }
};

/// A state with its totals, as policies see it.
struct reference_allocator::seen_state {
    std::vector<const device_view*> pointers;
    device_config config;
    node_view view;

    seen_state(const reference_allocator& owner, const node_state& state) {
        pointers.reserve(state.devices.size());
        for (const device_view& device : state.devices) {
            pointers.push_back(
                owner.states_ == nullptr ? &device : &owner.states_->device(device.kind, device.state, device.service));
        }
        if (owner.states_ == nullptr) {
            for (const device_view* device : pointers) add_to_totals(config, *device);
        } else {
            config = owner.states_->config(pointers);
        }
        view = {.node = state.node, .cpu_capacity = state.cpu_capacity, .cpu_left = state.cpu_left, .config = &config};
        // Positional policies and explanations find devices by index.
        config.devices = pointers;
    }
    seen_state(const seen_state&) = delete;
    seen_state& operator=(const seen_state&) = delete;
};

[[nodiscard]] inline std::int64_t count_devices(const pod_request& request) {
    std::int64_t sum = 0;
    for (const device_request& container : request.containers) sum += container.count;
    return sum;
}

} // namespace vgpualloc
