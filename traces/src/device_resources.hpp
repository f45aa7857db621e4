// Resources of pods that are devices: their names, and which of them count as GPUs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vgputraces {

/// Whether dialects read the resource of a pod as one of devices: "nvidia.com/mig-1g.10gb", "volcano.sh/vgpu-memory".
[[nodiscard]] bool is_device_resource(std::string_view resource);

/// Whether a unit of the resource is a GPU, an instance or a share of one; the others are amounts of memory and
/// compute.
[[nodiscard]] bool counts_as_gpus(std::string_view resource);

/// The resource that kube-state-metrics calls so in a label, with '_' for what labels of Prometheus do not take:
/// "nvidia.com/gpu.shared" of "nvidia_com_gpu_shared". Absent: it is none of devices.
[[nodiscard]] std::optional<std::string> device_resource_of_label(std::string_view label);

} // namespace vgputraces
