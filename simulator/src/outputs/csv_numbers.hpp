// Numbers as the CSV files have them, appended without a temporary string for each.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>

#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

inline void append_number(std::string& out, std::int64_t value) {
    std::array<char, 24> digits;
    const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

/// A comma and a number, in one append.
inline void append_cell(std::string& out, std::int64_t value) {
    std::array<char, 24> cell;
    cell[0] = ',';
    const char* const end = std::to_chars(cell.data() + 1, cell.data() + cell.size(), value).ptr;
    out.append(cell.data(), static_cast<std::size_t>(end - cell.data()));
}

/// A non-negative number given in units of 10^-Digits, with all its digits.
template <std::size_t Digits>
void append_fixed(std::string& out, std::int64_t scaled) {
    std::int64_t scale = 1;
    for (std::size_t i = 0; i < Digits; ++i) scale *= 10;
    std::array<char, 24 + Digits + 1> number;
    char* end = std::to_chars(number.data(), number.data() + number.size(), scaled / scale).ptr;
    *end = '.';
    std::int64_t rest = scaled % scale;
    for (std::size_t i = Digits; i > 0; --i) {
        end[i] = static_cast<char>('0' + rest % 10);
        rest /= 10;
    }
    end += 1 + Digits;
    out.append(number.data(), static_cast<std::size_t>(end - number.data()));
}

/// Seconds, with a fraction only where there is one.
inline void append_time(std::string& out, ticks time) {
    const std::int64_t per_second = ticks_per_second.count();
    if (time.count() % per_second == 0) {
        append_number(out, time.count() / per_second);
        return;
    }
    if (time.count() < 0) out += '-';
    append_fixed<6>(out, time.count() < 0 ? -time.count() : time.count());
}

} // namespace vgpusim
