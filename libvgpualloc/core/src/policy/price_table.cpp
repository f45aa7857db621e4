// Prices that need no solver.
#include "vgpualloc/policy/price_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "vgpualloc/policy/weighed_requests.hpp"

namespace vgpualloc {

using policies::is_served;
using policies::size_on;

namespace {

/// Whether the models that a request names keep it from a kind of device in the cluster that would serve it.
bool is_kept_away(const device_request& request, const cluster& nodes) {
    if (!request.names_models()) return false;
    const device_request any = without_models(request);
    return std::ranges::any_of(
        nodes.kinds, [&](const device_spec& device) { return is_served(device, any) && !is_served(device, request); });
}

/// Milli-GPU of one device that a request takes; 0 if no kind of device takes it.
std::int64_t milli_of(const device_request& request, const cluster& nodes) {
    for (const device_spec& kind : nodes.kinds) {
        if (is_served(kind, request)) return size_on(kind, request).count();
    }
    return 0;
}

/// An amount for each GPU's worth of a demand; 0 if there is none.
double per_gpu(double amount, double milli) noexcept {
    constexpr double amount_max = 1e12; // beyond any host
    return milli > 0.0 ? std::min(amount * static_cast<double>(whole_gpu.count()) / milli, amount_max) : 0.0;
}

/// Whether devices are short of CPU: price_table::cpu_scarce. `without_devices` is the milli-CPU that pods without
/// devices ask for, per device's worth of the others.
bool is_cpu_scarce(const cluster& nodes, double cpu_per_gpu, double without_devices) {
    if (cpu_per_gpu <= 0.0) return false;
    double spare = 0.0;
    double lacking = 0.0;
    double devices = 0.0;
    for (const node& node : nodes.nodes) {
        const auto count = static_cast<double>(node.devices.size());
        const double beyond = static_cast<double>(node.cpu.count()) - count * cpu_per_gpu;
        (beyond > 0.0 ? spare : lacking) += std::abs(beyond);
        devices += count;
    }
    lacking += std::max(without_devices * devices - spare, 0.0);
    return lacking > 0.03 * cpu_per_gpu * devices;
}

} // namespace

bool price_table::device_prices::is_of(const device_spec& device) const {
    return model == device.model && mode == device.mode->name() && memory == device.memory && cores == device.cores;
}

price_table::device_prices& price_table::entry_of(const device_spec& device) {
    const auto known = std::ranges::find_if(devices, [&](const device_prices& prices) { return prices.is_of(device); });
    if (known != devices.end()) return *known;
    devices.push_back({.model = device.model,
                       .mode = std::string{device.mode->name()},
                       .memory = device.memory,
                       .cores = device.cores});
    return devices.back();
}

pod_size size_of(milli_cpu cpu, std::span<const device_request> containers, const cluster& nodes) {
    pod_size result{.cpu = cpu.count()};
    for (const device_request& container : containers) {
        const std::int64_t taken = container.count * milli_of(container, nodes);
        result.milli += taken;
        if (container.count > 0) result.has_devices = true;
        if (is_kept_away(container, nodes)) result.kept_away += taken;
    }
    return result;
}

std::int64_t sized_demand::cpu_per_gpu() const noexcept { return static_cast<std::int64_t>(per_gpu(cpu, milli)); }

price_table prices_of(const sized_demand& demand, const cluster& nodes) {
    const double without_devices = per_gpu(demand.cpu_without_devices, demand.milli);
    return {.devices = {},
            .cpu_per_gpu = demand.cpu_per_gpu(),
            .models_named = demand.kept_away > 0.01 * demand.milli,
            .cpu_scarce = is_cpu_scarce(nodes, per_gpu(demand.cpu, demand.milli), without_devices)};
}

price_table prices_by_size(const workload& demand, const cluster& nodes) {
    sized_demand sums;
    for (const typical_request& pod : demand.typical) {
        const double weight = pod.weight > 0 ? static_cast<double>(pod.weight) : pod.frequency;
        sums.add(size_of(pod.cpu, pod.containers, nodes), weight);
    }
    return prices_of(sums, nodes);
}

std::shared_ptr<const price_book> book_by_size(const workload& demand, const cluster& nodes) {
    auto book = std::make_shared<price_book>();
    book->replace(prices_by_size(demand, nodes));
    return book;
}

} // namespace vgpualloc
