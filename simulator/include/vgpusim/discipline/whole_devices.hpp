// Requests that can be counted in devices: whoever gets a device has it for itself.
#pragma once

#include "vgpualloc/model/cluster.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// Whether a device of any kind that could serve the container serves nobody else then.
[[nodiscard]] bool takes_whole_devices(const vgpualloc::device_request& container,
                                       const vgpualloc::device_kinds& kinds);

/// Whether the pod has at most one container that asks for devices, and takes any that fit.
[[nodiscard]] bool takes_any_device(const pod_request& request) noexcept;

} // namespace vgpusim
