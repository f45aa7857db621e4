#include "vgpufacade/experiment.hpp"

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "make_columns.hpp"
#include "vgpusim/outputs/loss_figures.hpp"
#include "vgpusim/study/load_curve.hpp"
#include "vgpusim/study/parallel.hpp"
#include "vgpusim/study/run.hpp"

namespace vgpufacade {

using vgpusim::cell;
using vgpusim::cell_run;

namespace {

struct measured_cell {
    std::string address;
    cell_values values;
};

cell_values values_of(const vgpusim::run_record& record, const vgpusim::simulation_input& input) {
    const auto measured = vgpusim::measures_of(record, vgpusim::mean_waits_of(record, input));
    cell_values values;
    for (std::size_t m = 0; m < measured.size(); ++m) {
        const bool is_there = !vgpusim::compared_measures[m].of_queues || measured[m].jobs > 0;
        values.push_back(is_there ? measured[m].value : not_there);
    }
    values.push_back(static_cast<double>(record.rows.arrived));
    if (input.measured) {
        const auto losses = vgpusim::loss_figures_of(record.result, input);
        values.insert(values.end(), {losses.pods.ratio(), losses.memory_ratio()});
    }
    values.resize(cell_measures, not_there);
    return values;
}

/// What the command line refuses before it makes an experiment, and the reference, which has no run to measure.
expected<void> check_cells(const vgpusim::study_lists& lists) {
    const auto refuse = [](const char* field, std::string value, const char* expectation) {
        return unexpected(bad_value(error_code::out_of_range, field, std::move(value), expectation));
    };
    if (lists.seeds.last < lists.seeds.first || lists.seeds.count() > vgpusim::seeds_max) {
        return refuse("seeds", lists.seeds.text(), vgpusim::seeds_expected);
    }
    for (const double load : lists.loads) {
        const std::string text = fmt::format("{}", load);
        vgpusim::run_config taken;
        if (!vgpusim::set_key(taken, "offered_load", text) || load <= 0.0) {
            return refuse("loads", text, "a list of numbers above 0, up to 1000");
        }
    }
    for (const vgpusim::studied_policy& entry : lists.policies) {
        if (entry.policy == vgpusim::pool_reference) return refuse("policy", entry.policy, "a policy, which decides");
    }
    return {};
}

table table_of(const vgpusim::experiment& plan, const std::vector<measured_cell>& cells) {
    text_coder policies{cells.size()};
    text_coder lists{cells.size()};
    text_coder addresses{cells.size()};
    std::vector<double> loads;
    std::vector<std::int64_t> seeds;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const cell where = plan.cell_at(i);
        policies.add(plan.lists.policies[where.policy].name);
        lists.add(plan.lists.pods[where.list]);
        loads.push_back(plan.lists.loads.empty() ? not_there : plan.lists.loads[where.load]);
        seeds.push_back(plan.lists.seeds.at(where.seed));
        addresses.add(cells[i].address);
    }
    table result{.columns = {{"policy", "", policies.take()},
                             {"list", "", lists.take()},
                             {"load", "", std::move(loads)},
                             {"seed", "", std::move(seeds)},
                             {"address", "", addresses.take()}}};
    const std::size_t first_measure = result.columns.size();
    const auto add_measure = [&](std::string_view name) {
        std::vector<double> values;
        const std::size_t measure = result.columns.size() - first_measure;
        for (const measured_cell& measured : cells) values.push_back(measured.values[measure]);
        result.columns.push_back({.name = std::string{name}, .unit = unit_of(name), .values = std::move(values)});
    };
    for (const std::string& name : measure_names()) add_measure(name);
    return result;
}

} // namespace

std::vector<std::string> measure_names() {
    std::vector<std::string> names;
    for (const vgpusim::compared_measure& measure : vgpusim::compared_measures) names.emplace_back(measure.name);
    for (const std::string_view name : more_measures) names.emplace_back(name);
    return names;
}

cell_values measures_of(const simulation_outcome& outcome) {
    return values_of(outcome.record(), outcome.input().input);
}

table curve_of(const simulation_outcome& outcome) {
    const vgpusim::load_curve curve = vgpusim::load_curve_of(outcome.record());
    std::vector<std::int64_t> loads;
    std::vector<std::vector<double>> metrics(vgpusim::load_metric_names.size());
    for (std::size_t load = 0; load < curve.size(); ++load) {
        if (!curve[load]) continue;
        loads.push_back(static_cast<std::int64_t>(load));
        for (std::size_t m = 0; m < metrics.size(); ++m) metrics[m].push_back((*curve[load])[m]);
    }
    table result{.columns = {{"load_pct", "%", std::move(loads)}}};
    for (std::size_t m = 0; m < metrics.size(); ++m) {
        const std::string name{vgpusim::load_metric_names[m]};
        result.columns.push_back({.name = name, .unit = unit_of(name), .values = std::move(metrics[m])});
    }
    return result;
}

expected<table> run_experiment(const vgpuformats::input_source& source, const vgpusim::experiment& plan,
                               std::size_t jobs, const cell_store& store, const progress& follow) {
    if (auto checked = check_cells(plan.lists); !checked) return unexpected(std::move(checked).error());
    if (auto checked = vgpusim::check_lists(plan); !checked) return unexpected(std::move(checked).error());
    vgpusim::turn calls; // of everything that is the caller's
    const std::function<bool()> is_wanted_to_end = [&] {
        const std::lock_guard lock{calls};
        return follow.stop();
    };
    vgpusim::experiment_control control{.jobs = jobs};
    if (follow.stop) control.stop = stop_signal{is_wanted_to_end};
    if (follow.tell) {
        control.tell = [&](std::size_t done) {
            const std::lock_guard lock{calls};
            follow.tell("cells", done, plan.runs());
        };
    }
    const vgpusim::result_store<measured_cell> kept{
        .lookup = [&](const std::string& address) -> std::optional<measured_cell> {
            if (!store.lookup) return std::nullopt;
            const std::lock_guard lock{calls};
            auto values = store.lookup(address);
            if (!values || values->size() != cell_measures) return std::nullopt;
            return measured_cell{.address = address, .values = *std::move(values)};
        },
        .store =
            [&](const std::string& address, const measured_cell& measured) {
                const std::lock_guard lock{calls};
                if (store.store) store.store(address, measured.values);
            }};
    const auto measure = [&](const cell_run& run) -> expected<measured_cell> {
        auto record = vgpusim::replay(run.config, run.loaded, run.loaded.input.nodes, {},
                                      {.kept = vgpusim::kept_of_run::figures, .stop = control.stop});
        if (!record) return unexpected(std::move(record).error());
        return measured_cell{.address = run.address, .values = values_of(*record, run.loaded.input)};
    };
    auto results = vgpusim::run_experiment<measured_cell>(plan, vgpusim::loader_from(source, plan, control.stop),
                                                          measure, control, kept);
    if (!results) return unexpected(std::move(results).error());
    return table_of(plan, results->runs);
}

} // namespace vgpufacade
