#include "tree_builder.hpp"

#include <algorithm>

namespace vgpuformats::detail {

using vgpualloc::error_code;

bool tree_builder::add(value_kind kind, std::string text, text_place place) {
    document* const value = append(place);
    if (value == nullptr) return false;
    value->kind = kind;
    value->text = std::move(text);
    return true;
}

bool tree_builder::open(value_kind kind, text_place place) {
    if (open_.size() == static_cast<std::size_t>(depth_max)) {
        return fail(error_code::out_of_range, at_line(name_, place), "",
                    "lists and maps at most " + std::to_string(depth_max) + " deep");
    }
    document* const value = append(place);
    if (value == nullptr) return false;
    value->kind = kind;
    open_.push_back({value, {}});
    return true;
}

bool tree_builder::key(std::string key, text_place place) {
    open_value& map = open_.back();
    if (repeated_ == repeated_keys::refused && occurs(map, key)) {
        return fail(error_code::duplicate, at_column(name_, place), std::move(key), "the key is given twice");
    }
    map.value->members.emplace_back(std::move(key), document{});
    return true;
}

bool tree_builder::occurs(open_value& map, const std::string& key) {
    constexpr std::size_t small_map_max = 16; // up to here looking through the members is quicker than a set
    const auto& members = map.value->members;
    if (members.size() < small_map_max) {
        return std::ranges::find(members, key, &document::member::first) != members.end();
    }
    if (map.keys.empty()) {
        for (const auto& member : members) map.keys.insert(member.first);
    }
    return !map.keys.insert(key).second;
}

bool tree_builder::count(std::size_t values, text_place place) {
    values_ += values;
    if (values_ <= values_max_) return true;
    return fail(error_code::out_of_range, at_line(name_, place), "",
                "at most " + std::to_string(values_max_) + " values (aliases count as what they stand for)");
}

document* tree_builder::append(text_place place) {
    if (!count(1, place)) return nullptr;
    document* value = &root_;
    if (!open_.empty()) {
        document& parent = innermost();
        value = parent.is_list() ? &parent.items.emplace_back() : &parent.members.back().second;
    }
    value->place = place;
    return value;
}

document& tree_builder::last() {
    if (open_.empty()) return root_;
    document& parent = innermost();
    return parent.is_list() ? parent.items.back() : parent.members.back().second;
}

bool tree_builder::fail(error_code code, std::string where, std::string field, std::string expected) {
    if (!failure_) failure_ = {code, std::move(where), std::move(field), "", std::move(expected)};
    return false;
}

} // namespace vgpuformats::detail
