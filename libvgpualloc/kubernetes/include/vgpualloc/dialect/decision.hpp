// What was decided for a pod, for the annotations that say so.
#pragma once

#include <span>
#include <string>

#include "vgpualloc/model/placement.hpp"

namespace vgpualloc::dialects {

struct decision {
    std::string node; ///< its name
    std::string time; ///< in the unit that the dialect documents: the core knows no clock
    std::span<const device_share> shares;
};

} // namespace vgpualloc::dialects
