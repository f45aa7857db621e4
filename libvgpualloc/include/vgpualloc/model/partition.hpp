// A part of one device that a container can be given.
#pragma once

#include <variant>

#include "vgpualloc/core/units.hpp"

namespace vgpualloc {

/// A HAMi-core slice: memory and compute limits enforced in software.
struct slice {
    mib memory;
    core_percent cores; ///< 0 = no limit asked for
    bool operator==(const slice&) const = default;
};

/// The device as a whole.
struct whole_device {
    bool operator==(const whole_device&) const = default;
};

using partition = std::variant<slice, whole_device>;

} // namespace vgpualloc
