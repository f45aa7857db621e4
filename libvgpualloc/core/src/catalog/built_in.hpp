// The data files of this library as documents (libvgpualloc/data), which are embedded in it.
#pragma once

#include "vgpuformats/document.hpp"

namespace vgpualloc::built_in {

[[nodiscard]] vgpuformats::document mig_profiles();
[[nodiscard]] vgpuformats::document ascend_templates();
[[nodiscard]] vgpuformats::document device_power();
[[nodiscard]] vgpuformats::document mps_limits();

} // namespace vgpualloc::built_in
