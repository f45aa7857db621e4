// Seeds as people write them: one rule for every command.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace vgpusim {

/// Where nothing else is said.
inline constexpr std::int64_t default_seed = 42;

inline constexpr const char* seed_expected = "a whole number from -2^63 to 2^64 - 1";

/// The 64 bits of a seed: a negative number stands for itself plus 2^64, so that -1 and 2^64 - 1 are one seed. Nothing
/// for a text that is no whole number in that range.
[[nodiscard]] inline std::optional<std::uint64_t> parse_seed(std::string_view text) noexcept {
    const auto whole = [text](auto number) -> std::optional<std::uint64_t> {
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
        return static_cast<std::uint64_t>(number);
    };
    return text.starts_with('-') ? whole(std::int64_t{0}) : whole(std::uint64_t{0});
}

/// Seeds one after the other, both ends among them.
struct seed_range {
    std::int64_t first = default_seed;
    std::int64_t last = default_seed;

    [[nodiscard]] std::size_t count() const noexcept {
        return static_cast<std::size_t>(static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first)) + 1;
    }
    [[nodiscard]] std::int64_t at(std::size_t position) const noexcept {
        return first + static_cast<std::int64_t>(position);
    }
    [[nodiscard]] std::string text() const { return std::to_string(first) + ".." + std::to_string(last); }
};

inline constexpr std::size_t seeds_max = 1000;

inline constexpr const char* seeds_expected =
    "FIRST..LAST, for example 42..51: whole numbers below 2^63, not descending, at most 1000 of them";

/// "42..51". Nothing for other texts, for a range that descends and for one of more than seeds_max.
[[nodiscard]] inline std::optional<seed_range> parse_seed_range(std::string_view text) noexcept {
    const std::size_t dots = text.find("..");
    if (dots == std::string_view::npos) return std::nullopt;
    const auto whole = [](std::string_view part) -> std::optional<std::int64_t> {
        std::int64_t number = 0;
        const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), number);
        if (failure != std::errc{} || end != part.data() + part.size()) return std::nullopt;
        return number;
    };
    const auto first = whole(text.substr(0, dots));
    const auto last = whole(text.substr(dots + 2));
    if (!first || !last || *last < *first) return std::nullopt;
    if (static_cast<std::uint64_t>(*last) - static_cast<std::uint64_t>(*first) >= seeds_max) return std::nullopt;
    return seed_range{.first = *first, .last = *last};
}

} // namespace vgpusim
