// Volcano's legacy gpushare devices, by memory or by number (SPEC-volcano §5).
#pragma once

#include <memory>

#include "vgpualloc/compat/volcano/device.hpp"

namespace vgpualloc::compat::volcano {

/// The node's gpushare object; null where upstream creates none. The options must outlive it.
[[nodiscard]] std::unique_ptr<device_object> make_gpushare(const node& where, const plugin_options& options);

} // namespace vgpualloc::compat::volcano
