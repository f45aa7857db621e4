// The library's version; CMakeLists.txt reads it from here.
#pragma once

#include <string_view>

namespace vgpualloc {

inline constexpr std::string_view version = "0.1.0";

} // namespace vgpualloc
