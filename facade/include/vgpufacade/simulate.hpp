// A simulation as a call: inputs and options are values, and so is what comes out. No file is opened and none written.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/policy/parse.hpp"
#include "vgpufacade/columns.hpp"
#include "vgpufacade/core_names.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpusim/outputs/run_files.hpp"
#include "vgpusim/study/parallel.hpp"
#include "vgpusim/study/run.hpp"
#include "vgpusim/workload/settings.hpp"

namespace vgpufacade {

/// An input of several simulations, which the first of them reads. They may run side by side, and differ in nothing but
/// vgpusim::keys_of_decisions().
class common_input {
public:
    /// Errors: those of vgpusim::load_input(); then the next one reads it again.
    [[nodiscard]] expected<std::shared_ptr<const vgpusim::loaded_input>>
    get(const vgpusim::run_config& config, const vgpuformats::input_source& source, const stop_signal& stop);

private:
    vgpusim::turn reading_;
    std::shared_ptr<const vgpusim::loaded_input> loaded_;
};

/// What is to be simulated. Fields of `config` that name inputs name what the source has.
struct simulate_options {
    vgpusim::run_config config;
    std::optional<vgpusim::run_config> baseline{}; ///< a run that the first one is compared with
    bool bound = false;                            ///< also bound what any policy could have served
    /// Policies and a discipline as objects, for the run and not for its baseline; `config.policy` and
    /// `config.discipline` are then the names that outputs show.
    vgpualloc::policies_maker make_policies{};
    std::function<std::unique_ptr<vgpusim::discipline>()> make_discipline{};
    /// What else there is of the run than figures and samples. Without everything an outcome has neither files nor an
    /// answer, and its pods are not shown; it is everything in a run with a baseline or bounds.
    vgpusim::kept_of_run kept = vgpusim::kept_of_run::everything;
    std::shared_ptr<common_input> input{}; ///< null: read by this run alone
};

/// Options by name as the command line has them: the keys of docs/formats.md, and "bound", "true" or "false". Errors:
/// those of vgpusim::set_key().
[[nodiscard]] expected<void> set_option(simulate_options& options, std::string_view name, std::string_view value);

/// Names and values; a name may come more than once.
using named_options = std::vector<std::pair<std::string, std::string>>;

/// What a scenario asks for, the input that an option of that name names, and options, which win over it. Errors: those
/// of vgpusim::read_scenario() and set_option().
[[nodiscard]] expected<simulate_options> options_from(const named_options& options,
                                                      const vgpuformats::input_source& source);

/// How a caller follows a simulation and ends it.
struct progress {
    /// Called now and then with the pods of `what`, a policy or "baseline", that have arrived, of how many; empty:
    /// nobody wants to know.
    std::function<void(std::string_view what, std::size_t done, std::size_t total)> tell{};
    /// Asked often: true ends the call with the error `stopped`. It may look at a clock, and has to go on answering
    /// true. Empty: nothing ends the call.
    std::function<bool()> stop{};
};

/// A finished simulation. A copy shares what it shows; any number of threads may read it.
class simulation_outcome {
public:
    /// A row per arrival, in order of arrival: order, name, node, gpus (texts), placed (truth), reason (text),
    /// arrival_s, start_s, end_s (real, s), attempts. The content of pods.csv.
    [[nodiscard]] std::shared_ptr<const table> pods() const;
    /// A row per sample: the columns of timeseries.csv, with the units of their names.
    [[nodiscard]] std::shared_ptr<const table> timeseries() const;
    /// One row: every number, truth and text of summary.json, with dots between the names of nested keys. Lists are
    /// left out.
    [[nodiscard]] std::shared_ptr<const table> summary() const;

    /// What `vgpusim run --out` writes, byte for byte: pods.csv, timeseries.csv, summary.json, prices.json and
    /// trace.json where there are such, the same in baseline/, and last report.html.
    [[nodiscard]] vgpusim::named_texts files() const;
    /// The same for a caller that may want an end: error stopped. `with_trace`: with trace.json in any case.
    [[nodiscard]] expected<vgpusim::named_texts> files(const progress& follow, bool with_trace = false) const;
    /// The text of summary.json.
    [[nodiscard]] std::string summary_json() const;

    /// How full the cluster is and what the run gains against its baseline, in sentences; may be empty.
    [[nodiscard]] const std::string& answer() const noexcept;
    /// The run, its input without the nodes, and the baseline; null: there is none.
    [[nodiscard]] const vgpusim::run_record& record() const noexcept;
    [[nodiscard]] const vgpusim::loaded_input& input() const noexcept;
    [[nodiscard]] const vgpusim::run_record* baseline() const noexcept;
    /// The baseline by itself; none: there is none.
    [[nodiscard]] std::optional<simulation_outcome> baseline_outcome() const;

private:
    friend class prepared_simulation;
    friend class stepper;
    struct finished;
    explicit simulation_outcome(std::shared_ptr<const finished> result);
    std::shared_ptr<const finished> result_;
};

/// A simulation whose inputs are read and checked.
class prepared_simulation {
public:
    /// Reads the inputs of the run. Errors: those of the inputs and of keys that do not go together; unsupported for
    /// bounds in a build without a solver; stopped. The source must outlive the preparation, and run() where there is a
    /// baseline, which reads its inputs again.
    [[nodiscard]] static expected<prepared_simulation> prepare(const vgpuformats::input_source& source,
                                                               simulate_options options, const progress& follow = {});

    /// Without the nodes where no other run has them.
    [[nodiscard]] const vgpusim::loaded_input& input() const noexcept { return *loaded_; }
    /// The names of the outcome's files.
    [[nodiscard]] std::vector<std::string> file_names() const;
    /// Errors: those of the replay, of the bounds and of the baseline's inputs; stopped.
    [[nodiscard]] expected<simulation_outcome> run(const progress& follow = {}) &&;

private:
    friend class stepper;
    prepared_simulation(const vgpuformats::input_source& source, simulate_options options,
                        std::shared_ptr<const vgpusim::loaded_input> loaded, vgpualloc::cluster nodes)
        : source_{&source}, options_{std::move(options)}, loaded_{std::move(loaded)}, nodes_{std::move(nodes)} {}

    const vgpuformats::input_source* source_;
    simulate_options options_;
    std::shared_ptr<const vgpusim::loaded_input> loaded_;
    vgpualloc::cluster nodes_; ///< those that the run changes
};

/// Reads, replays and sums up. Any number of threads may call it at once; nothing is shared between calls but what the
/// caller shares. Errors: those of both parts.
[[nodiscard]] expected<simulation_outcome> simulate(const vgpuformats::input_source& source, simulate_options options,
                                                    const progress& follow = {});

} // namespace vgpufacade
