#include "vgpu_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "go_text.hpp"
#include "vgpualloc/core/printable.hpp"
#include "vgpualloc/core/utf8.hpp"

namespace vgpualloc::compat::volcano::vgpu {

namespace {

constexpr std::string_view blanks = " \t\n\v\f\r";

char upper(char letter) { return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter; }

/// Of Go's unprintable characters those that a text has in practice: controls, blanks but ' ', marks of direction.
bool is_printable(std::uint32_t code) {
    if (code < 0x20 || (code >= 0x7F && code <= 0xA0) || code == 0xAD) return false;
    return !(code >= 0x2000 && code <= 0x200F) && !(code >= 0x2028 && code <= 0x202F) &&
           !(code >= 0x205F && code <= 0x206F) && code != 0x3000 && code != 0xFEFF &&
           !(code >= 0xE000 && code <= 0xF8FF);
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
        vgpualloc::detail::append_hex(out, code, 2);
    } else if (code < 0x10000) {
        out += "\\u";
        vgpualloc::detail::append_hex(out, code, 4);
    } else {
        out += "\\U";
        vgpualloc::detail::append_hex(out, code, 8);
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
        const auto [code, length] = first_character(text);
        if (length == 0) {
            out += "\\x";
            vgpualloc::detail::append_hex(out, static_cast<unsigned char>(text.front()), 2);
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
