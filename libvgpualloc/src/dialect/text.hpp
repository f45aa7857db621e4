// Pieces of text that annotations are made of: lists, whole numbers, truth values, Kubernetes quantities.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vgpualloc::dialect::text {

/// The parts between separators; always at least one.
[[nodiscard]] std::vector<std::string_view> split(std::string_view whole, char separator);

/// Like split(), but a last part that is empty, as after a closing separator, is left out.
[[nodiscard]] std::vector<std::string_view> split_closed(std::string_view whole, char separator);

/// Without spaces, tabs and line ends around it.
[[nodiscard]] std::string_view trimmed(std::string_view whole);

/// The parts of a comma list, trimmed; empty ones are left out.
[[nodiscard]] std::vector<std::string> items(std::string_view list);

/// A decimal number of digits only, at most `most`.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view digits, std::int64_t most);

/// The truth values that Go's strconv.ParseBool knows.
[[nodiscard]] std::optional<bool> truth(std::string_view word);

/// Whether `given` looks like `known` mistyped: other letters' case, cut short, or up to two letters wrong (one in
/// words below six letters).
[[nodiscard]] bool is_misspelled(std::string_view given, std::string_view known);

/// The value of a Kubernetes quantity ("16", "100k", "2Ti", "1e3", "500m"), rounded up to a whole number as Kubernetes
/// does; none if it is no quantity, negative or above 2^63 - 1.
[[nodiscard]] std::optional<std::int64_t> quantity(std::string_view written);

} // namespace vgpualloc::dialect::text
