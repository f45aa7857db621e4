// What vGPU needs beyond go_text.hpp of Go's ways with small texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vgpualloc::compat::volcano::vgpu {

/// The items of a comma list without blanks around them; empty items are dropped.
[[nodiscard]] std::vector<std::string_view> trimmed_items(std::string_view list);

/// strconv.ParseUint(text, 10, 32): digits only.
[[nodiscard]] std::optional<std::int64_t> parse_uint32(std::string_view text);

/// strconv.ParseBool, false for what it refuses.
[[nodiscard]] bool parse_bool(std::string_view text);

/// strings.Contains(strings.ToUpper(text), strings.ToUpper(part)), for ASCII letters.
[[nodiscard]] bool contains_ignoring_case(std::string_view text, std::string_view part);

/// The verb %q: a Go string literal.
[[nodiscard]] std::string go_quoted(std::string_view text);

/// A 64-bit number as Go's int32(n): the low 32 bits.
[[nodiscard]] constexpr std::int64_t wrapped_to_int32(std::int64_t number) noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(number));
}

} // namespace vgpualloc::compat::volcano::vgpu
