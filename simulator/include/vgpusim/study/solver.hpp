// The solver of linear programs, where the build has one.
#pragma once

#include <memory>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/plan/lp.hpp"

namespace vgpusim {

/// A solver; an error (unsupported) that names `user`, the command or flag that needs it, in a build without one.
[[nodiscard]] vgpualloc::expected<std::unique_ptr<vgpualloc::plan::lp_solver>> find_solver(const char* user);

} // namespace vgpusim
