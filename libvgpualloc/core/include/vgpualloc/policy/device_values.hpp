// What policies have in common that give every device a value by its state and score a placement by how much the sum
// over the node's devices changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "vgpualloc/policy/policy.hpp"
#include "vgpualloc/policy/state_key.hpp"

namespace vgpualloc::policies {

/// A whole number per device, remembered by state.
class value_memo {
public:
    /// The value of a device: what `compute(device)` gives, asked once for every state of a kind.
    template <class Compute>
    [[nodiscard]] std::int64_t of_device(const device_view& device, Compute&& compute) {
        const state_key wanted{.kind = device.kind, .service = device.service, .state = device.state};
        const auto [at, is_new] = devices_.try_emplace(wanted, 0);
        if (is_new) at->second = compute(device);
        return at->second;
    }
    /// The sum over the devices of a node, remembered by the configuration's id.
    template <class Compute>
    [[nodiscard]] std::int64_t of_config(const device_config& config, Compute&& compute) {
        if (config.id == not_interned) return sum_over(config, compute);
        if (config.id >= configs_.size()) configs_.resize(config.id + std::size_t{64}, unknown);
        std::int64_t& kept = configs_[config.id];
        if (kept == unknown) kept = sum_over(config, compute);
        return kept;
    }
    /// Ids of configurations are given anew, or kinds of devices are another cluster's.
    void forget() {
        configs_.clear();
        devices_.clear();
    }

private:
    static constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::min();

    template <class Compute>
    [[nodiscard]] std::int64_t sum_over(const device_config& config, Compute& compute) {
        std::int64_t sum = 0;
        for (const device_view* device : config.devices) sum += of_device(*device, compute);
        return sum;
    }

    std::vector<std::int64_t> configs_; ///< by id
    std::unordered_map<state_key, std::int64_t, state_key_hash> devices_;
};

/// What a device has free, in units of its placement grid; devices whose parts lie at no places have a thousand units.
struct free_amount {
    std::int64_t free = 0;
    std::int64_t all = 1000;

    [[nodiscard]] std::int64_t in_thousandths() const noexcept { return free * 1000 / all; }
    /// The square of what is used, of 64 units: its growth is larger the fuller the device was.
    [[nodiscard]] std::int64_t fullness() const noexcept {
        const std::int64_t used = (all - free) * 64 / all;
        return used * used;
    }
};
[[nodiscard]] inline free_amount free_amount_of(const device_view& device, const slot_shape& shape,
                                                const free_slots& free) noexcept {
    if (shape.units == 0) return {.free = device.free().count(), .all = whole_gpu.count()};
    return {.free = free.free_units, .all = shape.units};
}

/// The device as places for parts; empty where its parts lie nowhere.
[[nodiscard]] inline slot_shape slots_of(const device_view& device) {
    const placed_parts* const placed = device.spec->mode->placed();
    return placed != nullptr ? placed->slots() : slot_shape{};
}
/// What its state leaves of them.
[[nodiscard]] inline free_slots free_slots_of(const device_view& device) {
    free_slots free;
    if (const placed_parts* const placed = device.spec->mode->placed()) placed->list_free_slots(device.state, free);
    return free;
}

/// The free starts of the profiles that requests by memory get, together.
[[nodiscard]] inline std::int64_t plain_starts(const slot_shape& shape, const free_slots& free) noexcept {
    std::int64_t starts = 0;
    for (std::size_t p = 0; p < shape.profiles.size(); ++p) {
        if (shape.profiles[p].plain) starts += free.free_starts[p];
    }
    return starts;
}

/// Scores by Policy::value_of(device, shape, free), a whole number that is better the larger it is. Of placements that
/// change the sum of values alike, that on the fullest device wins, and then the one that leaves the most starts for
/// further parts (this way of breaking ties helps every policy that goes by tables). Policy::scale is what a difference
/// of values is divided by, so that scores are of the order of 1.
template <class Policy>
class device_value_policy : public policy {
public:
    [[nodiscard]] double node_score(const request_view&, const node_view& before, const node_view& after) final {
        const auto value = [this](const device_view& device) { return with_ties(device); };
        const std::int64_t change = memo_.of_config(*after.config, value) - memo_.of_config(*before.config, value);
        return static_cast<double>(change) / (static_cast<double>(tie_range) * static_cast<Policy&>(*this).scale());
    }
    [[nodiscard]] double device_score(const request_view& request, const node_view& before, const node_view& after,
                                      const step_view&) final {
        return node_score(request, before, after);
    }
    [[nodiscard]] policy_traits traits() const noexcept final { return {.device_score_is_node_score = true}; }
    void forget_ids() final { memo_.forget(); }

private:
    /// Above what ties can add up to on one device: 64 x 64 for fullness, times 64 starts.
    static constexpr std::int64_t tie_range = std::int64_t{1} << 20;

    [[nodiscard]] std::int64_t with_ties(const device_view& device) {
        const slot_shape shape = slots_of(device);
        const free_slots free = free_slots_of(device);
        return static_cast<Policy&>(*this).value_of(device, shape, free) * tie_range +
               free_amount_of(device, shape, free).fullness() * 64 + plain_starts(shape, free);
    }

    value_memo memo_;
};

} // namespace vgpualloc::policies
