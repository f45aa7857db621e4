// From one geometry group to another: what a GPU is cut into changes as a whole, when none of its instances has a pod.
#pragma once

#include <optional>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgpualloc/plan/mig_transition.hpp"

namespace vgpualloc::plan {

struct mig_group_change_options {
    /// Whether instances that the new group has too stay where they are. Without it all are destroyed and all of the
    /// new group are created, as who cuts GPUs by a list of groups does it.
    bool keep_equal = true;
};

struct mig_group_change {
    std::vector<mig_step> steps; ///< those that destroy, by place, and then those that create, by place
    ticks cost;
    mig_places after = 0;

    bool operator==(const mig_group_change&) const = default;
};

/// The instances of `group` by profile, in the order of the model. Kinds of one name are added up.
/// Errors: unknown_name for a kind that the model has no profile of; out_of_range for a count below 0; mismatch, if so
/// many cannot exist at once, wherever they start.
[[nodiscard]] expected<std::vector<std::int64_t>> counts_of_group(const gpu_layouts& states, const mig_group& group);

/// The cheapest steps from `live` to exactly the instances of a group: of all layouts that have them, the one that
/// keeps the most, which in the graph of mig_transitions is the nearest; of those that keep as many the lowest number.
/// None if an instance has a pod: a group changes as a whole, when it is not in use. Errors: those of counts_of_group,
/// and mismatch for live instances that cannot exist together.
[[nodiscard]] expected<std::optional<mig_group_change>> change_group(const gpu_layouts& states,
                                                                     const mig_step_costs& costs,
                                                                     const mig_live_state& live, const mig_group& group,
                                                                     const mig_group_change_options& options = {});

} // namespace vgpualloc::plan
