// Seeds as people write them: one rule for every command.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
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

} // namespace vgpusim
