#include "vgpusim/discipline/whole_devices.hpp"

#include <vector>

namespace vgpusim {

bool takes_whole_devices(const vgpualloc::device_request& container, const vgpualloc::device_kinds& kinds) {
    std::vector<vgpualloc::partition> parts;
    for (const auto& spec : kinds.kinds) {
        if (vgpualloc::why_never(spec, container) != rejection_code::none) continue;
        parts.clear();
        spec.mode->candidates(spec, {}, container, parts);
        for (const auto& part : parts) {
            if (spec.mode->used(spec, spec.mode->with(spec, {}, part)) < whole_gpu) return false;
        }
    }
    return true;
}

bool takes_any_device(const pod_request& request) noexcept {
    if (request.containers.size() > 1 || request.names_devices()) return false;
    return request.containers.empty() || !request.containers.front().pair;
}

} // namespace vgpusim
