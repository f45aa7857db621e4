// vgpusim: the command line of the simulator.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#if defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "commands.hpp"
#include "vgpualloc/version.hpp"

namespace vgpusim::cli {

int report_error(const vgpualloc::error& failure) {
    fmt::print(stderr, "vgpusim: {}\n", failure.message());
    return exit_bad_input;
}

namespace {

/// CLI11's messages may span lines; the user gets one.
std::string one_line(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    for (char& c : text) {
        if (c == '\n') c = ' ';
    }
    return text;
}

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

int run_command_line(int argc, char** argv) {
    CLI::App app{
        "Simulates scheduling on clusters of shared GPUs and NPUs, with the allocation core that schedulers link."};
    app.name("vgpusim");
    app.set_version_flag("--version", std::string{vgpualloc::version});
    app.require_subcommand(1);
    int exit_code = exit_done;
    add_run(app, exit_code);
    add_compare(app, exit_code);
    add_conformance(app, exit_code);
    add_generate(app, exit_code);
    add_fetch(app, exit_code);
    add_catalog(app, exit_code);
    add_validate(app, exit_code);
    add_explain(app, exit_code);
    add_listings(app, exit_code);
    add_help(app, exit_code);
    if (argc > 1 && argv[1][0] != '-') {
        if (const auto known = check_command(app, argv[1]); !known) return report_error(known.error());
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& help_or_version) {
        return app.exit(help_or_version);
    } catch (const CLI::ParseError& failure) {
        fmt::print(stderr, "vgpusim: {} (see vgpusim --help)\n", one_line(failure.what()));
        return exit_bad_input;
    }
    // A full disk or a closed pipe behind standard output must not pass for success.
    if (std::fflush(stdout) != 0 && exit_code == exit_done) {
        fmt::print(stderr, "vgpusim: standard output: cannot be written\n");
        return exit_failed;
    }
    return exit_code;
}

} // namespace
} // namespace vgpusim::cli

int main(int argc, char** argv) {
    vgpusim::cli::prepare_heap();
    try {
        return vgpusim::cli::run_command_line(argc, argv);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "vgpusim: internal error: %s\n", failure.what());
        return vgpusim::cli::exit_failed;
    }
}
