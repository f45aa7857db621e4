// What most files here use of the core, so that none has to name where it comes from.
#pragma once

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/printable.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpuformats/document.hpp"

namespace vgpufacade {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::printable;
using vgpualloc::stop_signal;
using vgpualloc::unexpected;

using vgpuformats::document;

} // namespace vgpufacade
