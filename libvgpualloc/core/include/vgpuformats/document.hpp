// A tree of values, as JSON and YAML texts hold them. A scalar keeps its text: quantities stay exact, and the label yes
// is told from the label "yes". The same tree is built by programs that print JSON.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vgpuformats {

enum class value_kind : std::uint8_t { null, boolean, number, text, list, map };

/// Where a value begins in the text it was read from; both count from 1. 0: a program made the value.
struct text_place {
    std::int32_t line = 0;
    std::int32_t column = 0; ///< in bytes
};

template <class Number>
concept whole_number = std::integral<Number> && !std::same_as<Number, bool> && !std::same_as<Number, char>;

struct document {
    using member = std::pair<std::string, document>;

    value_kind kind = value_kind::null;
    std::string text;            ///< of a scalar, as written; a text without its quotes, a boolean as true or false
    std::vector<document> items; ///< of a list
    std::vector<member> members; ///< of a map, in the order written
    text_place place;

    document() = default;
    // Implicit, so that a tree can be written down as what it prints: {{"name", name}, {"count", 3}}.
    document(bool value) : kind{value_kind::boolean}, text{value ? "true" : "false"} {}
    document(whole_number auto value) : kind{value_kind::number}, text{std::to_string(value)} {}
    /// The shortest text that reads back as the same number; null for what is no number. Needs the layer that prints
    /// texts.
    document(double value);
    document(std::string value) : kind{value_kind::text}, text{std::move(value)} {}
    document(std::string_view value) : kind{value_kind::text}, text{value} {}
    document(const char* value) : kind{value_kind::text}, text{value} {}

    [[nodiscard]] static document list(std::vector<document> items = {});
    [[nodiscard]] static document map(std::vector<member> members = {});
    /// A list of what a range holds.
    template <class Range>
    [[nodiscard]] static document list_of(const Range& values) {
        document result = list();
        for (const auto& value : values) result.items.emplace_back(value);
        return result;
    }
    /// A map of what a std::map or a range of pairs holds, in its order.
    template <class Range>
    [[nodiscard]] static document map_of(const Range& entries) {
        document result = map();
        for (const auto& [key, value] : entries) result.members.emplace_back(key, value);
        return result;
    }

    [[nodiscard]] bool is_null() const noexcept { return kind == value_kind::null; }
    [[nodiscard]] bool is_text() const noexcept { return kind == value_kind::text; }
    [[nodiscard]] bool is_list() const noexcept { return kind == value_kind::list; }
    [[nodiscard]] bool is_map() const noexcept { return kind == value_kind::map; }
    /// How many items or members there are; 0 for a scalar.
    [[nodiscard]] std::size_t size() const noexcept { return is_map() ? members.size() : items.size(); }

    /// The member of a map, the last if the key was kept twice; null if there is none, or this is no map.
    [[nodiscard]] const document* find(std::string_view key) const;

    /// The number, if this is one, without a fraction or exponent, of 64 bits with a sign.
    [[nodiscard]] std::optional<std::int64_t> integer() const;
    /// The nearest double of a number.
    [[nodiscard]] std::optional<double> real() const;
    /// True or false of a boolean.
    [[nodiscard]] std::optional<bool> truth() const;

    /// The member of a map that is being built; made at the end if it is not there. Null becomes a map.
    document& operator[](std::string_view key);
    /// Adds to a list that is being built. Null becomes a list.
    document& push_back(document value);

    /// Same kind, text, items and members in the same order, wherever they were read.
    friend bool operator==(const document& left, const document& right);
};

/// A number as JSON spells it, or a text in quotes where it is too large: YAML also writes +3, 0x10, 010, .5 and 5.
[[nodiscard]] std::string json_number(std::string_view written);

} // namespace vgpuformats
