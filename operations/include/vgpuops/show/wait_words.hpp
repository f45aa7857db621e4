// How long pods wait, in words.
#pragma once

#include <string>

#include "vgpualloc/core/units.hpp"

namespace vgpuops::show {

/// "90 s", "30 min", "5.5 h", "2 d": in the largest unit of which there are at least two, rounded to a tenth.
[[nodiscard]] std::string wait_words(vgpualloc::ticks wait);

} // namespace vgpuops::show
