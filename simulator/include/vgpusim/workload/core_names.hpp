// What most files here use of the core, so that none has to name where it comes from.
#pragma once

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/core/printable.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/rejection.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpuformats/document.hpp"

namespace vgpusim {

using vgpualloc::device_index;
using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::milli_gpu;
using vgpualloc::node_index;
using vgpualloc::pod_id;
using vgpualloc::pod_request;
using vgpualloc::printable;
using vgpualloc::rejection_code;
using vgpualloc::stop_signal;
using vgpualloc::ticks;
using vgpualloc::ticks_per_second;
using vgpualloc::unexpected;
using vgpualloc::whole_gpu;

using vgpuformats::document;

} // namespace vgpusim
