// The mindcluster dialect: what its sources share.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "vgpualloc/model/registration.hpp"

namespace vgpualloc::dialect::mindcluster {

inline const std::string core_resource = "huawei.com/npu-core"; ///< also the annotation of what a pod has
inline const std::string list_key = "huawei.com/Ascend310P";
inline constexpr std::string_view family = "Ascend310P";
inline constexpr std::string_view uuid_prefix = "Ascend310P-";
inline constexpr std::int64_t chip_number_max = 1023; ///< far beyond any board; a larger number is a mistake
inline constexpr std::int64_t vgroups_max = 4;        ///< of a chip

/// The templates of a 310P in the order that vir_template::index counts in (SPEC-volcano 7.1).
struct chip_template {
    std::string_view name;
    std::int64_t ai_core;
    std::int64_t ai_cpu;
};
inline constexpr std::array<chip_template, 7> chip_templates{{{.name = "vir01", .ai_core = 1, .ai_cpu = 1},
                                                              {.name = "vir02", .ai_core = 2, .ai_cpu = 2},
                                                              {.name = "vir02_1c", .ai_core = 2, .ai_cpu = 1},
                                                              {.name = "vir04", .ai_core = 4, .ai_cpu = 4},
                                                              {.name = "vir04_3c", .ai_core = 4, .ai_cpu = 3},
                                                              {.name = "vir04_3c_ndvpp", .ai_core = 4, .ai_cpu = 3},
                                                              {.name = "vir04_4c_dvpp", .ai_core = 4, .ai_cpu = 4}}};

} // namespace vgpualloc::dialect::mindcluster
