// The templates of an Ascend 310P under MindCluster, for code that needs them in a fixed order.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "vgpualloc/model/request.hpp"

namespace vgpualloc {

struct mindcluster_310p_template {
    std::string_view name;
    std::int64_t ai_core = 0;
    std::int64_t ai_cpu = 0;
    dvpp_use dvpp = dvpp_use::unstated;
};

/// Those of the built-in catalog's chip Ascend310P, in its order, which vir_template::index counts in. Constants: which
/// of them serves a request is the mode's code, so a catalog file with other ones changes no decision. Source: Huawei's
/// MindCluster documentation and Volcano's code (docs/dialects/mindcluster.md).
inline constexpr std::array<mindcluster_310p_template, 7> mindcluster_310p_templates{{
    {.name = "vir01", .ai_core = 1, .ai_cpu = 1},
    {.name = "vir02", .ai_core = 2, .ai_cpu = 2},
    {.name = "vir02_1c", .ai_core = 2, .ai_cpu = 1},
    {.name = "vir04", .ai_core = 4, .ai_cpu = 4},
    {.name = "vir04_3c", .ai_core = 4, .ai_cpu = 3},
    {.name = "vir04_3c_ndvpp", .ai_core = 4, .ai_cpu = 3, .dvpp = dvpp_use::no},
    {.name = "vir04_4c_dvpp", .ai_core = 4, .ai_cpu = 4, .dvpp = dvpp_use::yes},
}};

} // namespace vgpualloc
