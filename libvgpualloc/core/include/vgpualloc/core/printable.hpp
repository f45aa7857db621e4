// Text of somebody else's as it may be shown: nothing in it can steer a terminal, begin a line or turn the reading
// direction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "vgpualloc/core/utf8.hpp"

namespace vgpualloc {

namespace detail {

/// Characters that are not seen, and change how the text around them is: controls (also of Latin-1, which terminals
/// obey in UTF-8 too), marks of width and direction, line and paragraph separators.
[[nodiscard]] constexpr bool steers(std::uint32_t code) noexcept {
    return code < 0x20U || (code >= 0x7FU && code <= 0x9FU) || code == 0x61CU || (code >= 0x200BU && code <= 0x200FU) ||
           (code >= 0x2028U && code <= 0x202EU) || (code >= 0x2060U && code <= 0x206FU) || code == 0xFEFFU;
}

inline void append_hex(std::string& to, std::uint32_t value, int digits) {
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) to += "0123456789abcdef"[(value >> shift) & 15U];
}

} // namespace detail

/// The text with visible escapes in place of what is not to reach a terminal: \x1b for a control of ASCII and for a
/// byte that is no UTF-8, \u202e for another character that is not seen. The result is one line, and a result is its
/// own result.
[[nodiscard]] inline std::string printable(std::string_view text) {
    if (std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; })) return std::string{text};
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        const utf8_character next = first_character(text);
        const std::size_t length = next.length == 0 ? 1 : next.length;
        if (next.length != 0 && !detail::steers(next.code)) {
            result += text.substr(0, length);
        } else if (length == 1) {
            result += "\\x";
            detail::append_hex(result, static_cast<unsigned char>(text.front()), 2);
        } else {
            result += "\\u";
            detail::append_hex(result, next.code, 4);
        }
        text.remove_prefix(length);
    }
    return result;
}

/// At most so many bytes from the beginning of a text, without a part of a character at the end.
[[nodiscard]] inline std::string_view beginning_of(std::string_view text, std::size_t bytes_max) noexcept {
    if (text.size() <= bytes_max) return text;
    constexpr std::size_t character_bytes_max = 4;
    std::size_t end = bytes_max;
    while (end > 0 && bytes_max - end < character_bytes_max && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
        --end;
    return text.substr(0, end);
}

} // namespace vgpualloc
