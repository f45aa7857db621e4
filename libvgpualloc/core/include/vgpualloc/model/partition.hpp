// A part of one device that a container can be given.
#pragma once

#include <cstdint>
#include <variant>

#include "vgpualloc/core/units.hpp"

namespace vgpualloc {

/// A HAMi-core slice: memory and compute limits enforced in software.
struct slice {
    mib memory;
    core_percent cores; ///< 0 = no limit asked for
    bool operator==(const slice&) const = default;
};

/// A MIG instance: which row of the mode's table of instances, and where on the device.
struct mig_instance {
    std::uint32_t profile = 0; ///< position in the mode's list of profiles, or of group and kind
    std::uint32_t start = 0;   ///< first placement unit, or slot of that kind in a geometry group
    core_percent cores{};      ///< asked for: annotations say it; charged is the compute that the instance has
    bool operator==(const mig_instance&) const = default;
};

/// An NPU cut by a template.
struct vir_template {
    std::uint32_t index = 0; ///< in the mode's list of templates
    mib memory;              ///< charged
    core_percent cores;      ///< charged; AI cores
    std::uint32_t group = 0; ///< vGroup of the chip, from 1; 0 = not known, as before the device plugin has made it
    bool operator==(const vir_template&) const = default;
};

/// The device as a whole.
struct whole_device {
    bool operator==(const whole_device&) const = default;
};

using partition = std::variant<slice, whole_device, mig_instance, vir_template>;

} // namespace vgpualloc
