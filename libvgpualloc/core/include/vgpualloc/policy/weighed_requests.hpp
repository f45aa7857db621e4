// The device parts of a workload's typical requests with whole-number weights, and how many of each a device could
// take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpualloc/model/view.hpp"

namespace vgpualloc::policies {

/// More containers than that share no device; a mode's own limits are smaller.
inline constexpr std::int64_t further_max = 1024;

/// One device's worth of a request: equal ones are asked once, whatever pods they are in.
[[nodiscard]] inline device_request one_device_of(device_request request) {
    request.count = 1;
    request.units = 1;
    request.uuids_allowed.clear();
    request.uuids_denied.clear();
    request.memory_of_first = false;
    request.pair = false;
    return request;
}

/// Whether an idle device takes one device's worth of the request.
[[nodiscard]] inline bool is_served(const device_spec& device, const device_request& request) {
    return why_not(device, {}, service_state::in_service, request).code == rejection_code::none;
}

/// What one device's worth of a request takes of an idle device that serves it.
[[nodiscard]] inline milli_gpu size_on(const device_spec& device, const device_request& request) {
    std::vector<partition> parts;
    device.mode->candidates(device, {}, request, parts);
    return device.mode->used(device, device.mode->with(device, {}, parts.front()));
}

/// How many of these a device could take in a row, by its mode's first choices; 0 where it takes none at all.
[[nodiscard]] inline std::int64_t further_on(const device_view& device, const device_request& request) {
    if (device.service != service_state::in_service) return 0;
    if (why_never(*device.spec, request) != rejection_code::none) return 0;
    return device.spec->mode->further(*device.spec, device.state, request, further_max);
}

/// The distinct device requests of a workload. Weights add up to about `total`.
class weighed_requests {
public:
    static constexpr std::int64_t total = 1 << 14;

    struct entry {
        device_request request;
        std::int64_t weight = 0;
    };

    explicit weighed_requests(const workload& target) {
        double sum = 0.0;
        std::vector<double> frequencies;
        for (const typical_request& pod : target.typical) {
            for (const device_request& container : pod.containers) {
                if (container.count <= 0) continue;
                const double frequency = pod.frequency * static_cast<double>(container.count);
                const device_request wanted = one_device_of(container);
                const auto known = std::ranges::find(entries_, wanted, &entry::request);
                if (known == entries_.end()) {
                    entries_.push_back({.request = wanted});
                    frequencies.push_back(frequency);
                } else {
                    frequencies[static_cast<std::size_t>(known - entries_.begin())] += frequency;
                }
                sum += frequency;
            }
        }
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            entries_[i].weight = static_cast<std::int64_t>(frequencies[i] / sum * static_cast<double>(total) + 0.5);
        }
    }

    [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }

private:
    std::vector<entry> entries_;
};

} // namespace vgpualloc::policies
