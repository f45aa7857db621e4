#include "vgpualloc/metrics/stranded_slices.hpp"

#include <algorithm>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

stranded_slices::stranded_slices(const device_kinds& cluster) : kinds_(cluster.kinds.size()) {
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
        kinds_[kind].parts = cluster.kinds[kind].mode->placed();
        if (kinds_[kind].parts == nullptr) continue;
        for (const std::string& name : kinds_[kind].parts->placed_profiles()) {
            const auto known = std::ranges::find(profiles_, name);
            kinds_[kind].of_sums.push_back(static_cast<std::size_t>(known - profiles_.begin()));
            if (known == profiles_.end()) profiles_.push_back(name);
        }
    }
}

void stranded_slices::add(const device_view& device, std::span<std::int64_t> sums) {
    VGA_ASSERT(device.kind < kinds_.size(), "the device is of a kind that was there from the start");
    kind_profiles& kind = kinds_[device.kind];
    if (kind.of_sums.empty() || device.service != service_state::in_service) return;
    std::vector<std::int64_t>& stranded = kind.known[device.state.layout];
    if (stranded.empty()) {
        for (std::size_t profile = 0; profile < kind.of_sums.size(); ++profile) {
            stranded.push_back(kind.parts->stranded_slices(device.state, profile));
        }
    }
    for (std::size_t i = 0; i < stranded.size(); ++i) sums[kind.of_sums[i]] += stranded[i];
}

} // namespace vgpualloc
