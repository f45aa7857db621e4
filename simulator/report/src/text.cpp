#include "text.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

namespace vgpureport {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD"; // U+FFFD

unsigned byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

/// Length of the well-formed multi-byte sequence that starts at `at`, 0 if there is none (RFC 3629, table of §4).
std::size_t multibyte_length(std::string_view text, std::size_t at) {
    const unsigned lead = byte_at(text, at);
    const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                               : (lead & 0xF0) == 0xE0        ? 3
                               : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                              : 0;
    if (length == 0 || at + length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte_at(text, at + i) & 0xC0) != 0x80) return 0;
    }
    const unsigned second = byte_at(text, at + 1);
    const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    const bool surrogate = lead == 0xED && second >= 0xA0;
    const bool beyond_unicode = lead == 0xF4 && second >= 0x90;
    return overlong || surrogate || beyond_unicode ? 0 : length;
}

template <class AppendAscii>
void append_escaped(std::string& out, std::string_view text, AppendAscii append_ascii) {
    for (std::size_t at = 0; at < text.size();) {
        if (byte_at(text, at) < 0x80) {
            append_ascii(text[at++]);
            continue;
        }
        const std::size_t length = multibyte_length(text, at);
        out += length == 0 ? replacement : text.substr(at, length);
        at += length == 0 ? 1 : length;
    }
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; }

} // namespace

void append_html(std::string& out, std::string_view text) {
    append_escaped(out, text, [&out](char c) {
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        case '\'':
            out += "&#39;";
            break;
        case '\t':
        case '\n':
            out += c;
            break;
        default:
            if (is_control(c)) {
                out += replacement; // HTML has no way to write them
            } else {
                out += c;
            }
        }
    });
}

std::string html(std::string_view text) {
    std::string out;
    append_html(out, text);
    return out;
}

void append_json(std::string& out, std::string_view text) {
    out += '"';
    append_escaped(out, text, [&out](char c) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (is_control(c) || c == '<' || c == '>' || c == '&') {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
        } else {
            out += c;
        }
    });
    out += '"';
}

void append_integer(std::string& out, std::int64_t value) {
    char digits[24];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
    out.append(std::begin(digits), end);
}

void append_key(std::string& out, std::string_view key) {
    if (out.back() != '{') out += ',';
    append_json(out, key);
    out += ':';
}

void append_member(std::string& out, std::string_view key, std::string_view text) {
    append_key(out, key);
    append_json(out, text);
}

void append_member(std::string& out, std::string_view key, std::int64_t value) {
    append_key(out, key);
    append_integer(out, value);
}

namespace {

/// Puts a comma before every third digit of the whole part, counted from its end.
void group_digits(std::string& number) {
    const std::size_t sign = number.starts_with('-') ? 1 : 0;
    std::size_t at = std::min(number.find('.'), number.size());
    while (at > sign + 3) {
        at -= 3;
        number.insert(at, 1, ',');
    }
}

} // namespace

std::string grouped(std::int64_t value) {
    std::string number;
    append_integer(number, value);
    group_digits(number);
    return number;
}

std::string fixed(double value, int decimals) {
    if (!std::isfinite(value)) return std::string{no_value};
    std::string number = fmt::format("{:.{}f}", value, decimals);
    // A tiny negative difference must not read as "-0.00".
    if (number.starts_with('-') && number.find_first_not_of("-0.") == std::string::npos) number.erase(0, 1);
    group_digits(number);
    return number;
}

} // namespace vgpureport
