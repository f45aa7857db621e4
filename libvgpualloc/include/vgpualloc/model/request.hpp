// What a pod asks for.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "vgpualloc/core/units.hpp"

namespace vgpualloc {

/// What one container asks of accelerators. Amounts are per device.
struct device_request {
    std::int64_t count = 0;          ///< different devices wanted; 0 = none
    mib memory;                      ///< device memory; 0 = see memory_percent
    std::int64_t memory_percent = 0; ///< of the device's memory; used when `memory` is 0; 0 in both = all of it
    core_percent cores;              ///< 0 = no limit asked for
    std::vector<std::string> models; ///< acceptable device models; empty = any
    std::string mode;                ///< wanted sharing mode; empty = any

    std::strong_ordering operator<=>(const device_request&) const = default;
    bool operator==(const device_request&) const = default;
};

/// A pod as the allocator sees it: host resources of the whole pod, devices per container.
struct pod_request {
    milli_cpu cpu;
    mib memory;
    std::vector<device_request> containers; ///< only those that ask for devices

    std::strong_ordering operator<=>(const pod_request&) const = default;
    bool operator==(const pod_request&) const = default;
};

/// One typical request of a workload and how often it occurs.
struct typical_request {
    milli_cpu cpu;
    std::vector<device_request> containers;
    double frequency = 0.0;  ///< 0 to 1; the list's frequencies add up to about 1
    std::int64_t weight = 0; ///< the frequency as a whole number, such as a count of pods; 0 = taken from the frequency
};

/// The workload a cluster is expected to see. The order of the list is the order of floating-point accumulation.
struct workload {
    std::vector<typical_request> typical;
};

} // namespace vgpualloc
