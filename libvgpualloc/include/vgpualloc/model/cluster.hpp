// Nodes and their devices: the part of a cluster that does not change while pods come and go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/device.hpp"

namespace vgpualloc {

inline constexpr std::int32_t no_link_group = -1;

/// A device in its node; its index is its position in node::devices.
struct device {
    std::string uuid;
    std::uint32_t kind = 0;                  ///< position in cluster::kinds
    std::int32_t link_group = no_link_group; ///< devices with fast links to each other have the same number
};

struct node {
    std::string name;
    milli_cpu cpu;
    mib memory;
    std::int64_t pods_max = 110; ///< the kubelet's default limit
    std::vector<device> devices;
};

/// Equal scores go to the node that comes first in `nodes`. Devices share their specifications through `kinds`,
/// because 800,000 devices have a handful of different ones.
struct cluster {
    std::vector<device_spec> kinds;
    std::vector<node> nodes;
    std::vector<std::shared_ptr<const sharing_mode>> modes; ///< those of `kinds` that this cluster brings along

    /// Position of `spec` in `kinds`, added if it is new.
    std::uint32_t kind_of(const device_spec& spec) {
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            if (kinds[i] == spec) return static_cast<std::uint32_t>(i);
        }
        kinds.push_back(spec);
        return static_cast<std::uint32_t>(kinds.size() - 1);
    }

    [[nodiscard]] const device_spec& spec_of(node_index where, device_index which) const {
        return kinds[nodes[where.at()].devices[which.at()].kind];
    }
};

} // namespace vgpualloc
