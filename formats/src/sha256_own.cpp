// SHA-256 in a build without OpenSSL.
#include "own_sha256.hpp"
#include "sha256_text.hpp"

namespace vgpuformats {

std::string sha256_hex(std::string_view bytes) { return hashed_bytes<own_sha256>(bytes); }

vgpualloc::expected<std::string> sha256_of_file(const std::string& path) { return hashed_file<own_sha256>(path); }

} // namespace vgpuformats
