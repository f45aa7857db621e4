// Steps along the slope of the dual.
#include "vgpualloc/policy/price_descent.hpp"

#include <algorithm>
#include <utility>

#include "vgpualloc/packing/mode_packing.hpp"
#include "vgpualloc/policy/weighed_requests.hpp"

namespace vgpualloc {

namespace {

/// Cells or states of a knapsack, so that a step takes microseconds.
constexpr std::size_t states_max = 1024;

std::int64_t in_thousandths(double price) { return static_cast<std::int64_t>(price * 1000.0 + 0.5); }

} // namespace

/// The parts that ask for most, in the order of the list; prices of those that were there before stay.
void price_descent::take_parts(std::span<const weighted_part> parts) {
    std::vector<part> wanted;
    for (const weighted_part& of : parts) {
        device_request request = any_model_ ? without_models(of.request) : of.request;
        const auto known = std::ranges::find(wanted, request, &part::request);
        if (known != wanted.end()) {
            known->demand += of.weight;
        } else {
            wanted.push_back({.request = std::move(request), .demand = of.weight});
        }
    }
    constexpr std::size_t parts_max = 64;
    while (wanted.size() > parts_max) wanted.erase(std::ranges::min_element(wanted, {}, &part::demand));
    for (part& of : wanted) {
        const auto before = std::ranges::find(parts_, of.request, &part::request);
        if (before == parts_.end()) continue;
        of.price = before->price;
        of.mean = before->mean;
    }
    parts_ = std::move(wanted);
}

/// Devices are alike where the mode and all amounts are, and, where models count, the model and the family.
void price_descent::group_devices(const cluster& nodes) {
    groups_.clear();
    std::vector<double> devices(nodes.kinds.size(), 0.0);
    for (const node& of : nodes.nodes) {
        for (const device& each : of.devices) devices[each.kind] += 1.0;
    }
    devices_ = 0.0;
    for (std::size_t k = 0; k < devices.size(); ++k) {
        if (devices[k] == 0.0) continue;
        const device_spec& kind = nodes.kinds[k];
        const auto alike = std::ranges::find_if(groups_, [&](const device_group& group) {
            const device_spec& first = group.kinds.front();
            return first.mode == kind.mode && first.memory == kind.memory && first.cores == kind.cores &&
                   first.slots == kind.slots &&
                   (any_model_ || (first.model == kind.model && first.family == kind.family));
        });
        device_group& group = alike == groups_.end() ? groups_.emplace_back() : *alike;
        group.devices += devices[k];
        group.kinds.push_back(kind);
    }
}

/// Groups without a packing take no part: more states than a step can look at.
void price_descent::pack_groups() {
    for (device_group& group : groups_) {
        std::vector<device_request> requests;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const device_request& request = parts_[i].request;
            if (!policies::is_served(group.kinds.front(), request)) continue;
            const auto size = static_cast<double>(policies::size_on(group.kinds.front(), request).count());
            parts_[i].value = parts_[i].value == 0.0 ? size : std::min(parts_[i].value, size);
            group.parts.push_back(i);
            requests.push_back(request);
        }
        if (requests.empty()) continue;
        auto packing = packing_of_device(group.kinds.front(), requests, states_max, states_max);
        if (packing) group.packing = *std::move(packing);
    }
    std::erase_if(groups_, [](const device_group& group) { return group.packing == nullptr; });
    devices_ = 0.0;
    for (const device_group& group : groups_) devices_ += group.devices;
}

void price_descent::set_demand(std::span<const weighted_part> parts, const cluster& nodes) {
    take_parts(parts);
    group_devices(nodes);
    pack_groups();
    double worth = 0.0;
    for (part& of : parts_) worth += of.demand * of.value;
    if (worth <= 0.0) {
        groups_.clear();
        return;
    }
    const double scale = devices_ * static_cast<double>(whole_gpu.count()) / worth;
    for (part& of : parts_) of.demand *= scale;
}

std::vector<double> price_descent::worths_of(const device_group& group, double part::* price) const {
    std::vector<double> worths;
    worths.reserve(group.parts.size());
    for (const std::size_t number : group.parts) worths.push_back(parts_[number].value - parts_[number].*price);
    return worths;
}

void price_descent::step(std::int64_t steps) {
    if (groups_.empty()) return;
    constexpr double first_step = 50.0; ///< milli-GPU for all devices too much of a part
    constexpr double steps_to_half = 50.0;
    constexpr std::int64_t steps_max = 400; ///< beyond that steps stay as short, so that demand may change
    std::vector<double> excess;
    for (std::int64_t i = 0; i < steps; ++i) {
        steps_ = std::min(steps_ + 1, steps_max);
        excess.clear();
        for (const part& of : parts_) excess.push_back(-of.demand);
        for (const device_group& group : groups_) {
            for (const packed_part& packed : group.packing->best(worths_of(group, &part::price)).parts) {
                excess[group.parts[packed.part]] += group.devices * static_cast<double>(packed.count);
            }
        }
        const auto now = static_cast<double>(steps_);
        const double length = first_step / (1.0 + now / steps_to_half);
        const double of_mean = 2.0 / (now + 1.0);
        for (std::size_t t = 0; t < parts_.size(); ++t) {
            part& of = parts_[t];
            const double slope = excess[t] / std::max(of.demand, devices_);
            of.price = std::clamp(of.price + length * slope, 0.0, of.value);
            of.mean += of_mean * (of.price - of.mean);
        }
    }
}

std::vector<double> price_descent::thetas() const {
    std::vector<double> result;
    for (const device_group& group : groups_) {
        result.push_back(group.packing->best(worths_of(group, &part::mean)).worth);
    }
    return result;
}

void price_descent::put_prices(price_table& into) const {
    constexpr double theta_min = 50.0; // what costs less is not scarce
    const std::vector<double> theta = thetas();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        if (theta[g] < theta_min) continue;
        for (const device_spec& kind : groups_[g].kinds) {
            price_table::device_prices& entry = into.entry_of(kind);
            entry.idle = in_thousandths(theta[g]);
            entry.parts.clear();
            for (const std::size_t number : groups_[g].parts) {
                const part& of = parts_[number];
                const std::int64_t worth = in_thousandths(of.value - of.mean);
                if (worth > 0) entry.parts.push_back({.request = of.request, .worth = worth});
            }
        }
    }
}

void price_descent::put_premiums(price_table& into) const {
    const std::vector<double> theta = thetas();
    if (theta.empty()) return;
    const auto [least, most] = std::ranges::minmax(theta);
    if (most <= 0.0) return;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        for (const device_spec& kind : groups_[g].kinds) {
            into.entry_of(kind).premium = in_thousandths((theta[g] - least) / most);
        }
    }
}

} // namespace vgpualloc
