// A build without OpenSSL.
#include "vgpuformats/sha256.hpp"

namespace vgpuformats {

std::optional<std::string> sha256_hex(std::string_view /*bytes*/) { return std::nullopt; }

vgpualloc::expected<std::string> sha256_of_file(const std::string& path) {
    return vgpualloc::unexpected(
        bad_value(vgpualloc::error_code::unsupported, "sha256", "", "a build with OpenSSL").at(path));
}

} // namespace vgpuformats
