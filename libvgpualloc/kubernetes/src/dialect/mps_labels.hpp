// What labels of GPU feature discovery say of MPS on a node.
#pragma once

#include <cstdint>

#include "vgpualloc/dialect/kubernetes.hpp"

namespace vgpualloc::dialects {

/// device_registration::clients_max of the node's GPUs: by nvidia.com/gpu.compute.major, and the CUDA version of
/// nvidia.com/cuda.runtime-version.major and .minor, or of nvidia.com/cuda.runtime.major and .minor, as older releases
/// have it. 0 where they do not say it.
[[nodiscard]] std::int64_t mps_clients_of(const kubernetes::node& node);

} // namespace vgpualloc::dialects
