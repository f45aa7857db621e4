// The two parts of a path.
#pragma once

#include <string>

namespace vgpuformats {

[[nodiscard]] inline std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

[[nodiscard]] inline std::string base_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

} // namespace vgpuformats
