// Nodes and their devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/device.hpp"
#include "vgpualloc/model/host_rules.hpp"

namespace vgpualloc {

inline constexpr std::int32_t no_link_group = -1;

/// A device in its node; its index is its position in node::devices.
struct device {
    std::string uuid;                        ///< empty: the device is known by its index only
    std::uint32_t kind = 0;                  ///< position in device_kinds::kinds
    std::int32_t link_group = no_link_group; ///< devices with fast links to each other have the same number
    service_state service = service_state::in_service;

    bool operator==(const device&) const = default;
};

struct node {
    std::string name;
    milli_cpu cpu;
    bytes memory;
    std::int64_t pods_max = 110; ///< the kubelet's default limit
    host_facts host{};
    std::vector<device> devices{};

    bool operator==(const node&) const = default;
};

/// The kinds of devices that a cluster has. Devices share their specifications, because 800,000 devices have a handful
/// of different ones. Grows only; what is in it stays where it is.
struct device_kinds {
    std::deque<device_spec> kinds{};
    std::vector<std::shared_ptr<const sharing_mode>> modes{}; ///< those of `kinds` that this cluster brings along

    /// Position of `spec` in `kinds`, added if it is new.
    std::uint32_t kind_of(const device_spec& spec) {
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            if (kinds[i] == spec) return static_cast<std::uint32_t>(i);
        }
        kinds.push_back(spec);
        return static_cast<std::uint32_t>(kinds.size() - 1);
    }
};

/// Nodes and their devices. A ledger owns one and changes it.
struct cluster : device_kinds {
    std::vector<node> nodes{};

    [[nodiscard]] const device_spec& spec_of(node_index where, device_index which) const {
        return kinds[nodes[where.at()].devices[which.at()].kind];
    }
};

} // namespace vgpualloc
