// The order in which instances take their new places.
#pragma once

#include <vector>

#include "vgpualloc/plan/device_repack.hpp"

namespace vgpualloc::plan {

/// `wishes`, each with both places, as steps: a pod moves as soon as its new place may be taken beside all that exist;
/// where no pod can, the first one that has not moved stops and waits. `layout` has the old places; with the new ones
/// it is legal.
[[nodiscard]] std::vector<instance_move> in_order(const mig_states& states, mig_places layout,
                                                  std::vector<instance_move> wishes);

} // namespace vgpualloc::plan
