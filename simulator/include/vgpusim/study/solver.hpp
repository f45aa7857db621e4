// The solver of linear programs, where the build has one.
#pragma once

#include <memory>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpualloc/plan/lp.hpp"

namespace vgpusim {

/// A solver, which returns the error stopped once the caller wants an end. An error (unsupported) that names `user`,
/// the command or flag that needs it, in a build without one.
[[nodiscard]] vgpualloc::expected<std::unique_ptr<vgpualloc::plan::lp_solver>>
find_solver(const char* user, const vgpualloc::stop_signal& stop = {});

} // namespace vgpusim
