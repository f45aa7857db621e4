// Times of Kubernetes objects.
#pragma once

#include <optional>
#include <string_view>

#include "vgputraces/core_names.hpp"

namespace vgputraces {

/// ISO 8601, as creationTimestamp has it: a date, or a date and a time, with a zone or none. Time since 1970 began, of
/// UTC where a zone is said. None: it is no such time.
[[nodiscard]] std::optional<ticks> iso_time(std::string_view text);

} // namespace vgputraces
