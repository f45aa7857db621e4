// All pods packed anew, as if the cluster were empty but for those that stay.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "board.hpp"
#include "move_order.hpp"

namespace vgpualloc::plan {

/// Devices that are emptied together, as places: all of a node, or one.
struct device_unit {
    std::size_t first = 0;
    std::size_t end = 0;
};

/// Pods of the largest size come first.
enum class pod_size : std::uint8_t { larger_share, sum_of_shares, memory, compute };
inline constexpr std::array pod_sizes{pod_size::larger_share, pod_size::sum_of_shares, pod_size::memory,
                                      pod_size::compute};

/// How first fit decreasing goes through pods and devices.
struct packing_order {
    pod_size size = pod_size::larger_share;
    bool fullest_device = false; ///< of a unit; else its first device that has room
    std::size_t units_kept = 0;  ///< the first so many units keep the pods that they have
};

/// Puts every pod that may move and has a part of a device onto the first of `units` that has room for it, and returns
/// where they are then. `on` has them as the cluster has them; afterwards only its residents may be looked at. None if
/// a pod found no room, or the board is out of steps.
[[nodiscard]] std::optional<final_places> pack_first_fit(board& on, const std::vector<device_unit>& units,
                                                         const packing_order& order);

} // namespace vgpualloc::plan
