// What most files here use of the core, so that none has to name where it comes from.
#pragma once

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/core/printable.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpualloc/model/rejection.hpp"
#include "vgpuformats/document.hpp"

namespace vgpualloc::explaining {}
namespace vgpualloc::kube {}

namespace vgpuops {

namespace explaining = vgpualloc::explaining;
namespace kube = vgpualloc::kube;

using vgpualloc::device_index;
using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::node_index;
using vgpualloc::pod_id;
using vgpualloc::printable;
using vgpualloc::rejection_code;
using vgpualloc::stop_signal;
using vgpualloc::unexpected;

using vgpuformats::document;

} // namespace vgpuops
