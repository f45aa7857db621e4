#include "vgpualloc/solver/highs.hpp"
#include "vgpusim/study/solver.hpp"

namespace vgpusim {

expected<std::unique_ptr<vgpualloc::plan::lp_solver>> find_solver(const char* /*user*/, const stop_signal& stop) {
    return vgpualloc::solver::make_highs(stop);
}

} // namespace vgpusim
