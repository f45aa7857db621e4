// Characters of UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vgpualloc {

struct utf8_character {
    std::uint32_t code = 0;
    std::size_t length = 0; ///< in bytes; 0: the text does not begin with a character of UTF-8
};

/// The character that a text, which is not empty, begins with. Overlong forms, surrogates and what is beyond Unicode
/// are none.
[[nodiscard]] inline utf8_character first_character(std::string_view text) noexcept {
    const auto byte = [text](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
    const std::uint32_t lead = byte(0);
    if (lead < 0x80U) return {lead, 1};
    const std::size_t length = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : 2;
    if (lead < 0xC2U || lead > 0xF4U || text.size() < length) return {};
    std::uint32_t code = lead & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return {};
        code = (code << 6U) | (byte(i) & 0x3FU);
    }
    const bool overlong = (length == 3 && code < 0x800U) || (length == 4 && code < 0x10000U);
    const bool surrogate = code >= 0xD800U && code <= 0xDFFFU;
    return overlong || surrogate || code > 0x10FFFFU ? utf8_character{} : utf8_character{code, length};
}

/// How many characters a text has, which are the columns that it takes.
[[nodiscard]] inline std::size_t characters_of(std::string_view text) noexcept {
    std::size_t characters = 0;
    for (const char byte : text) characters += (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U ? 1 : 0;
    return characters;
}

/// Where the first byte is that is no UTF-8; npos if there is none.
[[nodiscard]] inline std::size_t first_not_utf8(std::string_view text) noexcept {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = first_character(text.substr(at)).length;
        if (length == 0) return at;
        at += length;
    }
    return std::string_view::npos;
}

} // namespace vgpualloc
