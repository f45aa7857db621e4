// What a dialect understood of a Kubernetes object, and what it could not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpualloc/model/registration.hpp"

namespace vgpualloc::dialects {

/// The devices that a node registers. A device that cannot be read is no device to give out: it is unhealthy where its
/// position counts, absent otherwise, and always a problem.
struct node_reading {
    std::vector<device_registration> devices; ///< by index
    std::vector<error> problems;
    /// What could be read, but is most likely not what was meant.
    std::vector<error> warnings{};
    /// By device, as its node counts it: its place in the registration, those that could not be read counted, or the
    /// index or number given there. Empty: the position in `devices`.
    std::vector<std::int64_t> indices{};

    /// What the node calls device `position` of `devices`.
    [[nodiscard]] std::int64_t index_of(std::size_t position) const {
        return indices.empty() ? static_cast<std::int64_t>(position) : indices[position];
    }
};

/// Problems that are told of several devices of a node and differ in the number of the device alone, as one that has
/// all of the numbers: "card 0, 1, 5 geometry". In the order of the first of each.
[[nodiscard]] std::vector<error> joined_by_device(std::vector<error> problems);

/// The parts of devices that a bound pod has, as its annotations say. An entry that cannot be read is a problem and no
/// share: nothing is booked on a guess. An amount that can be read, but that no part has, is a problem and a slice of
/// that amount: the device is in use.
struct assignment_reading {
    std::vector<device_share> shares; ///< by container, then in the order written
    std::vector<error> problems;
};

} // namespace vgpualloc::dialects
