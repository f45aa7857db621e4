// A simulation that stops at every decision, so that the caller decides.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpufacade/simulate.hpp"

namespace vgpufacade {

/// A job that waits for a decision: one pod, or several that start together.
struct pending_job {
    std::uint32_t job = 0;
    std::uint32_t first_pod = 0; ///< position in simulation_input::pods
    std::uint32_t pods = 1;
    vgpualloc::ticks time; ///< now
};

/// Goes from one decision to the next. Every job is decided once, when its last pod has arrived, and in the order of
/// arrival, as under the discipline try_once; one that is left does not come again.
class stepper {
public:
    /// Makes the run, without bounds and without a baseline. Errors: those of the replay; unsupported for options with
    /// a discipline of their own, bounds or a baseline, and for moves of pods.
    [[nodiscard]] static expected<stepper> begin(prepared_simulation prepared);
    stepper(stepper&&) noexcept;
    stepper& operator=(stepper&&) noexcept;
    ~stepper();

    /// Advances to the next job that is to be decided; none: the run is over. The job before it has been decided.
    [[nodiscard]] std::optional<pending_job> next();

    /// Lets the policy decide. False: the job does not fit and is left.
    bool decide();
    /// Starts the pods of the job on these nodes, one for each, which devices the device policy says. False: they do
    /// not fit there; the job still waits for a decision.
    bool place_on(std::span<const std::optional<vgpualloc::node_index>> nodes);
    /// The job is not placed.
    void leave();

    /// The cluster as it is now, and the allocator, which says what a node answers (ask_node()).
    [[nodiscard]] const vgpualloc::ledger& book() const noexcept;
    [[nodiscard]] vgpualloc::allocator& alloc() noexcept;
    [[nodiscard]] const vgpusim::simulation_input& input() const noexcept;

    /// What has become of the run. Jobs that nobody has decided are left.
    [[nodiscard]] expected<simulation_outcome> end() &&;

private:
    struct state;
    explicit stepper(std::unique_ptr<state> begun);
    std::unique_ptr<state> state_;
};

} // namespace vgpufacade
