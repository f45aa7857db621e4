// vgpusim: the command line of the simulator.
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#if defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "vgpucli/command_line.hpp"

namespace {

/// Growing tables are the larger part of a run's memory, and taking them from the system page by page costs more than
/// filling them: keep freed pages, and ask for the first megabytes at once.
void prepare_heap() {
#if defined(__GLIBC__)
    constexpr int keep_bytes = 1 << 28;
    constexpr std::size_t first_bytes = std::size_t{10} << 20U;
    mallopt(M_MMAP_THRESHOLD, keep_bytes);
    mallopt(M_TRIM_THRESHOLD, keep_bytes);
    mallopt(M_TOP_PAD, 1 << 22);
#if defined(MADV_POPULATE_WRITE)
    const std::unique_ptr<void, decltype(&std::free)> first{std::malloc(first_bytes), &std::free};
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(first.get()) + page - 1) / page * page;
    if (first) madvise(reinterpret_cast<void*>(begin), first_bytes - page, MADV_POPULATE_WRITE);
#endif
#endif
}

} // namespace

int main(int argc, char** argv) {
    // A file that reaches the limit of its size is an error of write(2), after which we clean up, and not the end.
    std::signal(SIGXFSZ, SIG_IGN);
    prepare_heap();
    return vgpusim::cli::run_program(argc, argv);
}
