// Volcano's scheduler configuration: what the plugin deviceshare is told.
#pragma once

#include <string>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/volcano_config.hpp"

namespace vgpualloc::kube {

/// The arguments of plugin deviceshare: in volcano-scheduler.conf itself, or in a ConfigMap that holds it under a key
/// that ends with ".conf". `name` is the file's, for errors: malformed, missing (no such plugin), duplicate (it twice),
/// and those of parse_plugin_arguments().
[[nodiscard]] expected<dialects::volcano::plugin_arguments> parse_scheduler_config(const std::string& text,
                                                                                   const std::string& name);

} // namespace vgpualloc::kube
