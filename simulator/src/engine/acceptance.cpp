#include "vgpusim/engine/acceptance.hpp"

#include <algorithm>
#include <bit>

namespace vgpusim {

namespace {

constexpr auto ticks_in_second = static_cast<double>(ticks_per_second.count());

} // namespace

std::size_t size_of_units(std::int64_t units, std::int64_t whole) noexcept {
    const auto doublings = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(units / whole)));
    return std::min(doublings, gpu_sizes.size() - 1);
}

double accepted_size::accepted_ratio() const noexcept {
    return arrived > 0 ? static_cast<double>(accepted) / static_cast<double>(arrived) : 1.0;
}

std::optional<double> accepted_size::wait_mean_s() const noexcept {
    if (accepted == 0) return std::nullopt;
    return static_cast<double>(waited_ticks) / static_cast<double>(accepted) / ticks_in_second;
}

void acceptance::count(std::int64_t units, bool is_accepted, ticks wait) {
    const auto add = [&](accepted_size& counts) {
        ++counts.arrived;
        if (!is_accepted) return;
        ++counts.accepted;
        counts.waited_ticks += wait.count();
    };
    add(pods);
    if (units <= 0) return;
    add(by_size[size_of_units(units, whole)]);
    arrived_units += units;
    if (!is_accepted) return;
    accepted_units += units;
    waited_gpu_s += gpus_of(units) * (static_cast<double>(wait.count()) / ticks_in_second);
}

double acceptance::gpu_ratio() const noexcept {
    return arrived_units > 0 ? static_cast<double>(accepted_units) / static_cast<double>(arrived_units) : 1.0;
}

std::optional<double> acceptance::gpu_wait_mean_s() const noexcept {
    return accepted_units > 0 ? std::optional{waited_gpu_s / accepted_gpus()} : std::nullopt;
}

} // namespace vgpusim
