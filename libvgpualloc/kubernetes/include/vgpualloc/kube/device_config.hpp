// The device configuration of a cluster, as it lies in files and ConfigMaps.
#pragma once

#include <string>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/config.hpp"

namespace vgpualloc::kube {

/// The key under which a ConfigMap holds a device configuration.
inline constexpr const char* device_config_key = "device-config.yaml";

/// `base` with what a device configuration says: device-config.yaml itself, or ConfigMaps that hold it, which add up.
/// `name` is the file's, for errors: those of the text and of with_device_config().
[[nodiscard]] expected<dialect_config> read_device_config(dialect_config base, const std::string& text,
                                                          const std::string& name);

} // namespace vgpualloc::kube
