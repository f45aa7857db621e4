// Changing what a MIG GPU is cut into, asked for in words: the state of a GPU, what is wanted of it, and the steps
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/plan/mig_transition.hpp"

namespace vgpualloc::plan {

/// A GPU as texts say it: instances as PROFILE@START, a profile by its name or by its id as nvidia-smi prints it.
struct transition_state {
    std::vector<std::string> instances{};
    std::vector<std::string> busy{};   ///< those that a pod has
    std::vector<std::string> pinned{}; ///< busy ones whose pods may not move
};

/// What errors call these texts, and what is wanted.
struct transition_names {
    std::string instances = "instances";
    std::string busy = "busy";
    std::string pinned = "pinned";
    std::string want = "want";
    std::string group = "group";
};

/// What is wanted of a GPU: one of `want` and `group`.
struct transition_request {
    std::string want{};               ///< PROFILE or PROFILE@START: a free instance of it
    std::vector<std::string> group{}; ///< PROFILE=COUNT: exactly the instances of another geometry group
    bool anew = false;                ///< of a group: nothing of the old one stays
    mig_transition_options moving{};  ///< of `want`, which is a profile where the fewest moves are wanted
    /// Places that pods were given and whose instances do not exist yet. An instance that `want` gives by its profile
    /// is another one, and all of these can be made beside it.
    mig_places promised = 0;
};

/// Steps that a driver and a scheduler can carry out, for either kind of request.
struct layout_plan {
    std::vector<mig_step> steps;
    ticks cost;
    ticks downtime;
    std::int64_t moves = 0;
    mig_live_state after;
    std::optional<std::size_t> place{}; ///< of the wanted instance, in gpu_layouts::places()

    bool operator==(const layout_plan&) const = default;
};

/// PROFILE@START.
[[nodiscard]] std::string name_of(const mig_model& model, const mig_slot& slot);

/// The GPU that the texts describe. Errors, with a name as `where`: malformed for what is no instance, unknown_name for
/// a profile, duplicate, mismatch for instances that cannot exist together, with the rule that they break, and for busy
/// or pinned ones that are not among those they have to be.
[[nodiscard]] expected<mig_live_state> read_live_state(const gpu_layouts& states, const transition_state& state,
                                                       const transition_names& names = {});

/// The plan that the request asks for; none if there is no such way. Errors: those of read_live_state(), of the texts
/// of what is wanted, and of mig_transitions::plan(), change_group() and repack_device().
[[nodiscard]] expected<std::optional<layout_plan>> plan_layout(mig_transitions& planner, const mig_live_state& live,
                                                               const transition_request& request,
                                                               const transition_names& names = {});

/// What the GPU is once a step has been carried out.
[[nodiscard]] mig_live_state after_step(const gpu_layouts& states, const mig_step& step, mig_live_state live);

} // namespace vgpualloc::plan
