// The library's version; cmake/VgaLayer.cmake reads it from here.
#pragma once

#include <string_view>

namespace vgpualloc {

inline constexpr std::string_view version = "0.1.0";

} // namespace vgpualloc
