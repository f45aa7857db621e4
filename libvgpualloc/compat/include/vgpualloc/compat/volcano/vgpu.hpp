// Volcano's vGPU devices (hami-core and MIG) with the exclusive rules (docs/compat.md).
#pragma once

#include <memory>

#include "vgpualloc/compat/volcano/device.hpp"

namespace vgpualloc::compat::volcano {

/// What the exclusive rules remember of earlier Allocates, beyond a session; one per scheduler.
class exclusive_memory;
[[nodiscard]] std::shared_ptr<exclusive_memory> make_exclusive_memory();

/// The node's vGPU object; null where upstream creates none. Configuration and options must outlive it.
[[nodiscard]] std::unique_ptr<device_object> make_vgpu(const node& where, const device_config& config,
                                                       const plugin_options& options,
                                                       std::shared_ptr<exclusive_memory> memory);

} // namespace vgpualloc::compat::volcano
