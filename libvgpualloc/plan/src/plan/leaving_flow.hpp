// Places for many pods at once, by min-cost flow.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "board.hpp"

namespace vgpualloc::plan {

/// Puts all of the pods, which are taken up, down on places that are free, and appends these to `places`, in the order
/// of `pods`, where they have to stay for as long as the pods are there. Pods that ask for one device are matched with
/// classes of devices, those with the least room first; what the matching does not know (several pods on one device,
/// the host) is found out by putting them down, and matched anew with what was learnt. False, and nothing changed, if
/// not all of them found a place. Devices without anything on them are left alone unless `opens_idle`.
[[nodiscard]] bool place_by_flow(board& on, const std::vector<std::uint32_t>& pods, bool opens_idle,
                                 std::deque<placement>& places);

} // namespace vgpualloc::plan
