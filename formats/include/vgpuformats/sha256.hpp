// SHA-256 of inputs and downloads, lower-case hexadecimal.
#pragma once

#include <string>
#include <string_view>

namespace vgputraces {

[[nodiscard]] std::string sha256_hex(std::string_view bytes);

} // namespace vgputraces
