// Pods that go elsewhere so that another one fits: the value that planners return and that those who carry it out read.
#pragma once

#include <vector>

#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/placement.hpp"

namespace vgpualloc::plan {

/// A live pod and where all of it goes. While it is copied it has its old place and the new one.
struct pod_move {
    pod_id pod;
    placement from;
    placement to;

    bool operator==(const pod_move&) const = default;
};

/// Moves in the order in which they are carried out, one after the other: each new place is free once the moves before
/// it are done, without any other pod's old place. A move that goes through a spare place because its pod and another
/// one want each other's is two moves of the same pod.
struct move_plan {
    std::vector<pod_move> moves;
    placement where; ///< the place of the request that the plan makes room for, free after the last move

    bool operator==(const move_plan&) const = default;
};

} // namespace vgpualloc::plan
