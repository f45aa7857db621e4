// vgpusim: the command line of the simulator.
#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#if defined(__GLIBC__)
#include <malloc.h>
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

int run_command_line(int argc, char** argv) {
    CLI::App app{
        "Simulates scheduling on clusters of shared GPUs and NPUs, with the allocation core that schedulers link."};
    app.name("vgpusim");
    app.set_version_flag("--version", std::string{vgpualloc::version});
    app.require_subcommand(1);
    int exit_code = exit_done;
    add_run(app, exit_code);
    add_compare(app, exit_code);
    add_generate(app, exit_code);
    add_fetch(app, exit_code);
    add_listings(app, exit_code);
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
#if defined(__GLIBC__)
    // Growing tables are the larger part of a run's memory: keep their pages instead of mapping fresh ones at every growth.
    mallopt(M_MMAP_THRESHOLD, 1 << 28);
    mallopt(M_TRIM_THRESHOLD, 1 << 28);
    mallopt(M_TOP_PAD, 1 << 22);
#endif
    try {
        return vgpusim::cli::run_command_line(argc, argv);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "vgpusim: internal error: %s\n", failure.what());
        return vgpusim::cli::exit_failed;
    }
}
