// The configuration of NVIDIA's own device plugin (version: v1).
#pragma once

#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/dialect/nvidia.hpp"
#include "vgpuformats/cursor.hpp"

namespace vgpualloc::dialects {

/// Of the configuration what decides how many units a GPU has and which of them containers get.
[[nodiscard]] nvidia::options read_own_plugin(const vgpuformats::cursor& root, std::vector<error>& warnings);

} // namespace vgpualloc::dialects
