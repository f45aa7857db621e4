// Times as texts.
#pragma once

#include <cstdint>
#include <string>

#include "vgputraces/core_names.hpp"

namespace vgputraces {

/// A number that is not negative, with zeros before it.
[[nodiscard]] std::string padded(std::int64_t number, std::size_t digits);

/// "2026-11-25T13:00:00", of a time since 1970 began; what is less than a second is left out.
[[nodiscard]] std::string iso_text(ticks time);

/// "60", "0.5".
[[nodiscard]] std::string seconds_text_of_ms(std::int64_t duration_ms);

} // namespace vgputraces
