// How many pods MIG layouts of nodes have instances for, as an integer program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/dialect/nvidia_layouts.hpp"
#include "vgpualloc/plan/lp.hpp"

namespace vgpuops::whatif {

/// Instances by profile.
using instance_counts = std::map<std::string, std::int64_t>;

/// A node of the set, and what it may be cut into.
struct cuttable {
    std::string name;
    std::int64_t gpus = 0;
    std::vector<vgpualloc::dialects::nvidia::layout> layouts{}; ///< the first is that of now, without a name if it has
                                                                ///< none
    instance_counts now{};                                      ///< of all its GPUs
    instance_counts used_above{};                               ///< by its pods, beyond these
    std::int64_t pods = 0;                                      ///< that have its GPUs or instances

    /// What the node has with one of its layouts.
    [[nodiscard]] instance_counts instances_with(std::size_t layout) const;
    /// The same, with what its pods have beyond that as long as it is not cut.
    [[nodiscard]] instance_counts room_with(std::size_t layout) const;
};

/// One choice for every node, by position in cuttable::layouts.
using way = std::vector<std::size_t>;

/// What every way has to share out.
struct instance_demand {
    std::map<instance_counts, std::int64_t> pods{}; ///< by what one asks for
    instance_counts elsewhere{};                    ///< instances that no way changes
};

struct way_by_program {
    std::int64_t pods_max = 0;   ///< of the demand: under no way instances are enough for more
    std::optional<way> chosen{}; ///< has instances for so many, with the fewest pods on nodes that are cut; none: the
                                 ///< search was too long
};

/// Counts instances and nothing else of nodes, so what it chooses has to be tried. Nodes that are alike are cut by
/// ascending number of pods. None where the solver fails or ends before it has a bound.
[[nodiscard]] std::optional<way_by_program>
best_way_by_program(std::span<const cuttable> nodes, const instance_demand& demand, vgpualloc::plan::lp_solver& solver);

} // namespace vgpuops::whatif
