// Many runs that are compared: every policy on every list, at every load, with every seed. All policies of a list, a
// load and a seed meet the same arrivals.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpuformats/input_source.hpp"
#include "vgpusim/study/scenario.hpp"
#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/input.hpp"

namespace vgpusim {

/// What an experiment may list as a policy, which decides nothing: pool_figures_of().
inline constexpr std::string_view pool_reference = "reference:pool";

/// A run of an experiment, by positions in its lists.
struct cell {
    std::size_t list = 0;
    std::size_t load = 0;
    std::size_t policy = 0;
    std::size_t seed = 0;
};

struct experiment {
    run_config run; ///< of every run but for what the lists say
    study_lists lists;

    /// Without any the run, or the model, says the load.
    [[nodiscard]] std::size_t loads() const noexcept { return std::max<std::size_t>(lists.loads.size(), 1); }
    [[nodiscard]] std::size_t runs() const noexcept {
        return lists.pods.size() * loads() * lists.policies.size() * lists.seeds.count();
    }
    /// Of a cell among the results: by list, then load, then policy, then seed.
    [[nodiscard]] std::size_t position_of(const cell& where) const noexcept {
        const std::size_t row = where.list * loads() + where.load;
        return (row * lists.policies.size() + where.policy) * lists.seeds.count() + where.seed;
    }
    /// The cell at a position.
    [[nodiscard]] cell cell_at(std::size_t position) const noexcept;
    [[nodiscard]] run_config config_of(const cell& where) const;
};

/// An experiment that replays one input under policies.
[[nodiscard]] experiment experiment_of(const run_config& run, const std::vector<std::string>& policies,
                                       const seed_range& seeds);

/// Keys that concern the decisions alone: runs that differ in nothing else have the same input. What is not known to be
/// such a key may concern the input.
[[nodiscard]] std::span<const std::string_view> keys_of_decisions() noexcept;

/// Refuses nothing to replay, something twice, a policy that is unknown, more than 100,000 runs, and what policies do
/// not set for themselves.
[[nodiscard]] expected<void> check_lists(const experiment& plan);
/// The first two of these alone, of policies and pods.
[[nodiscard]] expected<void> check_different(const study_lists& lists);

/// What is learned beside the results.
struct experiment_notes {
    std::vector<input_file> files{}; ///< each once, in the order in which the first seed's runs read them
    std::vector<error> warnings{};   ///< likewise, of loaded_input
    double wall_s = 0.0;
    double cpu_s = 0.0;
    std::size_t jobs = 1;
};
template <class Run>
struct experiment_results : experiment_notes {
    std::vector<Run> runs{}; ///< by experiment::position_of()

    /// Those of a policy on a list at a load, by seed.
    [[nodiscard]] std::span<const Run> seeds_of(const experiment& plan, const cell& first) const {
        return std::span{runs}.subspan(plan.position_of(first), plan.lists.seeds.count());
    }
};

using shared_input = std::shared_ptr<const loaded_input>;

/// Reads the input of a run, for all policies that do not change what it is made of.
using input_loader = std::function<expected<shared_input>(const cell&, const run_config&)>;
/// load_input() of the source, with what the lists change of models. Everything passed must outlive the result.
[[nodiscard]] input_loader loader_from(const vgpuformats::input_source& source, const experiment& plan,
                                       const stop_signal& stop);

/// A cell that is to be replayed.
struct cell_run {
    cell where;
    const run_config& config;
    const loaded_input& loaded;
    /// A SHA-256 over the version, the inputs and the settings that decide the result: cells with one address have one
    /// result. Empty where nobody looks results up.
    const std::string& address;
};

/// What becomes of a cell.
struct cell_steps {
    input_loader load;
    std::function<bool(const cell&, const std::string& address)> is_known{}; ///< then it is not replayed; may be empty
    std::function<expected<void>(const cell_run&)> replay;
};

/// How an experiment is carried out.
struct experiment_control {
    std::size_t jobs = 1;                    ///< threads
    std::function<void(std::size_t)> tell{}; ///< runs that are done; never called by two threads at once; may be empty
    stop_signal stop{};                      ///< asked by all threads
};

/// Does every cell once, on several threads; the results do not depend on how many. The policies of one input come one
/// after the other, so that about as many inputs live as there are threads. Errors: those of the steps, of the smallest
/// cell; stopped.
[[nodiscard]] expected<experiment_notes> run_cells(const experiment& plan, const cell_steps& steps,
                                                   const experiment_control& control);

/// Where results are kept between experiments. Called by several threads at once; either may be empty.
template <class Run>
struct result_store {
    std::function<std::optional<Run>(const std::string& address)> lookup{};
    std::function<void(const std::string& address, const Run&)> store{};
};

/// The same with what `measure`, which returns an expected<Run>, keeps of each run.
template <class Run, class Measure>
[[nodiscard]] expected<experiment_results<Run>>
run_experiment(const experiment& plan, const input_loader& load, const Measure& measure,
               const experiment_control& control, const result_store<Run>& store = {}) {
    experiment_results<Run> results;
    results.runs.resize(plan.runs());
    cell_steps steps{.load = load, .replay = [&](const cell_run& run) -> expected<void> {
                         auto measured = measure(run);
                         if (!measured) return unexpected(std::move(measured).error());
                         if (store.store && !run.address.empty()) store.store(run.address, *measured);
                         results.runs[plan.position_of(run.where)] = *std::move(measured);
                         return {};
                     }};
    if (store.lookup || store.store) {
        steps.is_known = [&](const cell& where, const std::string& address) {
            auto known = store.lookup ? store.lookup(address) : std::nullopt;
            if (known) results.runs[plan.position_of(where)] = *std::move(known);
            return known.has_value();
        };
    }
    auto notes = run_cells(plan, steps, control);
    if (!notes) return unexpected(std::move(notes).error());
    static_cast<experiment_notes&>(results) = *std::move(notes);
    return results;
}

} // namespace vgpusim
