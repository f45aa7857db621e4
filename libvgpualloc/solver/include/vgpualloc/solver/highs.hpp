// HiGHS (https://highs.dev, MIT licence), a solver of linear and integer programs, behind plan/lp.hpp. This header and
// its library are the only place that knows it.
#pragma once

#include <memory>
#include <string>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpualloc/plan/lp.hpp"

namespace vgpualloc::solver {

/// HiGHS on one thread with a fixed seed: the simplex method for linear programs (dual; primal from a start), branch
/// and cut with gaps of zero where there are integers. Every solve is on its own and keeps nothing. Once `stop` is
/// raised, one that goes on and all that follow end with the error stopped.
/// The library is linked, by vgpualloc::solver.
[[nodiscard]] std::unique_ptr<plan::lp_solver> make_highs(const stop_signal& stop = {});

/// The same with a library that is loaded now, by its path: what links vgpualloc::solver_loader alone needs no HiGHS to
/// be built or started. Errors: unsupported, if it cannot be loaded or is no HiGHS that can be called.
[[nodiscard]] expected<std::unique_ptr<plan::lp_solver>> load_highs(const std::string& library,
                                                                    const stop_signal& stop = {});

} // namespace vgpualloc::solver
