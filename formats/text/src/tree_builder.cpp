#include "tree_builder.hpp"

#include <algorithm>

namespace vgpuformats::detail {

using vgpualloc::error_code;

bool tree_builder::goes_on() {
    if (stop_.poll()) failure_ = vgpualloc::stop_signal::stopped();
    return !failure_;
}

bool tree_builder::add(value_kind kind, std::string_view text, text_place place) {
    if (!goes_on()) return false;
    if (passing_) {
        if (passed_open_ == 0) passing_ = false;
        return true;
    }
    document* const value = append(place);
    if (value == nullptr) return false;
    value->kind = kind;
    value->text = text;
    return true;
}

bool tree_builder::open(value_kind kind, text_place place) {
    if (depth() == static_cast<std::size_t>(depth_max)) {
        return fail(error_code::out_of_range, at_line(name_, place), "",
                    "lists and maps at most " + std::to_string(depth_max) + " deep");
    }
    if (passing_) {
        ++passed_open_;
        return true;
    }
    document* const value = append(place);
    if (value == nullptr) return false;
    value->kind = kind;
    const bool is_step = unread_.is_unread != nullptr && !open_.empty() && innermost().is_map();
    if (is_step) path_.push_back(innermost().members.back().first);
    open_.push_back({value, {}, is_step});
    return true;
}

void tree_builder::close() {
    if (passing_) {
        if (--passed_open_ == 0) passing_ = false;
        return;
    }
    innermost().items.shrink_to_fit(); // nothing comes behind, and a tree of many small maps would be a third larger
    innermost().members.shrink_to_fit();
    if (open_.back().is_step) path_.pop_back();
    open_.pop_back();
    hand_over_item();
}

/// After a list or map was closed.
void tree_builder::hand_over_item() {
    constexpr std::size_t depth_of_items = 2; // the root and its list
    if (!unread_.take_item || keeps_items_ || open_.size() != depth_of_items) return;
    document& list = innermost();
    if (!list.is_list() || !open_.back().is_step || path_.back() != "items") return;
    keeps_items_ = list.items.size() > 1 || !unread_.take_item(list.items.back(), root_.place); // after a scalar
    if (!keeps_items_) list.items.pop_back();
}

bool tree_builder::key(std::string_view key, text_place place) {
    if (passing_) return true;
    open_value& map = open_.back();
    if (repeated_ == repeated_keys::refused && occurs(map, key)) {
        return fail(error_code::duplicate, at_column(name_, place), std::string{key}, "the key is given twice");
    }
    passing_ = unread_.is_unread != nullptr && unread_.is_unread(path_, key);
    map.value->members.emplace_back(key, document{});
    return true;
}

bool tree_builder::occurs(open_value& map, std::string_view key) {
    constexpr std::size_t small_map_max = 16; // up to here looking through the members is quicker than a set
    const auto& members = map.value->members;
    if (members.size() < small_map_max) {
        return std::ranges::find(members, key, &document::member::first) != members.end();
    }
    if (map.keys.empty()) {
        for (const auto& member : members) map.keys.insert(member.first);
    }
    return !map.keys.emplace(key).second;
}

bool tree_builder::count(std::size_t values, text_place place) {
    values_ += values;
    if (values_ <= values_max_) return true;
    return fail(error_code::out_of_range, at_line(name_, place), "",
                "at most " + std::to_string(values_max_) + " values (aliases count as what they stand for)" +
                    std::string{unread_.advice});
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
    if (!failure_) failure_ = bad_value(code, field, "", std::move(expected)).at(std::move(where));
    return false;
}

} // namespace vgpuformats::detail
