// Which pods of a run a bound may take for granted: those that any policy of a kind has placed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpualloc/core/units.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

/// Pods that are forced, by request of the input, and how far they reach.
struct forced_pods {
    std::vector<double> of_request{};
    std::int64_t pods = 0;
    wide_requested_units asked{}; ///< by all of them
};

/// The first `count` arrivals: what every policy places that fails no pod before.
[[nodiscard]] forced_pods first_arrivals(const simulation_input& input, std::size_t count);

/// How many arrivals, from the first on, ask together for at most that much of all devices, in either dimension.
[[nodiscard]] std::size_t arrivals_up_to(const simulation_input& input, double load);

/// Pods that fit on arrival whatever a work-conserving policy (one that places every pod that fits somewhere) has done
/// before, shown by counting: on the nodes that could take the pod, the devices that earlier pods can have touched, and
/// those on nodes that they can have filled with their CPU, memory or number, are fewer than there are; or the same
/// with nodes for devices. Pods that wanted more than that are left out: several containers, devices or nodes by name,
/// tags, host rules. For workloads whose pods stay and clusters whose nodes do; others have no forced pods.
[[nodiscard]] forced_pods surely_placed(const simulation_input& input);

} // namespace vgpusim
