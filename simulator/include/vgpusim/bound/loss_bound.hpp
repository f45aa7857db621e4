// Upper bounds on what a long run whose pods leave can accept and hold, by averages over time (docs/bound.md).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "vgpusim/bound/workload_packing.hpp"

namespace vgpusim {

/// The durations of pods that are alike, and what can be said of one of which nobody knows which it is. A pod that
/// stays has an infinite one.
class known_durations {
public:
    explicit known_durations(std::vector<double> seconds);

    /// The mean of the smaller of the duration and `most`.
    [[nodiscard]] double mean_up_to(double most) const;
    /// The part of them that is longer.
    [[nodiscard]] double share_longer_than(double seconds) const;

private:
    std::vector<double> sorted_;
    std::vector<double> sums_; ///< of the shortest ones
};

/// How the moments of a run count in a mean: not at all before `from`, each second as 1 up to `until`, and the moment
/// `until` as much as `at_end` seconds. Any such mean of packings is a fractional packing.
struct time_weights {
    double from = 0.0;
    double until = 0.0;
    double at_end = 0.0;

    [[nodiscard]] double total() const noexcept { return until - from + at_end; }
    /// What the time from `begin` to `end` counts, in seconds.
    [[nodiscard]] double of(double begin, double end) const noexcept;
};

/// A pod that a run may accept when it arrives, or lose.
struct lossy_pod {
    std::uint32_t request = 0;
    double arrival_s = 0.0; ///< after the first one
    double duration_s = 0.0;
    double gpus = 0.0;         ///< that it asks for; 0 where it never fits
    double counted_gpus = 0.0; ///< the same; 0 also for pods that only fill the cluster before counting begins
};

/// The pods of an input as these bounds see them. Time begins with the first arrival.
struct lossy_workload {
    std::vector<lossy_pod> pods{};
    double until_s = 0.0;                     ///< the last arrival
    double gpus_arrived = 0.0;                ///< of all pods that count, those that never fit too
    double mean_duration_s = 0.0;             ///< by GPUs, at most until_s
    std::vector<known_durations> durations{}; ///< by request
};

/// `never_fits`: by request.
[[nodiscard]] lossy_workload lossy_workload_of(const simulation_input& input, const std::vector<bool>& never_fits);

/// A bound on the GPUs that are accepted, and what it was proven with.
struct accepted_bound {
    double gpus = 0.0;
    time_weights weights{};
    double scale = 0.0;  ///< of the prices
    std::size_t cut = 0; ///< which of the conditions
};

/// On the GPUs that any policy accepts, even one that knows all arrivals and durations.
[[nodiscard]] accepted_bound most_accepted(const lossy_workload& workload, const workload_packing& packing,
                                           std::span<const packing_cut> cuts);

/// On the mean of the GPUs that a policy accepts which does not know durations, where the durations of a request's pods
/// are independent draws of one distribution, that of the workload's own durations.
[[nodiscard]] accepted_bound most_accepted_blindly(const lossy_workload& workload, const workload_packing& packing,
                                                   std::span<const packing_cut> cuts);

/// By how much a run may pass a blind bound because the pods that it accepted happened to be short, in GPUs: what it
/// accepted is at most the bound and this.
[[nodiscard]] double luck_of(const lossy_workload& workload, const workload_packing& packing,
                             std::span<const packing_cut> cuts, const accepted_bound& bound,
                             const std::vector<bool>& accepted);

/// On the GPUs, in the mean from the first arrival to the last one, that running pods ask for. `may_wait`: pods may
/// start later than they arrive.
[[nodiscard]] double most_served(const lossy_workload& workload, const workload_packing& packing,
                                 std::span<const packing_cut> cuts, bool may_wait);

/// Conditions that prove good bounds: at the prices of packing what is offered on average.
[[nodiscard]] expected<std::vector<packing_cut>> loss_cuts(const lossy_workload& workload, workload_packing& packing,
                                                           vgpualloc::plan::lp_solver& solver);

} // namespace vgpusim
