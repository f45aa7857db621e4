// Where the build found no HiGHS: what needs a solver says why it cannot work.
#include "vgpusim/study/solver.hpp"

namespace vgpusim {

expected<std::unique_ptr<vgpualloc::plan::lp_solver>> find_solver(const char* user, const stop_signal& /*stop*/) {
    return unexpected(error{.code = error_code::unsupported,
                            .where = user,
                            .field = "",
                            .value = "",
                            .expected = "a vgpusim built with HiGHS; this one was built without"});
}

} // namespace vgpusim
