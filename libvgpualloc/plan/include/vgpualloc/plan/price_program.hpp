// Prices of what devices have left, from the packing program of a workload.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/plan/lp.hpp"
#include "vgpualloc/policy/price_table.hpp"

namespace vgpualloc::plan {

/// The workload of pods that arrive, each weighted by how often it does.
using weighted_pods = std::vector<std::pair<const pod_request*, double>>;

/// Solves the packing program of the pods on the devices of the cluster, all empty, with as many of the pods as the
/// devices have room for by size, and prices every kind of device by its solution: an idle device at the dual price of
/// its class, a part at its value beyond the dual price of its type. Where parts leave no rest behind, or a kind is
/// asked for less than others, devices are not scarce then and cost nothing: such kinds are priced by the first program
/// in which they are, with 2, 4, 8, … up to 128 % more of the pods; kinds that never are stay worth their size. Values
/// are milli-GPU. Hosts are left out: CPU is for the policy to count.
///
/// Which models pods ask for is left out too: where few devices are wanted by name, the others would cost nothing, and
/// any placement would do there. Where pods do name models, the program is solved once more with what
/// they name, and the premium of a kind is how much more one of its devices is worth than one of the cheapest kind, as
/// a part of what one of the dearest is worth. Of more than 64 kinds of pods those that are asked for most count.
/// Errors: those of pack_cluster() and of the solver; a program that it gives up on.
[[nodiscard]] expected<price_table> solve_prices(const cluster& nodes, const weighted_pods& demand, lp_solver& solver);

/// The same with a workload; its weights, or its frequencies where there are none.
[[nodiscard]] expected<price_table> solve_prices(const cluster& nodes, const workload& demand, lp_solver& solver);

/// When prices are learned: from counts of arrivals that decay, solved anew after so many arrivals.
struct price_learning {
    double window_arrivals = 2000; ///< in which the weight of an arrival falls to 1/e
    std::int64_t every = 500;      ///< arrivals from one solution to the next; before these after 1, 2, 4, 8, …
};

/// Replaces the prices of a book while pods arrive, from nothing but those that have. Counts of arrivals decide, so
/// that the same arrivals give the same prices.
class price_learner {
public:
    /// `nodes`: what devices there are. All of these outlive the learner.
    price_learner(const cluster& nodes, lp_solver& solver, price_book& book, price_learning options)
        : nodes_{&nodes}, solver_{&solver}, book_{&book}, options_{options} {}

    /// Counts a pod that has arrived. Errors: those of solve_prices().
    [[nodiscard]] expected<void> note_arrival(const pod_request& request);

    [[nodiscard]] std::int64_t solutions() const noexcept { return solutions_; }

private:
    [[nodiscard]] bool is_due() const noexcept;

    const cluster* nodes_;
    lp_solver* solver_;
    price_book* book_;
    price_learning options_;
    std::map<pod_request, double> counts_; ///< in units of `increment_`
    double increment_ = 1.0;               ///< what an arrival weighs now; it grows instead of all counts decaying
    std::int64_t arrived_ = 0;
    std::int64_t solutions_ = 0;
};

} // namespace vgpualloc::plan
