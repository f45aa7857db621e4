// Volcano's Ascend devices in HAMi mode, with templates or soft-sliced (docs/compat.md).
#pragma once

#include <memory>

#include "vgpualloc/compat/volcano/device.hpp"

namespace vgpualloc::compat::volcano {

/// The node's object of one common word; null where upstream creates none. `kind` is one of `config.vnpus`;
/// configuration and options must outlive it.
[[nodiscard]] std::unique_ptr<device_object>
make_ascend_hami(const node& where, const vnpu_kind& kind, const device_config& config, const plugin_options& options);

} // namespace vgpualloc::compat::volcano
