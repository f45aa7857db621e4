#include "solver.hpp"
#include "vgpualloc/solver/highs.hpp"

namespace vgpusim::cli {

vgpualloc::expected<std::unique_ptr<vgpualloc::plan::lp_solver>> find_solver(const char* /*user*/) {
    return vgpualloc::solver::make_highs();
}

} // namespace vgpusim::cli
