// Numbers as the CSV files have them, appended without a temporary string for each.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>

#include "vgpualloc/core/units.hpp"

namespace vgpusim {

inline void append_number(std::string& out, std::int64_t value) {
    std::array<char, 24> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    out.append(buffer.data(), end);
}

/// A non-negative number given in units of 10^-Digits, with all its digits.
template <std::size_t Digits>
void append_fixed(std::string& out, std::int64_t scaled) {
    std::int64_t scale = 1;
    for (std::size_t i = 0; i < Digits; ++i) scale *= 10;
    append_number(out, scaled / scale);
    std::array<char, Digits + 1> digits{};
    digits[0] = '.';
    std::int64_t rest = scaled % scale;
    for (std::size_t i = Digits; i > 0; --i) {
        digits[i] = static_cast<char>('0' + rest % 10);
        rest /= 10;
    }
    out.append(digits.data(), digits.size());
}

/// Seconds, with a fraction only where there is one.
inline void append_time(std::string& out, vgpualloc::ticks time) {
    const std::int64_t per_second = vgpualloc::ticks_per_second.count();
    if (time.count() % per_second == 0) {
        append_number(out, time.count() / per_second);
        return;
    }
    if (time.count() < 0) out += '-';
    append_fixed<6>(out, time.count() < 0 ? -time.count() : time.count());
}

} // namespace vgpusim
