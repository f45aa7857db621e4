// How many empty nodes of a kind some pods need at least, whatever places them.
#pragma once

#include <cstdint>
#include <span>

#include "vgpualloc/model/request.hpp"
#include "vgpualloc/plan/lp.hpp"
#include "vgpuops/whatif/changes.hpp"

namespace vgpuops::whatif {

/// So many nodes have as much as the pods ask for together; at least one where there are pods. `nodes` has the kinds of
/// the devices.
[[nodiscard]] std::int64_t nodes_by_amounts(std::span<const vgpualloc::counted_request> pods, const node_kind& kind,
                                            const vgpualloc::cluster& nodes);

/// The smallest number from `least` to `most` with which an integer program places the pods on nodes of their own, one
/// group a node (plan/cluster_packing.hpp). A number for which the program is too large, or the solver ends early, is
/// taken to be enough: what is returned is a bound in any case. `most` is enough.
[[nodiscard]] std::int64_t nodes_by_program(std::span<const vgpualloc::counted_request> pods, const node_kind& kind,
                                            const vgpualloc::cluster& nodes, std::int64_t least, std::int64_t most,
                                            vgpualloc::plan::lp_solver& solver);

} // namespace vgpuops::whatif
