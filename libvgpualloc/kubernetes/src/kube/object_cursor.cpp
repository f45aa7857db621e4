// A cursor over the document of an object: what is there, what is wrong with it, and where.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "objects_parts.hpp"

namespace vgpualloc::kube {

std::string shown(const document& value) {
    if (value.kind == value_kind::list) return "a list";
    if (value.kind == value_kind::map) return "an object";
    return value.kind == value_kind::null ? "null" : value.text;
}

bool is_helm_template(std::string_view text) {
    const std::size_t begin = text.find("{{");
    const std::size_t end = begin == std::string_view::npos ? begin : text.find("}}", begin);
    return end != std::string_view::npos && text.substr(begin, end - begin).find('\n') == std::string_view::npos;
}

std::string place_at(const std::string& place, std::int32_t line) {
    const auto colon = place.rfind(':');
    if (line == 0 || place.find(numbered) != std::string::npos || colon == std::string::npos) return place;
    return place.substr(0, colon + 1) + std::to_string(line);
}

std::string value_path::text() const {
    std::string words;
    for (const auto& [key, position] : steps_) {
        if (position) {
            words += "[" + std::to_string(*position) + "]";
        } else {
            words += (words.empty() ? "" : ".") + std::string{key};
        }
    }
    return words;
}

object_cursor object_cursor::inner(const document* value) const {
    object_cursor cursor{*this};
    cursor.value_ = value;
    if (value != nullptr && value->place.line != 0) cursor.line_ = value->place.line;
    return cursor;
}

object_cursor object_cursor::member(const document* value, std::string_view key) const {
    object_cursor cursor = inner(value);
    cursor.path_.add_member(key);
    return cursor;
}

object_cursor object_cursor::at(std::string_view key) const {
    if (!present()) return member(nullptr, key);
    if (value_->kind != value_kind::map) fail(error_code::malformed, shown(*value_), "an object");
    return member(value_->find(key), key);
}

std::vector<object_cursor> object_cursor::items() const {
    std::vector<object_cursor> list;
    if (!present()) return list;
    if (value_->kind != value_kind::list) fail(error_code::malformed, shown(*value_), "a list");
    list.reserve(value_->items.size());
    for (const document& item : value_->items) {
        list.push_back(inner(&item));
        list.back().path_.add_item(list.size() - 1);
        if (!list.back().present()) list.back().fail(error_code::malformed, "null", "an entry of the list");
    }
    return list;
}

std::vector<std::pair<std::string, object_cursor>> object_cursor::entries() const {
    std::vector<std::pair<std::string, object_cursor>> list;
    if (!present()) return list;
    if (value_->kind != value_kind::map) fail(error_code::malformed, shown(*value_), "an object");
    for (const auto& [key, value] : value_->members) list.emplace_back(key, member(&value, key));
    return list;
}

std::string object_cursor::text() const {
    if (!present()) return {};
    if (value_->kind == value_kind::text) return value_->text;
    const bool scalar_value = value_->kind == value_kind::number || value_->kind == value_kind::boolean;
    fail(error_code::malformed, shown(*value_), scalar_value ? "a text: write it in quotes" : "a text");
    return {};
}

std::string object_cursor::scalar() const {
    if (present() && value_->kind == value_kind::number) return value_->text;
    return text();
}

std::int64_t object_cursor::integer(std::int64_t least, std::int64_t most, std::int64_t otherwise) const {
    if (!present()) return otherwise;
    std::int64_t value = 0;
    const std::string& digits = value_->text;
    const auto [stop, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = failure == std::errc{} && stop == digits.data() + digits.size();
    if (value_->kind == value_kind::number && whole && value >= least && value <= most) return value;
    const bool is_quoted = value_->kind == value_kind::text && whole && value >= least && value <= most;
    fail(value_->kind == value_kind::number && whole ? error_code::out_of_range : error_code::malformed, shown(*value_),
         "a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
             (is_quoted ? ": write " + digits + " without quotes" : ""));
    return otherwise;
}

bool object_cursor::truth(bool otherwise) const {
    if (!present()) return otherwise;
    if (const auto value = value_->truth()) return *value;
    fail(error_code::malformed, shown(*value_), "true or false");
    return otherwise;
}

std::optional<std::int64_t> object_cursor::quantity(quantity_unit unit, rounding rest) const {
    if (!present()) return std::nullopt;
    if (value_->kind != value_kind::number && value_->kind != value_kind::text) {
        fail(error_code::malformed, shown(*value_), "a quantity");
        return std::nullopt;
    }
    const auto amount = kubernetes::parse_quantity(value_->text, unit, rest);
    if (amount) return *amount;
    fail(amount.error().code, amount.error().value, amount.error().expected);
    return std::nullopt;
}

kubernetes::text_map object_cursor::texts() const {
    kubernetes::text_map map;
    for (const auto& [key, member] : entries()) {
        std::string text = member.text();
        // What is no text is a problem already, and better absent than empty.
        if (!member.present() || member.value_->kind == value_kind::text) map[key] = std::move(text);
    }
    return map;
}

kubernetes::text_map object_cursor::scalars() const {
    kubernetes::text_map map;
    for (const auto& [key, member] : entries()) map[key] = member.scalar();
    return map;
}

void object_cursor::fail(error_code code, const std::string& value, const std::string& expected) const {
    constexpr std::size_t problems_max = 100; // of an object; and each is told once
    const std::string place = place_at(*object_, line_);
    const std::string field = path_.text();
    const auto is_known = [&](const error& known) { return known.where == place && known.field == field; };
    if (problems_->size() >= problems_max || std::ranges::any_of(*problems_, is_known)) return;
    if (is_helm_template(value)) { // what is wrong with it nobody can say before that
        problems_->push_back(bad_input(error_code::unsupported, field, value + " " + template_expected).at(place));
        return;
    }
    // A value that is not there cannot be quoted: without the verb the sentence would read like a glossary.
    if (code == error_code::missing && value.empty()) {
        problems_->push_back(bad_input(code, field, "missing", expected).at(place));
        return;
    }
    const bool is_empty_text = value.empty() && present() && value_->kind == value_kind::text;
    problems_->push_back(bad_value(code, field, is_empty_text ? "\"\"" : value, expected).at(place));
}

} // namespace vgpualloc::kube
