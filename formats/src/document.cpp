// Documents: what does not depend on how they are written.
#include "vgpuformats/document.hpp"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

namespace vgputraces {
namespace {

using nlohmann::json;

std::string json_string(const std::string& text) {
    return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

/// A YAML number as JSON spells it.
std::string json_number(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    const bool negative = text.starts_with('-');
    const std::string sign = negative ? "-" : "";
    if (negative) text.remove_prefix(1);
    const bool hex = text.starts_with("0x");
    const bool octal = !hex && text.size() > 1 && text[0] == '0' && text.find_first_not_of("01234567") == text.npos;
    if (hex || octal) {
        std::uint64_t value = 0;
        const std::string_view digits = text.substr(hex ? 2 : 1);
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 8);
        if (read.ec == std::errc{}) return sign + std::to_string(value);
        return json_string(sign + std::string{text}); // too large for a number
    }
    std::string made{text};
    while (made.size() > 1 && made[0] == '0' && made[1] >= '0' && made[1] <= '9') made.erase(0, 1);
    if (made.starts_with('.')) made.insert(0, "0");
    if (const auto point = made.find('.'); point != std::string::npos) {
        const bool bare = point + 1 == made.size() || made[point + 1] < '0' || made[point + 1] > '9';
        if (bare) made.erase(point, 1);
    }
    return sign + made;
}

void write(const document_value& value, std::string& to) {
    switch (value.kind) {
    case value_kind::null:
        to += "null";
        return;
    case value_kind::boolean:
    case value_kind::number:
        to += value.kind == value_kind::number ? json_number(value.text) : value.text;
        return;
    case value_kind::text:
        to += json_string(value.text);
        return;
    case value_kind::list:
        to += '[';
        for (std::size_t i = 0; i < value.items.size(); ++i) {
            if (i > 0) to += ',';
            write(value.items[i], to);
        }
        to += ']';
        return;
    case value_kind::map:
        to += '{';
        for (std::size_t i = 0; i < value.members.size(); ++i) {
            if (i > 0) to += ',';
            to += json_string(value.members[i].first) + ":";
            write(value.members[i].second, to);
        }
        to += '}';
        return;
    }
}

} // namespace

const document_value* document_value::find(std::string_view key) const {
    const auto found = std::ranges::find(members, key, &std::pair<std::string, document_value>::first);
    return found == members.end() ? nullptr : &found->second;
}

vgpualloc::expected<std::vector<document_value>> parse_documents(std::string_view text, const std::string& name) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) return parse_yaml(text, name);
    auto parsed = parse_json_document(text, name);
    if (!parsed) return vgpualloc::unexpected(std::move(parsed).error());
    std::vector<document_value> one;
    one.push_back(*std::move(parsed));
    return one;
}

std::string to_json_text(const document_value& value) {
    std::string text;
    write(value, text);
    return text;
}

} // namespace vgputraces
