#include <ctime>

#include "vgpusim/engine/latency.hpp"

namespace vgpusim {

double cpu_seconds() noexcept { return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC); }

double thread_cpu_seconds() noexcept {
    std::timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

} // namespace vgpusim
