// The solver of linear programs, where the build has one.
#pragma once

#include <memory>

#include "vgpualloc/plan/lp.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// A solver, which returns the error stopped once the caller wants an end. An error (unsupported) that names `user`,
/// the command or flag that needs it, in a build without one.
[[nodiscard]] expected<std::unique_ptr<vgpualloc::plan::lp_solver>> find_solver(const char* user,
                                                                                const stop_signal& stop = {});

} // namespace vgpusim
