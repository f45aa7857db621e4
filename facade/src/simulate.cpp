#include "vgpufacade/simulate.hpp"

#include "outcome.hpp"
#include "telling.hpp"
#include "vgpureport/report.hpp"
#include "vgpusim/bound/bounds.hpp"
#include "vgpusim/outputs/answer.hpp"
#include "vgpusim/outputs/report.hpp"
#include "vgpusim/outputs/summary_json.hpp"
#include "vgpusim/study/scenario.hpp"
#include "vgpusim/study/solver.hpp"

namespace vgpufacade {

using vgpusim::loaded_input;
using vgpusim::run_config;
using vgpusim::run_record;

namespace {

const std::string baseline_folder = "baseline/";

/// `nodes`: those of the input, moved out of it where nothing looks at them afterwards.
expected<finished_run> finish(const run_config& config, std::shared_ptr<const loaded_input> loaded,
                              vgpualloc::cluster nodes, const std::string& what, const progress& follow,
                              const vgpusim::run_parts& parts) {
    auto record =
        vgpusim::replay(config, *loaded, std::move(nodes), teller(follow, what, loaded->input.pods.size()), parts);
    if (!record) return unexpected(std::move(record).error());
    return finished_run{.loaded = std::move(loaded), .record = *std::move(record)};
}

expected<void> add_bounds(finished_run& run, const stop_signal& stop) {
    auto solver = vgpusim::find_solver("--bound", stop);
    if (!solver) return unexpected(std::move(solver).error());
    auto figures = vgpusim::bounds_of(*run.loaded, {.finished = &run.record, .config = run.record.config}, **solver);
    if (!figures) return unexpected(std::move(figures).error());
    run.record.bound = *std::move(figures);
    return {};
}

expected<std::optional<finished_run>> finish_baseline(const std::optional<run_config>& config,
                                                      const vgpuformats::input_source& source, const progress& follow) {
    if (!config) return std::nullopt;
    const stop_signal stop{follow.stop};
    auto loaded = vgpusim::load_input(*config, source, stop);
    if (!loaded) return unexpected(std::move(loaded).error());
    vgpualloc::cluster nodes = std::move(loaded->input.nodes);
    auto finished = finish(*config, std::make_shared<const loaded_input>(*std::move(loaded)), std::move(nodes),
                           "baseline", follow, {.stop = stop});
    if (!finished) return unexpected(std::move(finished).error());
    return std::optional{*std::move(finished)};
}

/// The page that shows the run, the baseline beside it, and what they answer.
std::string report_of(const finished_run& run, const finished_run* baseline, const std::string& answer,
                      const stop_signal& stop) {
    std::vector<vgpureport::report_run> shown;
    shown.push_back(vgpusim::describe(run.record, *run.loaded, stop));
    shown.front().answer = answer;
    if (baseline != nullptr) {
        shown.push_back(vgpusim::describe(baseline->record, *baseline->loaded, stop));
        shown.back().policy += " (baseline)";
    }
    if (stop.raised()) return {};
    return vgpureport::render_report(shown, vgpureport::built_in_charts(), stop);
}

} // namespace

expected<void> set_option(simulate_options& options, std::string_view name, std::string_view value) {
    if (name != "bound") return vgpusim::set_key(options.config, name, value);
    if (value != "true" && value != "false") return unexpected(vgpusim::bad_setting(name, value, "true or false"));
    options.bound = value == "true";
    return {};
}

expected<simulate_options> options_from(const named_options& options, const vgpuformats::input_source& source) {
    simulate_options result;
    std::vector<std::pair<std::string, std::string>> baseline;
    for (const auto& [name, value] : options) {
        if (name != "scenario") continue;
        auto scenario = vgpusim::read_scenario(value, source);
        if (!scenario) return unexpected(std::move(scenario).error());
        result.config = std::move(scenario->config);
        baseline = std::move(scenario->baseline);
    }
    for (const auto& [name, value] : options) {
        if (name == "scenario") continue;
        if (auto set = set_option(result, name, value); !set) return unexpected(std::move(set).error());
    }
    if (!baseline.empty()) result.baseline = vgpusim::with_settings(result.config, baseline);
    return result;
}

expected<prepared_simulation> prepared_simulation::prepare(const vgpuformats::input_source& source,
                                                           simulate_options options, const progress& follow) {
    if (options.bound) {
        if (auto solver = vgpusim::find_solver("--bound"); !solver) return unexpected(std::move(solver).error());
    }
    if (auto used = vgpusim::check_prices(options.config, {options.config.policy}); !used) {
        return unexpected(std::move(used).error());
    }
    const stop_signal stop{follow.stop};
    if (options.input) {
        auto shared = options.input->get(options.config, source, stop);
        if (!shared) return unexpected(std::move(shared).error());
        vgpualloc::cluster nodes = (*shared)->input.nodes;
        return prepared_simulation{source, std::move(options), *std::move(shared), std::move(nodes)};
    }
    auto loaded = vgpusim::load_input(options.config, source, stop);
    if (!loaded) return unexpected(std::move(loaded).error());
    vgpualloc::cluster nodes = options.bound ? loaded->input.nodes : std::move(loaded->input.nodes);
    return prepared_simulation{source, std::move(options), std::make_shared<const loaded_input>(*std::move(loaded)),
                               std::move(nodes)};
}

expected<std::shared_ptr<const loaded_input>>
common_input::get(const run_config& config, const vgpuformats::input_source& source, const stop_signal& stop) {
    const std::lock_guard lock{reading_};
    if (loaded_ != nullptr) return loaded_;
    auto loaded = vgpusim::load_input(config, source, stop);
    if (!loaded) return unexpected(std::move(loaded).error());
    loaded_ = std::make_shared<const loaded_input>(*std::move(loaded));
    return loaded_;
}

std::vector<std::string> prepared_simulation::file_names() const {
    std::vector<std::string> names = vgpusim::names_of_run_files(options_.config);
    names.emplace_back("report.html");
    if (!options_.baseline) return names;
    for (const std::string& name : vgpusim::names_of_run_files(*options_.baseline)) {
        names.push_back(baseline_folder + name);
    }
    return names;
}

expected<simulation_outcome> prepared_simulation::run(const progress& follow) && {
    const stop_signal stop{follow.stop};
    const bool is_kept = options_.kept == vgpusim::kept_of_run::everything || options_.bound || options_.baseline;
    auto run = finish(options_.config, std::move(loaded_), std::move(nodes_), options_.config.policy, follow,
                      {.kept = is_kept ? vgpusim::kept_of_run::everything : options_.kept,
                       .stop = stop,
                       .make_policies = options_.make_policies,
                       .make_discipline = options_.make_discipline});
    if (!run) return unexpected(std::move(run).error());
    if (options_.bound) {
        if (auto added = add_bounds(*run, stop); !added) return unexpected(std::move(added).error());
    }
    auto baseline = finish_baseline(options_.baseline, *source_, follow);
    if (!baseline) return unexpected(std::move(baseline).error());
    auto result = std::make_shared<simulation_outcome::finished>();
    result->run = *std::move(run);
    if (*baseline) {
        auto other = std::make_shared<simulation_outcome::finished>();
        other->run = **std::move(baseline);
        run_record* const compared[] = {&result->run.record, &other->run.record};
        vgpusim::share_span(compared);
        other->answer = vgpusim::answer_of(other->run.record, nullptr);
        result->baseline = std::move(other);
    }
    if (!is_kept) return simulation_outcome{std::move(result)};
    result->answer = vgpusim::answer_of(result->run.record, result->baseline ? &result->baseline->run.record : nullptr);
    return simulation_outcome{std::move(result)};
}

expected<simulation_outcome> simulate(const vgpuformats::input_source& source, simulate_options options,
                                      const progress& follow) {
    auto prepared = prepared_simulation::prepare(source, std::move(options), follow);
    if (!prepared) return unexpected(std::move(prepared).error());
    return std::move(*prepared).run(follow);
}

simulation_outcome::simulation_outcome(std::shared_ptr<const finished> result) : result_{std::move(result)} {}

const std::string& simulation_outcome::answer() const noexcept { return result_->answer; }
const run_record& simulation_outcome::record() const noexcept { return result_->run.record; }
const loaded_input& simulation_outcome::input() const noexcept { return *result_->run.loaded; }
const run_record* simulation_outcome::baseline() const noexcept {
    return result_->baseline ? &result_->baseline->run.record : nullptr;
}
std::optional<simulation_outcome> simulation_outcome::baseline_outcome() const {
    if (result_->baseline == nullptr) return std::nullopt;
    return simulation_outcome{result_->baseline};
}

vgpusim::named_texts simulation_outcome::files() const { return files(progress{}).value(); }

expected<vgpusim::named_texts> simulation_outcome::files(const progress& follow, bool with_trace) const {
    const stop_signal stop{follow.stop};
    if (stop.raised()) return unexpected(stop_signal::stopped());
    const finished_run& run = result_->run;
    const finished_run* const baseline = result_->baseline ? &result_->baseline->run : nullptr;
    // The report first: what it is made from takes as much memory as the other files, and is gone before they come.
    std::string report = report_of(run, baseline, result_->answer, stop);
    vgpusim::named_texts files = vgpusim::run_files(run.record, *run.loaded, this->baseline(), stop, with_trace);
    if (baseline != nullptr) {
        for (auto& [name, text] : vgpusim::run_files(baseline->record, *baseline->loaded, nullptr, stop, with_trace)) {
            files.emplace_back(baseline_folder + name, std::move(text));
        }
    }
    if (stop.raised()) return unexpected(stop_signal::stopped());
    files.emplace_back("report.html", std::move(report));
    return files;
}

std::string simulation_outcome::summary_json() const { return vgpusim::summary_json(record(), input(), baseline()); }

std::shared_ptr<const table> simulation_outcome::pods() const {
    return std::make_shared<const table>(pods_table(result_->run));
}

std::shared_ptr<const table> simulation_outcome::timeseries() const {
    return std::make_shared<const table>(timeseries_table(result_->run));
}

std::shared_ptr<const table> simulation_outcome::summary() const {
    return std::make_shared<const table>(summary_table(vgpusim::summary_document(record(), input(), baseline())));
}

} // namespace vgpufacade
