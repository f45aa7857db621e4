// For systems without clocks of CPU time: there the only thread has the processor to itself, so that the time that
// passes is near it.
#include "vgpusim/engine/latency.hpp"

namespace vgpusim {

double cpu_seconds() noexcept { return static_cast<double>(now_ns()) / 1e9; }

double thread_cpu_seconds() noexcept { return cpu_seconds(); }

} // namespace vgpusim
