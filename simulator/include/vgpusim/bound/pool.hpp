// The pool reference: all devices of a kind as one large device, which loses nothing to fragmentation.
#pragma once

#include <vector>

#include "vgpusim/engine/bound_figures.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

/// Replays arrivals and departures: a pod is accepted if a pool has the memory units and the compute units left that it
/// wants there (the first of the kinds of devices, in the cluster's order, that could serve it), else it is lost. Host
/// resources, nodes and the places on a device do not count.
/// That is no bound on how many pods a policy can accept: a pool takes large pods that no policy could place, which
/// then lack it the room for several small ones. What it says of memory units is a reference as well, not a proof.
/// Source: the pool reference of the project's study of MIG mixes.
[[nodiscard]] pool_outcome replay_pool(const simulation_input& input);

/// What those pods of the run amount to, in the units of the pool.
[[nodiscard]] pool_amounts amounts_of(const simulation_input& input, const std::vector<bool>& placed);

} // namespace vgpusim
