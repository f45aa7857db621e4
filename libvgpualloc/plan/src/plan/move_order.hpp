// The order of moves: each when its new place is free beside all old ones that are still held.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "board.hpp"

namespace vgpualloc::plan {

/// Where the pods of a plan go in the end, by position in the board.
using final_places = std::map<std::uint32_t, placement>;

/// The moves that bring all pods to their final places, in an order in which they can be carried out, with at most
/// `hops_max` moves more than pods: a pod that another one waits for may go through a spare place. After the last one
/// the blocked pod, if there is one among `finals`, is free to take its own. `start` is the cluster as it is, and is
/// again afterwards. None if there is no order, or the board is out of steps.
[[nodiscard]] std::optional<std::vector<pod_move>> order_moves(board& start, const final_places& finals,
                                                               std::int64_t hops_max);

/// The same for many pods, without a blocked one: what can move goes to its final place, and where nothing can, pods
/// that stand in the way of another one, the largest first, go through spare places, each pod a few times and
/// `hops_max` in all. That is no search, so an order may be missed. `start` is of no use afterwards.
[[nodiscard]] std::optional<std::vector<pod_move>> order_many_moves(board& start, const final_places& finals,
                                                                    std::int64_t hops_max);

} // namespace vgpualloc::plan
