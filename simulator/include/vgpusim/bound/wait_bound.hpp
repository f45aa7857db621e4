// Lower bounds on how long pods wait in the order of their arrival, whichever nodes a policy chooses (docs/bound.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vgpusim/bound/workload_packing.hpp"

namespace vgpusim {

/// A condition in whole numbers, so that it says the same on every machine: what runs is worth at most `most`.
struct whole_cut {
    std::vector<std::int64_t> of_request{}; ///< by request, what one of its pods is worth
    std::int64_t most = 0;
};

/// Pods that wait for their turn where nothing but some conditions counts.
struct pooled_queue {
    std::vector<std::optional<ticks>> waits{}; ///< by pod of the input; absent: it never fits and does not wait
    double mean_s = 0.0;                       ///< of those that wait
    double gpu_mean_s = 0.0;                   ///< each as often as it asks for GPUs
    std::int64_t pods = 0;
};

/// Replays the arrivals: a pod starts as soon as those before it have started and all that run then meet the
/// conditions with it. Every pod of the input that fits has a duration. `never_fits`: by request.
[[nodiscard]] pooled_queue replay_pooled_queue(const simulation_input& input, const std::vector<bool>& never_fits,
                                               std::span<const whole_cut> cuts);

/// How hard conditions are searched for.
struct wait_search {
    std::size_t rounds_max = 12;
    std::size_t states_per_round = 6; ///< that are looked at for a condition which they do not meet
    double gain_min = 0.002;          ///< of the mean wait, that a round has to add
};

struct wait_bound {
    pooled_queue queue;
    std::size_t cuts = 0;
};

/// Every pod waits at least as long with every policy, first come, first served. The conditions are those of GPUs, CPU
/// and memory, and those that show that a state which the pool reached is none of any packing.
[[nodiscard]] expected<wait_bound> least_waits(const simulation_input& input, const std::vector<bool>& never_fits,
                                               workload_packing& packing, vgpualloc::plan::lp_solver& solver,
                                               const wait_search& search = {});

} // namespace vgpusim
