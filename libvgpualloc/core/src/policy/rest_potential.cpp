// The potential in whole numbers.
#include "vgpualloc/policy/rest_potential.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::policies {

namespace {

constexpr std::int64_t millionths = 1'000'000;
constexpr std::int64_t cpu_max = 1'000'000'000'000; ///< milli-CPU, beyond any host
/// Of the potential for a millionth of a GPU; 100, since cpu_rule::high_share is in hundredths.
constexpr std::int64_t points_per_millionth = 100;
constexpr double points_per_gpu = static_cast<double>(points_per_millionth * millionths);
constexpr double ties_per_point = 0x1p20; ///< steps of a tie for one of the potential; exact for losses below 64 GPUs

/// How much CPU the worth of a node's devices needs, in hundredths. Factors are of the workload's CPU per GPU.
struct cpu_rule {
    std::int64_t low;        ///< what most of the worth needs
    std::int64_t high;       ///< what the rest of the worth needs
    std::int64_t high_share; ///< that part of the worth
    std::int64_t rest;       ///< of an idle device's need: the rest of a device in use, for the same worth
    bool own_at_most;        ///< no need exceeds what the node itself has for each device
};
constexpr cpu_rule cpu_enough{.low = 95, .high = 150, .high_share = 1, .rest = 160, .own_at_most = true};
constexpr cpu_rule names_asked{.low = 95, .high = 95, .high_share = 0, .rest = 160, .own_at_most = false};
constexpr cpu_rule cpu_short{.low = 20, .high = 130, .high_share = 50, .rest = 100, .own_at_most = false};

const cpu_rule& rule_of(const price_table& table) {
    if (table.cpu_scarce) return cpu_short;
    return table.models_named ? names_asked : cpu_enough;
}

/// A worth as a part of that of an idle device, in millionths; where the product would overflow, to seven digits.
std::int64_t part_of_idle(std::int64_t worth, std::int64_t idle) {
    constexpr std::int64_t worth_max = std::numeric_limits<std::int64_t>::max() / millionths;
    return idle <= worth_max ? worth * millionths / idle : worth / (idle / millionths);
}

/// The part of a node's worth that its CPU can make use of. `cpu` is milli-CPU times a million.
std::int64_t usable(std::int64_t worth, std::int64_t need, std::int64_t cpu, std::int64_t cpu_per_gpu) {
    const std::int64_t served = cpu / cpu_per_gpu;
    if (served >= need) return worth;
    return worth * served / need; // of 1,024 devices less than 2 x 10^18
}

} // namespace

rest_potential::kind_prices rest_potential::prices_of(const device_spec& device) const {
    kind_prices result{.known = true};
    for (const price_table::device_prices& prices : book_->table.devices) {
        if (!prices.is_of(device)) continue;
        auto worths = rest_worths::make(device, prices.parts);
        if (!worths) break; // amounts that no table can hold
        result.worths = *std::move(worths);
        result.idle = std::max(prices.idle, result.worths->of({}));
        result.premium = prices.premium;
        break;
    }
    return result;
}

rest_potential::rest_sums rest_potential::worth_of(const device_view& device) {
    if (device.kind >= kinds_.size()) kinds_.resize(device.kind + std::size_t{1});
    kind_prices& prices = kinds_[device.kind];
    if (!prices.known) prices = prices_of(*device.spec);
    const std::int64_t free = device.free().count();
    rest_sums result{.worth = free * (millionths / whole_gpu.count()), .premium = 0, .squares = free * free};
    if (prices.idle > 0) {
        const std::int64_t worth = device.is_idle() ? prices.idle : prices.worths->of(device.state);
        result.worth = part_of_idle(worth, prices.idle);
    }
    result.premium = result.worth * prices.premium / 1000;
    result.need = device.is_idle() ? result.worth : result.worth * rule_of(book_->table).rest / 100;
    return result;
}

rest_potential::rest_sums rest_potential::sum_of(const device_config& config) {
    rest_sums sum{.worth = 0};
    for (const device_view* device : config.devices) {
        if (device->service != service_state::in_service) continue;
        const rest_sums rest = worth_of(*device);
        sum.worth += rest.worth;
        sum.premium += rest.premium;
        sum.need += rest.need;
        sum.squares += rest.squares;
    }
    return sum;
}

rest_potential::rest_sums rest_potential::sums_of(const device_config& config) {
    if (version_ != book_->version) {
        forget_ids();
        version_ = book_->version;
    }
    if (config.id == not_interned) return sum_of(config);
    if (config.id >= sums_.size()) sums_.resize(config.id + std::size_t{64});
    if (sums_[config.id].worth < 0) sums_[config.id] = sum_of(config);
    return sums_[config.id];
}

std::int64_t rest_potential::potential(const node_view& node) {
    const rest_sums sum = sums_of(*node.config);
    const std::int64_t uncapped = points_per_millionth * sum.premium + sum.squares * points_per_millionth / 5;
    const std::int64_t cpu_per_gpu = book_->table.cpu_per_gpu;
    if (cpu_per_gpu <= 0 || node.config->devices.empty()) return points_per_millionth * sum.worth + uncapped;
    const cpu_rule& rule = rule_of(book_->table);
    const std::int64_t own = node.cpu_capacity.count() / static_cast<std::int64_t>(node.config->devices.size());
    const auto needed = [&](std::int64_t factor) {
        const std::int64_t by_workload = cpu_per_gpu * factor / 100;
        const std::int64_t need = rule.own_at_most ? std::min(by_workload, own) : by_workload;
        return std::max<std::int64_t>(need, 1);
    };
    const std::int64_t cpu = std::clamp<std::int64_t>(node.cpu_left.count(), 0, cpu_max) * millionths;
    const std::int64_t low = usable(sum.worth, sum.need, cpu, needed(rule.low));
    const std::int64_t high = usable(sum.worth, sum.need, cpu, needed(rule.high));
    return (points_per_millionth - rule.high_share) * low + rule.high_share * high + uncapped;
}

/// Steps by which a node comes after others that are as good: thousandths of a GPU's CPU that are left, less 300 for
/// each of its devices, because of nodes with as much CPU the one with more devices has less of it to spare. Any two
/// differ by less than one point of the potential.
std::int64_t rest_potential::tie(const node_view& node) const noexcept {
    if (book_->table.cpu_per_gpu <= 0 || book_->table.cpu_scarce) return 0;
    constexpr std::int64_t left_max = 500'000;
    constexpr std::int64_t per_device = 300;
    static_assert(left_max + per_device * devices_per_node_max < static_cast<std::int64_t>(ties_per_point));
    const std::int64_t left = std::clamp<std::int64_t>(node.cpu_left.count(), 0, cpu_max) * 1000;
    const auto devices = static_cast<std::int64_t>(node.config->devices.size());
    return std::min(left / book_->table.cpu_per_gpu, left_max) - per_device * devices;
}

double rest_potential::gain(const request_view& request, const node_view& before, const node_view& after) {
    return gain_from(potential(before), request, after);
}

double rest_potential::gain_from(std::int64_t potential_before, const request_view& request, const node_view& after) {
    const auto gained = static_cast<double>(potential(after) - potential_before);
    const double behind = request.devices > 0 ? static_cast<double>(tie(after)) / ties_per_point : 0.0;
    return (gained - behind) / points_per_gpu;
}

double rest_potential::worth(const node_view& node) { return static_cast<double>(potential(node)) / points_per_gpu; }

} // namespace vgpualloc::policies
