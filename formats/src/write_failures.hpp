// Why files could not be written, from what the system says.
#pragma once

#include <string>
#include <string_view>

#include "vgpuformats/files.hpp"
#include "vgpuformats/posix_io.hpp"

namespace vgpuformats {

[[nodiscard]] tl::unexpected<write_failure> failed_to(std::string_view action, const std::string& path,
                                                      int error_number);

/// Makes `path` and its parents, as `folders` does.
[[nodiscard]] tl::expected<void, write_failure> create_folder(posix::created_folders& folders, const std::string& path);

/// That no folder was named; none where one was.
[[nodiscard]] tl::expected<void, write_failure> check_folder_name(const std::string& folder);

} // namespace vgpuformats
