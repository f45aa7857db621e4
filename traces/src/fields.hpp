// Numbers and times as traces write them.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "vgputraces/core_names.hpp"

namespace vgputraces {

/// Latest time and longest duration, in seconds: some 30,000 years.
inline constexpr std::int64_t seconds_max = 1'000'000'000'000;

/// What is wrong with a field, without its place.
struct field_failure {
    error_code code = error_code::malformed;
    std::string expected;
};

template <class Value>
using field_value = tl::expected<Value, field_failure>;

/// A whole number from `min` to `max`, written in digits.
[[nodiscard]] field_value<std::int64_t> parse_whole(std::string_view text, std::int64_t min, std::int64_t max);

/// A number that is not negative, in digits with a '.' among them or none, no larger than `max`, in units of 1/scale,
/// rounded to the nearest. `scale` is a power of 10, `max` times `scale` fits 63 bits. `unit` says what is counted.
[[nodiscard]] field_value<std::int64_t> parse_decimal(std::string_view text, std::int64_t scale, std::int64_t max,
                                                      std::string_view unit);

/// Seconds from 0 to seconds_max, with a fraction or none, to the nearest microsecond.
[[nodiscard]] field_value<ticks> parse_seconds(std::string_view text);

/// "YYYY-MM-DD hh:mm:ss" of the Gregorian calendar, the seconds with a fraction or none, as time since 1970 began on
/// the same clock.
[[nodiscard]] field_value<ticks> parse_local_time(std::string_view text);

/// ISO 8601: "YYYY-MM-DD", or with "Thh:mm", "Thh:mm:ss" or a fraction of a second; then nothing, "Z" or a zone as
/// "+01:00". Time since 1970 began, of UTC where a zone is said, else on the clock of the text. A space may stand for
/// the T.
[[nodiscard]] field_value<ticks> parse_iso_time(std::string_view text);

/// Whether a text can stand in the lines of output files: UTF-8 without control characters.
[[nodiscard]] bool is_printable_text(std::string_view text) noexcept;
/// Whether it can stand in a table without quotes too.
[[nodiscard]] bool is_table_text(std::string_view text) noexcept;

} // namespace vgputraces
