// Changing what a GPU is cut into: the cheapest steps from the instances that it has to a free one of a wanted profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/plan/gpu_layouts.hpp"

namespace vgpualloc::plan {

/// What one step takes. The defaults are assumptions: NVIDIA publishes no times, and those that papers report could not
/// be looked up; measure a node and hand in what it takes (docs/transitions.md).
struct mig_step_costs {
    ticks create{1'000'000};  ///< a GPU instance and its compute instance
    ticks destroy{500'000};   ///< the same
    ticks restart{2'000'000}; ///< of a move: stopping the pod's processes and letting them go on, without copying
    std::int64_t copy_mib_per_s = 10'000; ///< of a move: memory to the host, and again from it to the new instance

    bool operator==(const mig_step_costs&) const = default;
};

enum class mig_step_kind {
    destroy, ///< an instance that no pod has; its slices are free afterwards
    create,  ///< an instance at a start, without a pod
    move, ///< a pod goes from its instance to one without a pod of the same profile; its old instance stays, without it
    save, ///< a pod's memory goes to the host and the pod waits; its instance stays, without it
    restore, ///< a saved pod goes on in an instance without a pod
};
[[nodiscard]] std::string_view name_of(mig_step_kind kind) noexcept;

/// One step as the driver wants it: nvmlDeviceCreateGpuInstanceWithPlacement takes `profile_id` and the placement
/// {start, size} in memory slices; nvidia-smi spells it `mig -cgi profile_id:start -C`.
struct mig_step {
    mig_step_kind kind = mig_step_kind::create;
    std::size_t profile = 0; ///< position in mig_model::profiles
    std::int64_t profile_id = 0;
    mig_units start; ///< of a move, where the pod goes to
    mig_units size;
    std::optional<mig_units> from; ///< of a move, where the pod was
    ticks takes;

    bool operator==(const mig_step&) const = default;
};

/// A GPU as its driver and its pods say. `busy` is a part of `instances`, `pinned` one of `busy`.
struct mig_live_state {
    mig_places instances = 0; ///< those that exist
    mig_places busy = 0;      ///< those that a pod has
    mig_places pinned = 0;    ///< busy ones whose pods stay where they are

    bool operator==(const mig_live_state&) const = default;
};

struct mig_transition_options {
    std::int64_t moves_max = 0; ///< pods' moves, of one pod as of several; 0: busy instances are not touched
    /// Whether a pod may wait on the host while its old instance makes room for its new one. Without it a pod's new
    /// instance exists before it leaves the old one, so a cycle needs a spare place and costs one move more.
    bool may_wait = false;
    /// The fewest moves, and among plans with so few the cheapest, instead of the cheapest of all.
    bool fewest_moves = false;

    bool operator==(const mig_transition_options&) const = default;
};

struct mig_transition {
    std::vector<mig_step> steps; ///< in order, one after the other; none if a free instance is there already
    ticks cost;                  ///< of all steps
    ticks downtime;              ///< summed over pods: from when one stops until it goes on
    std::int64_t moves = 0;
    mig_live_state after;  ///< before the request takes its instance; `pinned` as it was
    std::size_t place = 0; ///< of the free instance that the request gets

    bool operator==(const mig_transition&) const = default;
};

/// The graph of a model: its vertices are legal instance sets with the pods' places, its edges are steps, and an edge
/// is as long as the step takes. plan() answers from tables of distances to the vertices that have a free instance of
/// what is wanted, which Dijkstra's algorithm (Boost.Graph) finds once for all live states that differ only in what
/// steps can change; they are kept, so that later answers walk along a table. Not for two threads at once: plan() adds
/// tables.
class mig_transitions {
public:
    /// Errors: unsupported (gpu_layouts::make); out_of_range with the name of the cost, if one is not positive or
    /// longer than 10^12 ticks.
    [[nodiscard]] static expected<mig_transitions> make(const mig_model& model, const mig_step_costs& costs = {});

    mig_transitions(mig_transitions&&) noexcept;
    mig_transitions& operator=(mig_transitions&&) noexcept;
    ~mig_transitions();

    [[nodiscard]] const gpu_layouts& states() const noexcept { return states_; }
    [[nodiscard]] const mig_step_costs& costs() const noexcept { return costs_; }
    /// A move of a pod in an instance of this profile: the restart, and all of its memory copied twice. Memory that the
    /// catalog does not know is the profile's share of the GPU's.
    [[nodiscard]] ticks move_cost(std::size_t profile) const noexcept { return move_costs_[profile]; }

    /// The cheapest way to a free instance at one of the places `wanted` (states().places_of(profile), or fewer of
    /// them), or the cheapest with the fewest moves, or none if there is none. Of ways that cost the same: at every
    /// step the one earlier in this order, restore, destroy, create, move, save; of creations the one that leaves the
    /// most further places; then the lowest place. So a pod stops as late as the cheapest way allows. Errors: mismatch,
    /// if `live.instances` is not legal, or busy or pinned ones are not among those they have to be; out_of_range for
    /// moves_max below 0 or above moves_max_max.
    [[nodiscard]] expected<std::optional<mig_transition>> plan(const mig_live_state& live, mig_places wanted,
                                                               const mig_transition_options& options = {});

    static constexpr std::int64_t moves_max_max = 16;
    /// Tables are forgotten when they have more entries than this together (8 bytes each).
    static constexpr std::size_t entries_max = 4'000'000;
    [[nodiscard]] std::size_t entries() const noexcept { return entries_; }

private:
    struct table;
    using table_key = std::tuple<mig_places, std::size_t, mig_places, std::int64_t, bool>;

    mig_transitions(gpu_layouts states, const mig_step_costs& costs);
    [[nodiscard]] const table& table_for(const table_key& key);

    gpu_layouts states_;
    mig_step_costs costs_;
    std::vector<ticks> move_costs_; ///< by profile
    std::map<table_key, std::unique_ptr<const table>> tables_;
    std::size_t entries_ = 0;
};

} // namespace vgpualloc::plan
