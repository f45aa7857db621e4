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

std::string json_number(std::string_view written) {
    if (written.starts_with('+')) written.remove_prefix(1);
    const bool negative = written.starts_with('-');
    const std::string sign = negative ? "-" : "";
    if (negative) written.remove_prefix(1);
    const bool hex = written.starts_with("0x");
    const bool octal =
        !hex && written.size() > 1 && written[0] == '0' && written.find_first_not_of("01234567") == written.npos;
    if (hex || octal) {
        std::uint64_t value = 0;
        const std::string_view digits = written.substr(hex ? 2 : 1);
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 8);
        if (read.ec == std::errc{}) return sign + std::to_string(value);
        return "\"" + sign + std::string{written} + "\""; // too large for a number
    }
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    std::string number{written};
    while (number.size() > 1 && number[0] == '0' && is_digit(number[1])) number.erase(0, 1);
    if (number.starts_with('.')) number.insert(0, "0");
    if (const auto point = number.find('.'); point != std::string::npos) {
        if (point + 1 == number.size() || !is_digit(number[point + 1])) number.erase(point, 1);
    }
    return sign + number;
}

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
