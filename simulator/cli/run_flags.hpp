// The flags that `run` and `compare` share, and how they become a configuration.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpusim/engine/record.hpp"
#include "vgpusim/outputs/run_files.hpp"
#include "vgpusim/study/run.hpp"
#include "vgpusim/study/scenario.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace vgpusim::cli {

struct run_flags {
    std::string scenario;
    std::vector<std::string> settings;                      ///< of --set, "key=value"
    std::vector<std::pair<std::string, std::string>> keyed; ///< key, value of every other flag that was used
    bool json = false;
};

/// What a command line asks for: a run, and the run that the scenario holds it against.
struct run_plan {
    run_config run;
    std::optional<run_config> baseline;
};

/// Adds the shared flags to a command. `flags` is filled when the command line is parsed.
void add_run_flags(CLI::App& command, const std::shared_ptr<run_flags>& flags);
/// Adds a flag that sets the key, with the key's default in its help.
CLI::Option* add_keyed_flag(CLI::App& command, const std::shared_ptr<run_flags>& flags, const std::string& flag,
                            const std::string& key, const std::string& type, const std::string& help);

/// The scenario, then --set, then flags; later ones win. What the scenario says of the baseline wins over all of them.
[[nodiscard]] run_plan plan_from(const run_flags& flags);

/// Refuses an output folder in which one of the outputs would replace an input: a list or the scenario.
void keep_inputs(const run_flags& flags, const run_config& config, const loaded_input& loaded,
                 const std::vector<std::string>& outputs);

/// Writes the texts into the folder, all of them or none, and removes what an earlier run or comparison has left there
/// besides.
void write_texts(const std::string& folder, const named_texts& files);
/// The text of that name, which is among the files.
[[nodiscard]] const std::string& text_of(const named_texts& files, std::string_view name);

/// Prints the warnings of an input on standard error, one line for each.
void print_warnings(const loaded_input& loaded);
/// Likewise what of a run is most likely not what it seems.
void print_warnings(const run_record& record);

/// The paths of the lists that were read, as they may be shown.
[[nodiscard]] std::string inputs_in_words(const loaded_input& loaded);

/// A progress display on a terminal: arrivals, or other `units`, done of `total`, rate, time left. Silent on a pipe.
[[nodiscard]] simulation::progress progress_bar(std::string label, std::size_t total, const char* units = "pods");
/// The same for a simulation, whose label and total come with every call; empty on a pipe.
[[nodiscard]] std::function<void(std::string_view label, std::size_t done, std::size_t total)> progress_bars();
/// Clears what progress_bar() left on the terminal.
void end_progress();

} // namespace vgpusim::cli
