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

    bool operator==(const device_unit&) const = default;
};

/// Pods of the largest size come first.
enum class pod_size : std::uint8_t { larger_share, sum_of_shares, memory, compute, host_cpu };
inline constexpr std::array pod_sizes{pod_size::larger_share, pod_size::sum_of_shares, pod_size::memory,
                                      pod_size::compute, pod_size::host_cpu};

/// Which pods come before all others, whatever their size.
enum class pods_first : std::uint8_t { none, of_several_devices, with_few_nodes };
inline constexpr std::array all_pods_first{pods_first::none, pods_first::of_several_devices,
                                           pods_first::with_few_nodes};

/// Which devices of a unit a pod gets of those that have room.
enum class device_choice : std::uint8_t { first, most_used, most_memory_used };
inline constexpr std::array device_choices{device_choice::first, device_choice::most_used,
                                           device_choice::most_memory_used};

/// How first fit decreasing goes through pods and devices.
struct packing_order {
    pods_first first = pods_first::none;
    pod_size size = pod_size::larger_share;
    device_choice choice = device_choice::first;
    bool at_home = false;       ///< of units that are alike and empty, a pod gets the one that it is on
    std::size_t units_kept = 0; ///< the first so many units keep the pods that they have
};

/// What packing orders look at, by request of a board (board_pod::request).
struct request_measure {
    std::int64_t devices = 0;
    std::int64_t nodes = 0; ///< that the rules allow
    double memory = 0.0;    ///< in GPUs
    double compute = 0.0;   ///< in GPUs
    double host_cpu = 0.0;
};
[[nodiscard]] std::vector<request_measure> measure_requests(board& on);

/// Puts every pod that may move and has a part of a device onto the first of `units` that has room for it, and returns
/// where they are then. `on` has them as the cluster has them; afterwards only its residents may be looked at. None if
/// a pod found no room, or the board is out of steps.
[[nodiscard]] std::optional<final_places> pack_first_fit(board& on, const std::vector<device_unit>& units,
                                                         const packing_order& order,
                                                         const std::vector<request_measure>& measures);

} // namespace vgpualloc::plan
