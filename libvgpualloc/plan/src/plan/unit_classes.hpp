// Units that are alike to the pods that may move, and what such a unit could take: the data of a bound on how few units
// stay in use (consolidation_bound.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vgpualloc/plan/defragment.hpp"

namespace vgpualloc::plan {

/// Pods of a class on units of a class.
struct unit_option {
    std::uint32_t pods = 0;       ///< position in unit_classes::pods
    std::int64_t most = 0;        ///< of them on one unit
    std::vector<double> demand{}; ///< of one pod, by amount
};

struct unit_class {
    std::int64_t count = 0;
    bool stays = false;             ///< a pod that stays is on each of them
    std::vector<double> capacity{}; ///< of a unit, by amount, beside what stays
    std::vector<unit_option> options{};
};

struct unit_classes {
    std::vector<std::int64_t> pods{}; ///< how many there are, by class; parts of pods where the units are devices
    std::vector<unit_class> units{};
};

/// None if there would be more options than that. Whatever moves are made, the pods that may move can be counted as
/// pods on units in use such that each class of units takes no more than its options and capacities say.
[[nodiscard]] std::optional<unit_classes> classify_units(const ledger& book, std::span<const movable_pod> movable,
                                                         emptied_unit unit, std::size_t options_max);

} // namespace vgpualloc::plan
