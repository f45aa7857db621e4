// Words and bounds that the sources of the volcano_vgpu dialect share.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace vgpualloc::dialect::volcano_vgpu {

// Names of sharing modes, as device_registration::mode has them.
inline constexpr std::string_view hami_core_mode = "hami_core";
inline constexpr std::string_view mig_mode = "mig";
inline constexpr std::string_view mps_mode = "mps";

inline constexpr std::int64_t amount_max = std::numeric_limits<std::int32_t>::max(); ///< upstream counts in 32 bits

/// What an id or a group name cannot contain, because assignments are made of it.
inline constexpr std::string_view separators = "[]:;,";

} // namespace vgpualloc::dialect::volcano_vgpu
