#include "vgpuformats/cursor.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace vgpuformats {
namespace {

using vgpualloc::error;
using vgpualloc::error_code;

/// The value as it stands in a message. Lists and maps are only named.
std::string shown(const document& value) {
    constexpr std::size_t shown_bytes_max = 60;
    if (value.is_list()) return "a list";
    if (value.is_map()) return "an object";
    if (value.is_null()) return "null";
    return value.text.size() > shown_bytes_max ? value.text.substr(0, shown_bytes_max) + "..." : value.text;
}

/// A limit as JSON prints it: 0.0, 0.5, 1000000.0.
std::string shown(double limit) {
    std::array<char, 400> buffer{}; // no double has more digits before its point
    auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), limit).ptr;
    if (std::string_view{buffer.data(), end}.find("e+") != std::string_view::npos) {
        end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), limit, std::chars_format::fixed).ptr;
    }
    const std::string text(buffer.data(), end);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string text_of(number_range range) {
    return "from " + std::to_string(range.least) + " to " + std::to_string(range.most);
}

/// Whether a number has neither a fraction nor an exponent, whatever its size.
bool is_whole(const document& value) {
    return value.kind == value_kind::number &&
           json_number(value.text).find_first_not_of("0123456789", value.text.starts_with('-') ? 1 : 0) ==
               std::string::npos;
}

std::string joined(std::initializer_list<std::string_view> words) {
    std::string all;
    for (const auto word : words) all += (all.empty() ? "" : ", ") + std::string{word};
    return all;
}

std::string with_key(const std::string& path, std::string_view key) {
    return path.empty() ? std::string{key} : path + "." + std::string{key};
}

/// Finds a value below another by its address and appends the way there to `path`. Paths are needed only for errors, so
/// that reading builds none.
bool find_path(const document& from, const document& target, std::string& path) {
    if (&from == &target) return true;
    const std::size_t length = path.size();
    for (std::size_t i = 0; i < from.items.size(); ++i) {
        path += "[" + std::to_string(i) + "]";
        if (find_path(from.items[i], target, path)) return true;
        path.resize(length);
    }
    for (const auto& [key, member] : from.members) {
        path = with_key(path, key);
        if (find_path(member, target, path)) return true;
        path.resize(length);
    }
    return false;
}

} // namespace

cursor cursor::inner(const document* value) const {
    cursor result = *this;
    result.value_ = value;
    return result;
}

cursor cursor::called(const std::string& label) const {
    cursor result = *this;
    result.name_ = place(value_ == nullptr ? *base_ : *value_) + ": " + label;
    if (value_ != nullptr) result.base_ = value_;
    result.style_ = place_style::name;
    return result;
}

std::string cursor::place(const document& value) const {
    if (style_ == place_style::name || value.place.line == 0) return name_;
    return name_ + ":" + std::to_string(value.place.line);
}

std::string cursor::path_to(const document& value) const {
    std::string path;
    find_path(*base_, value, path);
    return path;
}

error cursor::problem(error_code code, std::string expected) const {
    const document& value = value_ == nullptr ? *base_ : *value_;
    return bad_value(code, path_to(value), shown(value), std::move(expected)).at(place(value));
}

void cursor::fail(error_code code, const std::string& expected) const {
    if (!failed()) *failure_ = problem(code, expected);
}

void cursor::fail_field(error failure, const document& map, std::string_view key) const {
    if (failed()) return;
    const document* const member = map.find(key);
    failure.field = with_key(path_to(map), key);
    *failure_ = std::move(failure).at(place(member == nullptr ? map : *member));
}

void cursor::fail_key(error_code code, std::string_view key, const std::string& expected) const {
    if (value_ != nullptr) fail_field({.code = code, .expected = expected}, *value_, key);
}

/// False if this cannot be read on: it failed before, or it is nothing, or of the wrong kind, which is then the
/// failure.
bool cursor::expect(bool right_kind, const std::string& expected) const {
    if (failed() || value_ == nullptr) return false;
    if (!right_kind) fail(error_code::malformed, expected);
    return right_kind;
}

void cursor::only(std::initializer_list<std::string_view> keys) const {
    if (!expect(value_ != nullptr && value_->is_map(), "an object")) return;
    for (const auto& [key, member] : value_->members) {
        if (std::ranges::find(keys, key) != keys.end()) continue;
        return fail_field(
            {.code = error_code::unknown_name, .problem = "unknown key, the keys here are " + joined(keys)}, *value_,
            key);
    }
}

bool cursor::has(std::string_view key) const {
    if (failed() || value_ == nullptr) return false;
    const document* const member = value_->find(key);
    return member != nullptr && !member->is_null();
}

cursor cursor::at(std::string_view key) const {
    if (!expect(value_ != nullptr && value_->is_map(), "an object")) return inner(nullptr);
    const document* const member = value_->find(key);
    if (member == nullptr) {
        fail_field({.code = error_code::missing, .expected = "this key", .problem = "missing"}, *value_, key);
    }
    return inner(member);
}

std::vector<cursor> cursor::items(std::size_t least, std::size_t most) const {
    std::vector<cursor> list;
    if (!expect(value_ != nullptr && value_->is_list(), "a list")) return list;
    const std::size_t size = value_->size();
    if (size < least && most == std::numeric_limits<std::size_t>::max()) {
        fail(error_code::missing, "at least " + std::to_string(least) + (least == 1 ? " entry" : " entries"));
    } else if (size < least || size > most) {
        const std::string range = least == most
                                      ? std::to_string(least)
                                      : text_of({static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)});
        fail(error_code::out_of_range, range + " entries, there are " + std::to_string(size));
        return list;
    }
    list.reserve(size);
    for (const document& item : value_->items) list.push_back(inner(&item));
    return list;
}

std::vector<std::pair<std::string, cursor>> cursor::entries() const {
    std::vector<std::pair<std::string, cursor>> list;
    if (!expect(value_ != nullptr && value_->is_map(), "an object")) return list;
    for (const auto& [key, member] : value_->members) list.emplace_back(key, inner(&member));
    return list;
}

std::int64_t cursor::integer(number_range range) const {
    const std::string expected = "a whole number " + text_of(range);
    if (!expect(value_ != nullptr && is_whole(*value_), expected)) return range.least;
    const auto number = value_->integer();
    if (number && *number >= range.least && *number <= range.most) return *number;
    fail(error_code::out_of_range, expected);
    return range.least;
}

std::uint64_t cursor::unsigned_integer() const {
    const std::string expected = "a whole number from 0 to 18446744073709551615";
    if (!expect(value_ != nullptr && is_whole(*value_), expected)) return 0;
    const std::string digits = json_number(value_->text);
    std::uint64_t number = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (read.ec == std::errc{}) return number;
    fail(error_code::out_of_range, expected);
    return 0;
}

double cursor::real(double least, double most) const {
    const std::string expected = "a number from " + shown(least) + " to " + shown(most);
    if (!expect(value_ != nullptr && value_->kind == value_kind::number, expected)) return least;
    const auto number = value_->real();
    if (number && *number >= least && *number <= most) return *number;
    fail(error_code::out_of_range, expected);
    return least;
}

std::int64_t cursor::hundredths(number_range range) const {
    const std::string expected = "a number " + text_of(range) + " with at most two decimals";
    if (!expect(value_ != nullptr && value_->kind == value_kind::number, expected)) return range.least;
    const double number = value_->real().value_or(-1);
    if (number < static_cast<double>(range.least) || number > static_cast<double>(range.most)) {
        fail(error_code::out_of_range, expected);
        return range.least;
    }
    constexpr double half_a_hundredth = 0.5;
    const auto scaled = static_cast<std::int64_t>(number * 100 + half_a_hundredth);
    constexpr double slack = 1e-6; // of a number that decimal digits spelled
    if (std::abs(number * 100 - static_cast<double>(scaled)) > slack) fail(error_code::malformed, expected);
    return scaled;
}

bool cursor::flag() const {
    if (!expect(value_ != nullptr && value_->truth(), "true or false")) return false;
    return *value_->truth();
}

std::string cursor::any_text() const {
    return expect(value_ != nullptr && value_->is_text(), "a text") ? value_->text : std::string{};
}

std::string cursor::text() const {
    std::string text = any_text();
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (std::ranges::any_of(text, is_control)) fail(error_code::malformed, "a text without control characters");
    return text;
}

std::string cursor::filled_text() const {
    std::string text = this->text();
    if (!failed() && text.empty()) fail(error_code::missing, "a text that is not empty");
    return text;
}

std::optional<std::int64_t> cursor::maybe_integer(std::string_view key, number_range range) const {
    if (!has(key)) return std::nullopt;
    return at(key).integer(range);
}

std::optional<std::int64_t> cursor::maybe_hundredths(std::string_view key, number_range range) const {
    if (!has(key)) return std::nullopt;
    return at(key).hundredths(range);
}

std::string cursor::maybe_text(std::string_view key) const { return has(key) ? at(key).text() : std::string{}; }

std::vector<std::string> cursor::maybe_texts(std::string_view key) const {
    std::vector<std::string> list;
    if (!has(key)) return list;
    for (const auto& item : at(key).items(0)) {
        std::string text = item.filled_text();
        if (std::ranges::find(list, text) != list.end()) item.fail(error_code::duplicate, "every text once");
        list.push_back(std::move(text));
    }
    return list;
}

std::map<std::string, std::string, std::less<>> cursor::maybe_dictionary(std::string_view key) const {
    std::map<std::string, std::string, std::less<>> dictionary;
    if (!has(key)) return dictionary;
    for (const auto& [word, meaning] : at(key).entries()) dictionary.emplace(word, meaning.text());
    return dictionary;
}

} // namespace vgpuformats
