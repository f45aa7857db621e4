// What most files here use of the core, so that none has to name where it comes from.
#pragma once

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpuformats/cursor.hpp"
#include "vgpuformats/document.hpp"

namespace vgputraces {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::mib;
using vgpualloc::milli_cpu;
using vgpualloc::milli_gpu;
using vgpualloc::ticks;
using vgpualloc::ticks_per_second;
using vgpualloc::unexpected;

using vgpuformats::cursor;
using vgpuformats::document;

} // namespace vgputraces
