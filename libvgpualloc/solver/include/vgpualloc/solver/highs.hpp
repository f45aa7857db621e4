// HiGHS (https://highs.dev, MIT licence), a solver of linear and integer programs, behind plan/lp.hpp. This header and
// its library are the only place that knows it.
#pragma once

#include <memory>

#include "vgpualloc/core/stop.hpp"
#include "vgpualloc/plan/lp.hpp"

namespace vgpualloc::solver {

/// HiGHS on one thread with a fixed seed: the simplex method for linear programs (dual; primal from a start), branch
/// and cut with gaps of zero where there are integers. Every solve is on its own and keeps nothing. Once `stop` is
/// raised, one that goes on and all that follow end with the error stopped.
[[nodiscard]] std::unique_ptr<plan::lp_solver> make_highs(const stop_signal& stop = {});

} // namespace vgpualloc::solver
