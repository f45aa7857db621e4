// What the models of both generators have in common, read from JSON and written back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "vgputraces/generator.hpp"

namespace vgputraces {

[[nodiscard]] std::string read_name(const cursor& text, std::string_view allowed, const std::string& expected);
[[nodiscard]] std::string read_prefix(const cursor& text);
[[nodiscard]] std::int64_t read_weight(const cursor& object); ///< its key "weight"
[[nodiscard]] duration_quantiles read_durations(const cursor& list);
/// Where a load may be given instead of the mean interval, the interval is to be filled in from it.
enum class load_key : bool { refused, allowed };
[[nodiscard]] arrival_model read_arrivals(const cursor& object, load_key load = load_key::refused);

/// Fails `list` if nothing in it can ever be drawn.
template <class Range, class Weight>
void require_some_weight(const cursor& list, const Range& entries, Weight weight_of) {
    const bool some = std::any_of(entries.begin(), entries.end(), [&](const auto& e) { return weight_of(e) > 0; });
    if (!some) list.fail(error_code::out_of_range, "at least one entry above 0");
}

/// A model as JSON text, laid out for people: short lists and objects on one line.
[[nodiscard]] std::string print_model(const document& model);

} // namespace vgputraces
