// Documents from JSON.
#include <utility>

#include <nlohmann/json.hpp>

#include "vgpuformats/document.hpp"
#include "vgpuformats/json_cursor.hpp"

namespace vgputraces {
namespace {

using nlohmann::json;
using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::unexpected;

/// Turns parsed JSON into the tree. False: deeper than allowed.
bool convert(const json& from, int depth, document_value& into) {
    if (from.is_string()) {
        into.kind = value_kind::text;
        into.text = from.get<std::string>();
    } else if (from.is_boolean() || from.is_number()) {
        into.kind = from.is_boolean() ? value_kind::boolean : value_kind::number;
        into.text = from.dump();
    } else if (from.is_structured()) {
        if (depth == depth_max) return false;
        into.kind = from.is_array() ? value_kind::list : value_kind::map;
        for (const auto& [key, each] : from.items()) {
            document_value inner;
            if (!convert(each, depth + 1, inner)) return false;
            if (from.is_array()) {
                into.items.push_back(std::move(inner));
            } else {
                into.members.emplace_back(key, std::move(inner));
            }
        }
    }
    return true;
}

} // namespace

vgpualloc::expected<document_value> parse_json_document(std::string_view text, const std::string& name) {
    if (text.size() > document_bytes_max) {
        return unexpected(error{error_code::out_of_range, name, "", "", "at most 256 MiB of text"});
    }
    const auto parsed = parse_json(text, name);
    if (!parsed) return unexpected(parsed.error());
    document_value made;
    if (!convert(*parsed, 0, made)) {
        return unexpected(error{error_code::out_of_range, name, "", "",
                                "lists and objects at most " + std::to_string(depth_max) + " deep"});
    }
    return made;
}

} // namespace vgputraces
