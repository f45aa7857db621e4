// Documents as YAML texts.
#include <algorithm>
#include <string_view>
#include <utility>

#include "vgpuformats/json.hpp"
#include "vgpuformats/yaml.hpp"

namespace vgpuformats {
namespace {

/// A key that is read as a text without quotes: it begins with a letter and is no word that stands for a value.
bool is_plain(std::string_view key) {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto is_inner = [&](char c) {
        return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/' || c == '-';
    };
    if (key.empty() || !is_letter(key.front()) || !std::ranges::all_of(key, is_inner)) return false;
    std::string lower{key};
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    constexpr std::string_view values[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
    return std::ranges::find(values, lower) == std::ranges::end(values);
}

bool is_block(const document& value) { return value.size() > 0; }

void print(const document& value, std::size_t indent, std::string& to);

/// What comes after "key:" or "-": a scalar on the same line, or a block.
void print_entry(const document& value, std::size_t indent, std::string& to) {
    if (!is_block(value)) {
        to += " " + print_json(value) + "\n";
        return;
    }
    to += '\n';
    print(value, indent, to);
}

/// The members of a map; the first goes where the text is.
void print_members(const document& map, std::size_t indent, bool first_is_placed, std::string& to) {
    for (const auto& [key, member] : map.members) {
        if (!std::exchange(first_is_placed, false)) to.append(indent, ' ');
        to += (is_plain(key) ? key : print_json(document{key})) + ":";
        print_entry(member, member.is_list() ? indent : indent + 2, to);
    }
}

void print(const document& value, std::size_t indent, std::string& to) {
    if (value.is_map()) return print_members(value, indent, false, to);
    for (const document& item : value.items) {
        to.append(indent, ' ');
        to += '-';
        if (item.is_map() && is_block(item)) {
            to += ' ';
            print_members(item, indent + 2, true, to);
        } else {
            print_entry(item, indent + 2, to);
        }
    }
}

} // namespace

std::string print_yaml(const document& value) {
    std::string text;
    if (is_block(value)) {
        print(value, 0, text);
    } else {
        text = print_json(value) + "\n";
    }
    return text;
}

vgpualloc::expected<std::string> yaml_of_json(std::string_view json) {
    const auto value = parse_json(json, "the answer");
    if (!value) return vgpualloc::unexpected(value.error());
    return print_yaml(*value);
}

} // namespace vgpuformats
