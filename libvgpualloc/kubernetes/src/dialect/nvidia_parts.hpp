// What the files of the nvidia dialect share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vgpualloc/dialect/nvidia.hpp"

namespace vgpualloc::dialects::nvidia {

inline constexpr std::string_view domain = "nvidia.com/";
inline constexpr std::string_view mig_prefix = "nvidia.com/mig-";
inline constexpr const char* shared_gpu_resource = "nvidia.com/gpu.shared";
inline constexpr const char* strategy_label = "nvidia.com/mig.strategy";
inline constexpr std::string_view mig_words = "-MIG-"; ///< in a product label, before the profile
inline constexpr std::string_view shared_ending = "-SHARED";

/// The sharing modes of these devices (mode/all.hpp).
inline constexpr std::string_view exclusive_mode = "exclusive";
inline constexpr std::string_view time_slicing_mode = "time_slicing";
inline constexpr std::string_view mps_mode = "mps";
inline constexpr std::string_view mig_mode = "mig";

/// A resource of which one unit is one device of the node, or a part of one.
[[nodiscard]] bool counts_devices(std::string_view resource);

/// What renameByDefault puts behind the name of a resource that is shared.
inline constexpr std::string_view renamed_ending = ".shared";

/// What labels of a resource's devices begin with, as feature discovery goes by the name before it is changed:
/// "nvidia.com/gpu", "nvidia.com/mig-1g.5gb".
[[nodiscard]] std::string stem_of(const std::string& resource);

/// The devices of a node.
[[nodiscard]] node_reading read_devices(const kubernetes::node& node, const options& configured);

/// Writes `devices` as the device plugin and feature discovery do.
void write_devices(std::span<const device_registration> devices, kubernetes::node& node);

} // namespace vgpualloc::dialects::nvidia
