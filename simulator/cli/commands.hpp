// The commands of vgpusim: each function adds one subcommand, whose callback returns when all is done, or throws a
// command_end.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "vgpuformats/files.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace CLI {
class App;
} // namespace CLI

namespace vgpusim::cli {

inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;    ///< a failed check or an internal error
inline constexpr int exit_bad_input = 2; ///< bad input or usage: one clear error on stderr, nothing written

void add_run(CLI::App& app);
void add_compare(CLI::App& app);
void add_study(CLI::App& app);
void add_conformance(CLI::App& app);
void add_generate(CLI::App& app);
void add_fetch(CLI::App& app);
void add_catalog(CLI::App& app);
void add_transition(CLI::App& app);
void add_validate(CLI::App& app);
void add_explain(CLI::App& app);
void add_snapshot(CLI::App& app);
void add_show(CLI::App& app);
void add_forecast(CLI::App& app);
void add_import(CLI::App& app);
void add_why(CLI::App& app);
void add_whatif(CLI::App& app);
void add_plan(CLI::App& app);
void add_bound(CLI::App& app);
void add_replay(CLI::App& app);
void add_listings(CLI::App& app);

/// Adds the command `help`, and examples to the help of all commands: it comes last.
void add_help(CLI::App& app);
/// Refuses a name that no command has, and says which there are.
[[nodiscard]] expected<void> check_command(const CLI::App& app, const std::string& name);

/// Prints the error as one line on stderr, "vgpusim: <message>".
void report_error(const error& failure);

/// What ends a command before its end: thrown past CLI11 to run_command_line(), which returns the code.
struct command_end {
    int code = exit_failed;
};

/// Reports the error and ends the command.
[[noreturn]] void end_with(const error& failure, int code = exit_bad_input);

/// The value, or the end of the command: exit_failed where the system is the reason of an error, a full disk; else
/// exit_bad_input.
template <class Value, class Failure>
Value or_end(expected<Value, Failure> result) {
    if (!result) {
        bool of_system = false;
        if constexpr (requires { result.error().of_system; }) of_system = result.error().of_system;
        end_with(result.error(), of_system ? exit_failed : exit_bad_input);
    }
    if constexpr (!std::is_void_v<Value>) return *std::move(result);
}

} // namespace vgpusim::cli
