#include "vgpucli/command_line.hpp"

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "usage_words.hpp"
#include "vgpualloc/version.hpp"

namespace vgpusim::cli {

namespace {

/// One line on standard error. A standard error that cannot be written is no reason to end otherwise.
void tell(const std::string& sentence) { std::fputs(("vgpusim: " + sentence + "\n").c_str(), stderr); }

} // namespace

void report_error(const error& failure) { tell(failure.message()); }

void end_with(const error& failure, int code) {
    report_error(failure);
    throw command_end{code};
}

namespace {

int run_command_line(int argc, char** argv) {
    CLI::App app{
        "Simulates scheduling on clusters of shared GPUs and NPUs, with the allocation core that schedulers link."};
    app.name("vgpusim");
    app.set_version_flag("--version", std::string{vgpualloc::version});
    app.require_subcommand(1);
    for (const auto add :
         {add_run,     add_compare,    add_study,    add_conformance, add_generate, add_fetch,    add_import,
          add_catalog, add_transition, add_validate, add_show,        add_why,      add_explain,  add_snapshot,
          add_whatif,  add_forecast,   add_plan,     add_bound,       add_replay,   add_listings, add_help}) {
        add(app);
    }
    try {
        if (argc > 1 && argv[1][0] != '-') or_end(check_command(app, argv[1]));
        app.parse(argc, argv);
    } catch (const command_end& end) {
        return end.code;
    } catch (const CLI::Success& help_or_version) {
        app.exit(help_or_version);
    } catch (const CLI::ParseError& failure) {
        tell(usage_words(failure) + " (see vgpusim --help)");
        return exit_bad_input;
    }
    return exit_done;
}

/// A full disk or a closed pipe behind standard output must not pass for success. `code` is that of a command that has
/// printed what it has to say.
int after_printing(int code) {
    std::cout.flush();
    const bool printed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
    if (printed || code != exit_done) return code;
    tell("standard output: cannot be written");
    return exit_failed;
}

} // namespace

int run_program(int argc, char** argv) {
    try {
        return after_printing(run_command_line(argc, argv));
    } catch (const std::system_error& failure) { // fmt throws what errno says of standard output
        tell("standard output: cannot be written: " + failure.code().message());
    } catch (const std::exception& failure) {
        tell(std::string{"internal error: "} + printable(failure.what()));
    }
    return exit_failed;
}

} // namespace vgpusim::cli
