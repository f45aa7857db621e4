// The commands of vgpusim: each function adds one subcommand, whose callback leaves the exit code in `exit_code`.
#pragma once

#include <string>

#include "vgpuformats/files.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace CLI {
class App;
} // namespace CLI

namespace vgpusim::cli {

inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;    ///< a failed check or an internal error
inline constexpr int exit_bad_input = 2; ///< bad input or usage: one clear error on stderr, nothing written

void add_run(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_study(CLI::App& app, int& exit_code);
void add_conformance(CLI::App& app, int& exit_code);
void add_generate(CLI::App& app, int& exit_code);
void add_fetch(CLI::App& app, int& exit_code);
void add_catalog(CLI::App& app, int& exit_code);
void add_transition(CLI::App& app, int& exit_code);
void add_validate(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_snapshot(CLI::App& app, int& exit_code);
void add_whatif(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_bound(CLI::App& app, int& exit_code);
void add_replay(CLI::App& app, int& exit_code);
void add_listings(CLI::App& app, int& exit_code);

/// Adds the command `help`, and examples to the help of all commands: it comes last.
void add_help(CLI::App& app, int& exit_code);
/// Refuses a name that no command has, and says which there are.
[[nodiscard]] expected<void> check_command(const CLI::App& app, const std::string& name);

/// Prints the error as one line on stderr, "vgpusim: <message>", and returns exit_bad_input, or exit_failed where the
/// system is the reason: a full disk.
int report_write_failure(const vgpuformats::write_failure& failure);
/// Prints the error as one line on stderr, "vgpusim: <message>", and returns exit_bad_input.
int report_error(const error& failure);

} // namespace vgpusim::cli
