// The mindcluster dialect: what its sources share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vgpualloc/catalog/mindcluster_310p.hpp"
#include "vgpualloc/model/registration.hpp"

namespace vgpualloc::dialect::mindcluster {

inline const std::string core_resource = "huawei.com/npu-core"; ///< also the annotation of what a pod has
inline const std::string list_key = "huawei.com/Ascend310P";
inline constexpr std::string_view family = "Ascend310P";
inline constexpr std::string_view uuid_prefix = "Ascend310P-";
inline constexpr std::int64_t chip_number_max = 1023; ///< far beyond any board; a larger number is a mistake
inline constexpr std::int64_t vgroups_max = 4;        ///< of a chip

} // namespace vgpualloc::dialect::mindcluster
