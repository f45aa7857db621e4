#include "vgpusim/workload/requested.hpp"

#include <optional>
#include <tuple>
#include <vector>

#include "vgpualloc/model/device.hpp"

namespace vgpusim {

using vgpualloc::device_request;
using vgpualloc::device_spec;
using vgpualloc::milli_gpu;

namespace {

/// What one device's worth of the request takes of an idle device of that kind; nothing if it cannot serve it.
std::optional<milli_gpu> taken_of(const device_spec& spec, const device_request& request) {
    const auto refusal = vgpualloc::why_not(spec, {}, vgpualloc::service_state::in_service, request);
    if (refusal.code != vgpualloc::rejection_code::none) return std::nullopt;
    std::vector<vgpualloc::partition> parts;
    spec.mode->candidates(spec, {}, request, parts);
    if (parts.empty()) return std::nullopt;
    return spec.mode->used(spec, spec.mode->with(spec, {}, parts.front()));
}

std::optional<milli_gpu> taken_of_smallest(const vgpualloc::device_kinds& kinds, const device_request& request) {
    const device_spec* smallest = nullptr;
    std::optional<milli_gpu> taken;
    for (const device_spec& spec : kinds.kinds) {
        const bool is_smaller =
            smallest == nullptr || std::tie(spec.memory, spec.cores) < std::tie(smallest->memory, smallest->cores);
        if (!is_smaller) continue;
        if (const auto of_this = taken_of(spec, request)) {
            smallest = &spec;
            taken = of_this;
        }
    }
    return taken;
}

} // namespace

requested_amount requested_of(const vgpualloc::device_kinds& kinds, const vgpualloc::pod_request& request) {
    requested_amount result;
    for (const device_request& container : request.containers) {
        if (container.count == 0) continue;
        const auto per_device = taken_of_smallest(kinds, container);
        if (!per_device) result.can_be_served = false;
        result.milli += per_device.value_or(vgpualloc::whole_gpu) * container.count;
    }
    return result;
}

} // namespace vgpusim
