#include "vgpu_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "go_text.hpp"

namespace vgpualloc::compat::volcano::vgpu {

namespace {

constexpr std::string_view blanks = " \t\n\v\f\r";

char upper(char letter) { return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter; }

/// The UTF-8 character at the start of `text`: its length, or 0 if there is no valid one.
std::size_t utf8_length(std::string_view text, std::uint32_t& code) {
    const auto byte = [&text](std::size_t at) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at]));
    };
    const std::uint32_t lead = byte(0);
    std::size_t length = 1;
    if (lead >= 0xF0 && lead < 0xF8) {
        length = 4;
    } else if (lead >= 0xE0) {
        length = 3;
    } else if (lead >= 0xC0) {
        length = 2;
    }
    if (lead >= 0xF8 || (lead >= 0x80 && lead < 0xC0) || text.size() < length) return 0;
    constexpr std::array<std::uint32_t, 5> lead_bits{0, 0x7F, 0x1F, 0x0F, 0x07};
    constexpr std::array<std::uint32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
    code = lead & lead_bits[length];
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return 0;
        code = (code << 6U) | (byte(i) & 0x3FU);
    }
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    return code < smallest[length] || surrogate || code > 0x10FFFF ? 0 : length;
}

/// Of Go's unprintable characters those that a text has in practice: controls, blanks but ' ', marks of direction.
bool is_printable(std::uint32_t code) {
    if (code < 0x20 || (code >= 0x7F && code <= 0xA0) || code == 0xAD) return false;
    return !(code >= 0x2000 && code <= 0x200F) && !(code >= 0x2028 && code <= 0x202F) &&
           !(code >= 0x205F && code <= 0x206F) && code != 0x3000 && code != 0xFEFF &&
           !(code >= 0xE000 && code <= 0xF8FF);
}

void append_hex(std::string& out, std::uint32_t value, int digits) {
    constexpr std::string_view hex = "0123456789abcdef";
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        out += hex[(value >> static_cast<unsigned>(shift)) & 0xFU];
}

void append_unprintable(std::string& out, std::uint32_t code) {
    constexpr std::string_view controls = "\a\b\f\n\r\t\v";
    constexpr std::string_view letters = "abfnrtv";
    if (code < 0x80) {
        if (const auto letter = controls.find(static_cast<char>(code)); letter != std::string_view::npos) {
            out += '\\';
            out += letters[letter];
            return;
        }
        out += "\\x";
        append_hex(out, code, 2);
    } else if (code < 0x10000) {
        out += "\\u";
        append_hex(out, code, 4);
    } else {
        out += "\\U";
        append_hex(out, code, 8);
    }
}

} // namespace

std::vector<std::string_view> trimmed_items(std::string_view list) {
    std::vector<std::string_view> items;
    for (const std::string_view item : go_text::split(list, ',')) {
        const auto first = item.find_first_not_of(blanks);
        if (first == std::string_view::npos) continue;
        items.push_back(item.substr(first, item.find_last_not_of(blanks) - first + 1));
    }
    return items;
}

std::optional<std::int64_t> parse_uint32(std::string_view text) {
    if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
    const auto value = go_text::atoi(text);
    if (!value || *value > std::int64_t{std::numeric_limits<std::uint32_t>::max()}) return std::nullopt;
    return value;
}

bool parse_bool(std::string_view text) {
    constexpr std::array<std::string_view, 6> truths{"1", "t", "T", "TRUE", "true", "True"};
    return std::ranges::find(truths, text) != truths.end();
}

bool contains_ignoring_case(std::string_view text, std::string_view part) {
    return !std::ranges::search(text, part, {}, upper, upper).empty() || part.empty();
}

std::string go_quoted(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        std::uint32_t code = 0;
        const std::size_t length = utf8_length(text, code);
        if (length == 0) {
            out += "\\x";
            append_hex(out, static_cast<unsigned char>(text.front()), 2);
        } else if (code == '"' || code == '\\') {
            out += '\\';
            out += text.front();
        } else if (is_printable(code)) {
            out += text.substr(0, length);
        } else {
            append_unprintable(out, code);
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    out += '"';
    return out;
}

} // namespace vgpualloc::compat::volcano::vgpu
