// How few devices or nodes any moves could leave in use, by a linear program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/plan/defragment.hpp"
#include "vgpualloc/plan/lp.hpp"

namespace vgpualloc::plan {

struct units_bound_limits {
    std::size_t columns_max = 100'000; ///< of the program
    lp_limits solver{.iterations = 200'000};
};

/// No moves of pods among `movable`, and so no plan of consolidate(), leave fewer units with pods on their devices.
/// None where the program is larger than allowed, or the solver gives up before it has a bound.
///
/// Units that are alike to the pods (devices, what stays on them, host, which pods may come) are a class k, pods that
/// ask alike a class c:
///   min  sum y_k,                             units of k in use: all of them where a pod that stays is on each
///   s.t. sum_k x_ck = pods of c
///        sum_c f_r(demand_ckr) x_ck <= capacity_kr y_k    for each amount r and each f_r
///        x_ck <= most_ck y_k
/// Amounts are the shares of device memory and compute that are asked for (sharing_mode::requested) and, of nodes, CPU,
/// memory and the limit of pods. `f_r` is the amount itself and, of shares of devices, functions that round it so that
/// what fits on a device still does: two shares above a half are more than one device. Source: Fekete and Schepers,
/// "New classes of fast lower bounds for bin packing problems" (2001). `most_ck` is how many pods of c a unit of k
/// takes beside what stays, found by placing them until the mode refuses.
///
/// What could make the bound too high is left out. A pod may stay where nobody may come (a cordon, a device out of
/// service). One that has less than it asks for is not counted. A pod on several devices is as many parts where the
/// units are devices. Host resources do not count there, nor tags of pods that move. The value is computed from the
/// solver's prices by weak duality, so that it holds whatever the solver's tolerances. Errors: those of the solver.
[[nodiscard]] expected<std::optional<std::int64_t>> least_units_by_lp(const ledger& book,
                                                                      std::span<const movable_pod> movable,
                                                                      emptied_unit unit, lp_solver& solver,
                                                                      const units_bound_limits& limits = {});

} // namespace vgpualloc::plan
