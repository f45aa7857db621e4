// Devices of a node as their dialect registers them in another mode.
#pragma once

#include <string>
#include <vector>

#include "vgpualloc/dialect/dialect.hpp"
#include "vgpuops/whatif/changes.hpp"

namespace vgpuops::whatif {

/// Devices of one node, in one dialect.
struct own_devices {
    const vgpualloc::kubernetes::node* node;
    const vgpualloc::dialect* spoken;
    std::vector<kube::snapshot_device*> devices{};
};

/// What the dialect reads of the devices that it wrote in that mode.
[[nodiscard]] vgpualloc::dialects::node_reading read_in(const own_devices& own, const std::string& mode);

/// Whether all of the devices were read, in that mode.
[[nodiscard]] bool reads_all(const vgpualloc::dialects::node_reading& reading, const own_devices& own,
                             const std::string& mode);

/// Of a mode in which the dialect does not register these devices: names those in which it does.
[[nodiscard]] error no_word_for(const mode_change& wanted, const own_devices& own);

} // namespace vgpuops::whatif
