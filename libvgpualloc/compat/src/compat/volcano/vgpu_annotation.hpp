// The assignment annotation: `uuid,NVIDIA,memory,cores:` per card, containers apart by ';'.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vgpualloc::compat::volcano::vgpu {

inline constexpr const char* ids_annotation = "volcano.sh/vgpu-ids-new";
inline constexpr const char* vendor_word = "NVIDIA";

struct assigned_card {
    std::string id; ///< uuid, or uuid[group-position]
    std::int64_t memory = 0;
    std::int64_t cores = 0;
};

[[nodiscard]] std::string encode_assignment(const std::vector<std::vector<assigned_card>>& containers);

/// All containers' cards in one list; entries that cannot be read are left out.
[[nodiscard]] std::vector<assigned_card> decode_assignment(std::string_view text);

} // namespace vgpualloc::compat::volcano::vgpu
