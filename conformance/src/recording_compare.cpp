// Comparing decisions of the model with recorded ones.
#include "recording_compare.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "vgpuformats/json.hpp"

namespace vgpuconformance {

namespace {

struct unlike_values {
    std::string at; ///< JSON pointer
    const document* recorded = nullptr;
    const document* decided = nullptr;
};

/// Null where there is no such value, or one that says nothing.
const document* telling(const document* value) { return value == nullptr || says_nothing(*value) ? nullptr : value; }

/// A key or position as a step of a JSON pointer.
std::string step_to(std::string_view key) {
    std::string step = "/";
    for (const char c : key) {
        if (c == '~') {
            step += "~0";
        } else if (c == '/') {
            step += "~1";
        } else {
            step += c;
        }
    }
    return step;
}

bool equal_scalars(const document& left, const document& right) {
    if (left.kind != right.kind) return false;
    if (left.text == right.text) return true;
    if (left.kind != vgpuformats::value_kind::number) return false;
    const auto left_integer = left.integer();
    const auto right_integer = right.integer();
    return left_integer && right_integer ? left_integer == right_integer : left.real() == right.real();
}

std::optional<unlike_values> unlike_in(const document* recorded, const document* decided);

std::optional<unlike_values> unlike_below(std::string_view key, const document* recorded, const document* decided) {
    auto unlike = unlike_in(recorded, decided);
    if (unlike) unlike->at.insert(0, step_to(key));
    return unlike;
}

std::optional<unlike_values> unlike_members(const document& recorded, const document& decided) {
    for (const auto& [key, value] : recorded.members) {
        if (auto unlike = unlike_below(key, telling(&value), telling(decided.find(key)))) return unlike;
    }
    for (const auto& [key, value] : decided.members) {
        if (recorded.find(key) != nullptr) continue; // compared above
        if (auto unlike = unlike_below(key, nullptr, telling(&value))) return unlike;
    }
    return std::nullopt;
}

std::optional<unlike_values> unlike_items(const document& recorded, const document& decided) {
    const auto item = [](const document& list, std::size_t i) { return i < list.size() ? &list.items[i] : nullptr; };
    for (std::size_t i = 0; i < std::max(recorded.size(), decided.size()); ++i) {
        if (auto unlike = unlike_below(std::to_string(i), item(recorded, i), item(decided, i))) return unlike;
    }
    return std::nullopt;
}

std::optional<unlike_values> unlike_in(const document* recorded, const document* decided) {
    if (recorded == nullptr && decided == nullptr) return std::nullopt;
    if (recorded == nullptr || decided == nullptr) return unlike_values{{}, recorded, decided};
    if (recorded->is_map() && decided->is_map()) return unlike_members(*recorded, *decided);
    if (recorded->is_list() && decided->is_list()) return unlike_items(*recorded, *decided);
    if (equal_scalars(*recorded, *decided)) return std::nullopt;
    return unlike_values{{}, recorded, decided};
}

std::string text_of(const document* value) {
    if (value == nullptr) return "nothing";
    document shown = compact(*value);
    sort_members(shown);
    return vgpuformats::print_json(shown);
}

} // namespace

std::optional<event_difference> first_difference(const document& recorded, const document& decided) {
    auto unlike = unlike_in(&recorded, &decided);
    if (!unlike) return std::nullopt;
    return event_difference{.case_id = {},
                            .event = 0,
                            .at = std::move(unlike->at),
                            .recorded = text_of(unlike->recorded),
                            .decided = text_of(unlike->decided)};
}

} // namespace vgpuconformance
