// All pods packed anew by first fit decreasing, and the moves that lead there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "vgpualloc/plan/defragment.hpp"

namespace vgpualloc::plan {

struct packed_anew {
    std::optional<consolidation> plan;
    std::int64_t steps = 0;
};

/// Of the packings that leave fewer units in use than `used_max` one that leaves the fewest that are found, and of
/// these one with few moves.
[[nodiscard]] packed_anew pack_anew(const ledger& book, std::span<const movable_pod> movable, emptied_unit unit,
                                    const move_budget& budget, const move_costs& costs, std::int64_t used_min,
                                    std::int64_t used_max);

} // namespace vgpualloc::plan
