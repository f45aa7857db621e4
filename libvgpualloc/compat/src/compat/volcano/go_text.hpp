// Numbers and lists in annotations as Go's strconv, strings and Kubernetes' quantities read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace vgpualloc::compat::volcano::go_text {

/// strings.Split: also the empty pieces; an empty text is one empty piece.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// strconv.Atoi: an optional sign and decimal digits, nothing else; none where it does not fit 64 bits.
[[nodiscard]] std::optional<std::int64_t> atoi(std::string_view text);

/// strconv.ParseInt(text, 10, 32) with its error ignored: 0 for what is no number, the nearest bound for what is too
/// large.
[[nodiscard]] std::int64_t parse_int32(std::string_view text);

/// resource.Quantity.Value(): rounded up to a whole number, at most 2^63-1; none where it is no quantity.
[[nodiscard]] std::optional<std::int64_t> quantity_value(std::string_view text);

} // namespace vgpualloc::compat::volcano::go_text
