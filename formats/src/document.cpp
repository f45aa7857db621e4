#include "vgpuformats/document.hpp"

#include <algorithm>
#include <charconv>

namespace vgpuformats {
namespace {

template <class Number>
std::optional<Number> number_of(const document& value) {
    if (value.kind != value_kind::number) return std::nullopt;
    const std::string digits = json_number(value.text);
    Number number{};
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (failure != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return number;
}

} // namespace

document document::list(std::vector<document> items) {
    document result;
    result.kind = value_kind::list;
    result.items = std::move(items);
    return result;
}

document document::map(std::vector<member> members) {
    document result;
    result.kind = value_kind::map;
    result.members = std::move(members);
    return result;
}

const document* document::find(std::string_view key) const {
    const auto found =
        std::find_if(members.rbegin(), members.rend(), [key](const member& m) { return m.first == key; });
    return found == members.rend() ? nullptr : &found->second;
}

std::optional<std::int64_t> document::integer() const { return number_of<std::int64_t>(*this); }

std::optional<double> document::real() const { return number_of<double>(*this); }

std::optional<bool> document::truth() const {
    if (kind != value_kind::boolean) return std::nullopt;
    return text == "true";
}

document& document::operator[](std::string_view key) {
    if (is_null()) kind = value_kind::map;
    const auto found = std::ranges::find(members, key, &member::first);
    return found != members.end() ? found->second : members.emplace_back(key, document{}).second;
}

document& document::push_back(document value) {
    if (is_null()) kind = value_kind::list;
    return items.emplace_back(std::move(value));
}

bool operator==(const document& left, const document& right) {
    return left.kind == right.kind && left.text == right.text && left.items == right.items &&
           left.members == right.members;
}

} // namespace vgpuformats
