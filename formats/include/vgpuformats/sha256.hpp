// SHA-256 of inputs and downloads, as 64 lower-case hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

#include "vgpualloc/core/expected.hpp"

namespace vgpuformats {

[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// Of a file of any size, read in pieces. Error io.
[[nodiscard]] vgpualloc::expected<std::string> sha256_of_file(const std::string& path);

} // namespace vgpuformats
