// Amounts in the words of `why`.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace vgpuops::why {

/// 48000 is "48", 3200 is "3.2".
[[nodiscard]] inline std::string thousandths(std::int64_t milli) {
    std::string digits = fmt::format("{}.{:03}", milli / 1000, milli % 1000);
    while (digits.ends_with('0')) digits.pop_back();
    if (digits.ends_with('.')) digits.pop_back();
    return digits;
}

} // namespace vgpuops::why
