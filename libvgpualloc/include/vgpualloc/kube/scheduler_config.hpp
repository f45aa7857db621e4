// Volcano's scheduler configuration: what the plugin deviceshare is told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/volcano_config.hpp"

namespace vgpusim {

/// The arguments of plugin deviceshare: in volcano-scheduler.conf itself, or in a ConfigMap that holds it under a key
/// that ends with ".conf". `name` is the file's, for errors: malformed, missing (no such plugin), duplicate (it twice),
/// and those of parse_plugin_arguments().
[[nodiscard]] vgpualloc::expected<vgpualloc::dialect::volcano::plugin_arguments>
parse_scheduler_config(const std::string& text, const std::string& name);

/// Whether the arguments enable what serves this pod, which asks for devices in `dialect` (`vgpusim dialects`). Error
/// unsupported, which names the argument; where is empty.
[[nodiscard]] vgpualloc::expected<void> check_enabled(const vgpualloc::dialect::volcano::plugin_arguments& arguments,
                                                      std::string_view dialect,
                                                      const vgpualloc::kubernetes::pod& asked);

/// Allocatable huawei.com/npu-core of a node; 0 without a whole number.
[[nodiscard]] std::int64_t ai_cores_of(const vgpualloc::kubernetes::node& of);

} // namespace vgpusim
