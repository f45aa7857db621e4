// Prices that need no solver.
#include "vgpualloc/policy/price_table.hpp"

#include <algorithm>
#include <cstddef>

#include "vgpualloc/model/device.hpp"

namespace vgpualloc {

namespace {

/// Milli-GPU of one device that a request takes; 0 if no kind of device takes it.
std::int64_t milli_of(const device_request& request, const cluster& nodes) {
    std::vector<partition> parts;
    for (std::size_t i = 0; i < nodes.kinds.size(); ++i) {
        const device_spec& spec = nodes.kinds[i];
        if (why_not(spec, {}, service_state::in_service, request).code != rejection_code::none) continue;
        spec.mode->candidates(spec, {}, request, parts);
        return spec.mode->used(spec, spec.mode->with(spec, {}, parts.front())).count();
    }
    return 0;
}

} // namespace

bool price_table::device_prices::is_of(const device_spec& device) const {
    return model == device.model && mode == device.mode->name() && memory == device.memory && cores == device.cores;
}

price_table prices_by_size(const workload& demand, const cluster& nodes) {
    double cpu = 0.0;
    double milli = 0.0;
    bool models_named = false;
    for (const typical_request& pod : demand.typical) {
        models_named = models_named || std::ranges::any_of(pod.containers, &device_request::names_models);
        const double weight = pod.weight > 0 ? static_cast<double>(pod.weight) : pod.frequency;
        std::int64_t of_pod = 0;
        for (const device_request& container : pod.containers) of_pod += container.count * milli_of(container, nodes);
        if (of_pod == 0) continue;
        milli += weight * static_cast<double>(of_pod);
        cpu += weight * static_cast<double>(pod.cpu.count());
    }
    constexpr double cpu_max = 1e12; // per GPU; beyond any host
    const double cpu_per_gpu =
        milli > 0.0 ? std::min(cpu * static_cast<double>(whole_gpu.count()) / milli, cpu_max) : 0.0;
    return {.devices = {}, .cpu_per_gpu = static_cast<std::int64_t>(cpu_per_gpu), .models_named = models_named};
}

std::shared_ptr<const price_book> book_by_size(const workload& demand, const cluster& nodes) {
    auto book = std::make_shared<price_book>();
    book->replace(prices_by_size(demand, nodes));
    return book;
}

} // namespace vgpualloc
