// Where a pod goes: a node and, per container, parts of its devices.
#pragma once

#include <cstdint>

#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/core/small_vector.hpp"
#include "vgpualloc/model/partition.hpp"

namespace vgpualloc {

/// One part of one device, for one container.
struct device_share {
    std::uint32_t container = 0; ///< position in pod_request::containers
    device_index device;
    partition part;

    bool operator==(const device_share&) const = default;
};

struct placement {
    node_index node;
    small_vector<device_share, 1> shares; ///< by container, then in the order chosen

    bool operator==(const placement&) const = default;
};

} // namespace vgpualloc
