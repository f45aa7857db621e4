// vgpusim study: policies x pod lists x seeds in one process.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "run_flags.hpp"
#include "vgpusim/study/load_study.hpp"
#include "vgpusim/study/loss_study.hpp"
#include "vgpusim/study/loss_study_files.hpp"
#include "vgpusim/study/study_files.hpp"
#include "vgpusim/workload/kubernetes.hpp"
#include "vgputraces/locate.hpp"

namespace vgpusim::cli {

namespace {

struct study_options {
    std::shared_ptr<run_flags> run = std::make_shared<run_flags>();
    std::vector<std::string> policies;
    std::vector<std::string> pods;
    std::vector<double> loads;
    std::optional<std::int64_t> arrivals;
    seeds_flags several;
};

/// Only the policies that flags name: those of the scenario by their names there, others as they are. What is left out
/// is nothing that others are held against.
void choose_policies(const std::vector<std::string>& names, study_lists& lists) {
    std::vector<studied_policy> policies;
    for (const std::string& name : names) {
        const auto known = std::ranges::find(lists.policies, name, &studied_policy::name);
        policies.push_back(known != lists.policies.end() ? *known : studied_policy{.name = name, .policy = name});
    }
    lists.policies = std::move(policies);
    const auto is_left_out = [&lists](const std::string& name) {
        return std::ranges::find(lists.policies, name, &studied_policy::name) == lists.policies.end();
    };
    if (is_left_out(lists.against)) lists.against.clear();
    std::erase_if(lists.baselines, is_left_out);
}

/// The scenario, which flags override: lists that flags name are taken instead of those of the scenario.
experiment plan_of(const study_options& chosen) {
    scenario read;
    if (!chosen.run->scenario.empty()) read = or_end(read_scenario(chosen.run->scenario, files_here()));
    if (!read.baseline.empty()) {
        end_with(bad_value(error_code::unsupported, "baseline", read.baseline.front().first,
                           "none: a study holds all of its runs side by side")
                     .at(chosen.run->scenario));
    }
    for (const auto& [key, value] : chosen.run->keyed) or_end(set_key(read.config, key, value));
    study_lists lists = read.study.value_or(study_lists{});
    if (!chosen.policies.empty()) choose_policies(chosen.policies, lists);
    if (!chosen.pods.empty()) lists.pods = chosen.pods;
    if (!chosen.loads.empty()) lists.loads = chosen.loads;
    if (chosen.arrivals) lists.arrivals = chosen.arrivals;
    if (chosen.several.seeds) lists.seeds = *chosen.several.seeds;
    std::vector<named_input> inputs{{"SCENARIO", chosen.run->scenario}, {"--nodes", read.config.nodes}};
    add_inputs(inputs, "--pods", lists.pods);
    read_stdin_once(inputs);
    return experiment{.run = std::move(read.config), .lists = std::move(lists)};
}

void print_table(const experiment& study, const study_results& results) {
    fmt::print("{:<28} {:>6} {:>20} {:>22} {:>18} {:>12}  {}\n", "policy", "load %", "allocation %",
               "unusable % of GPUs", "GPUs accepted %", "pods failed", "list");
    for (const study_headline& headline : headlines_of(study, results)) {
        const std::string policy = printable(headline.policy);
        const auto shown = [&headline](std::size_t metric) {
            return fmt::format("{:.2f} +- {:.2f}", 100.0 * headline.mean[metric], 100.0 * headline.deviation[metric]);
        };
        constexpr std::size_t allocation = 0;
        constexpr std::size_t fragmentation = 5;
        static_assert(load_metric_names[allocation] == "allocation_ratio");
        static_assert(load_metric_names[fragmentation] == "fragmentation_of_all_ratio");
        const std::string accepted = fmt::format("{:.2f} +- {:.2f}", 100.0 * headline.accepted_gpus.mean(),
                                                 100.0 * headline.accepted_gpus.deviation().value_or(0.0));
        fmt::print("{:<28} {:>6} {:>20} {:>22} {:>18} {:>12.1f}  {}\n", policy, headline.load_pct, shown(allocation),
                   shown(fragmentation), accepted, headline.failed, printable(headline.list));
    }
    fmt::print("\nMean and standard deviation");
}

void print_table(const experiment& study, const loss_results& results) {
    fmt::print("{:>6}  {:<28} {:>18} {:>18} {:>18} {:>9}  {}\n", "load", "policy", "GPUs accepted %", "pods accepted %",
               "memory accepted %", "moved %", "model");
    constexpr std::size_t pods = 0;
    constexpr std::size_t memory = 1;
    constexpr std::size_t gpus = 4;
    static_assert(loss_measures[gpus] == "accepted_gpu_ratio");
    for (const loss_cell& cell : loss_cells_of(study, results)) {
        const auto load = load_of(study, cell);
        for (std::size_t policy = 0; policy < study.lists.policies.size(); ++policy) {
            const auto shown = [&](std::size_t measure) {
                const seed_values& values = cell.policies[policy][measure];
                const auto half = values.half_95();
                return fmt::format("{:.2f}", 100.0 * values.mean()) +
                       (half ? fmt::format(" +- {:.2f}", 100.0 * *half) : std::string{});
            };
            fmt::print("{:>6}  {:<28} {:>18} {:>18} {:>18} {:>9.2f}  {}\n",
                       load ? fmt::format("{}", *load) : std::string{"-"}, printable(study.lists.policies[policy].name),
                       shown(gpus), shown(pods), shown(memory), 100.0 * cell.policies[policy][moved_measure].mean(),
                       printable(study.lists.pods[cell.model]));
        }
    }
    fmt::print("\nMean and 95 % interval");
}

const std::vector<std::string> study_names{study_table_name, study_summary_name};

experiment_control control_of(const study_options& chosen, const experiment& study) {
    return {.jobs = chosen.several.jobs, .tell = progress_bar("study", study.runs(), "runs")};
}

/// Writes both files, and prints the one or a table.
template <class Results>
void write_study(const study_options& chosen, const experiment& study, const Results& results,
                 const named_texts& files) {
    const std::string& folder = study.run.out;
    write_texts(folder, files);
    if (chosen.run->json) {
        fmt::print("{}", text_of(files, study_summary_name));
        return;
    }
    print_table(study, results);
    fmt::print(" over seeds {}. {} runs in {:.1f} s ({:.1f} CPU s, {} threads).\n", study.lists.seeds.text(),
               results.runs.size(), results.wall_s, results.cpu_s, results.jobs);
    fmt::print("table          {}/{}\n", printable(folder), study_table_name);
}

/// Replays openb lists.
void run_load_study(const study_options& chosen, const experiment& plan) {
    const auto study = or_end(check_study(plan.run, plan.lists));
    const auto inputs = or_end(read_study(study, files_here()));
    const loaded_input lists{.input = {}, .files = inputs.files, .warnings = inputs.warnings};
    keep_inputs(*chosen.run, study.run, lists, study_names);
    auto finished = run_study(study, inputs, control_of(chosen, study));
    end_progress();
    const study_results results = or_end(std::move(finished));
    print_warnings(lists);
    write_study(chosen, study, results,
                {{study_table_name, study_csv(study, results)},
                 {study_summary_name, study_json(study, inputs.files, inputs.list_sizes(), results)}});
}

/// What the study and its policies set, but for the folder of the output: some of it names files that are read, and the
/// rest is no file that is written.
std::vector<std::string> values_of(const experiment& study) {
    std::vector<std::string> values;
    for (const auto& [key, value] : effective(study.run)) {
        if (key != "out" && !value.empty()) values.push_back(vgputraces::resolve_trace_path(value));
    }
    for (const studied_policy& policy : study.lists.policies) {
        for (const auto& setting : policy.settings) values.push_back(vgputraces::resolve_trace_path(setting.second));
    }
    return values;
}

/// Replays workload models.
void run_loss_study_of(const study_options& chosen, const experiment& plan) {
    const auto study = or_end(check_loss_study(plan.run, plan.lists));
    loaded_input read;
    for (const std::string& model : study.lists.pods) read.files.push_back({.path = model, .sha256 = {}});
    for (const std::string& value : values_of(study)) read.files.push_back({.path = value, .sha256 = {}});
    keep_inputs(*chosen.run, study.run, read, study_names);
    auto finished = run_loss_study(study, files_here(), control_of(chosen, study));
    end_progress();
    const loss_results results = or_end(std::move(finished));
    read.warnings = results.warnings;
    print_warnings(read);
    write_study(
        chosen, study, results,
        {{study_table_name, loss_study_csv(study, results)}, {study_summary_name, loss_study_json(study, results)}});
}

void run_the_study(const study_options& chosen) {
    const experiment plan = plan_of(chosen);
    return plan.run.format == model_format ? run_loss_study_of(chosen, plan) : run_load_study(chosen, plan);
}

} // namespace

void add_study(CLI::App& app) {
    auto chosen = std::make_shared<study_options>();
    CLI::App* command = app.add_subcommand("study", "Replay openb pod lists (docs/fgd-study.md) or workload models at "
                                                    "several loads (docs/mig.md) under policies and "
                                                    "seeds");
    command
        ->add_option("SCENARIO", chosen->run->scenario,
                     "A scenario file (JSON) with a study, or - for standard input; flags override it")
        ->type_name("FILE");
    add_keyed_flag(*command, chosen->run, "--nodes", "nodes", "FILE", "Node list, as run takes it");
    command->add_option("--pods", chosen->pods, "A pod list, as run takes it; repeat for each")
        ->type_name("FILE")
        ->expected(1)
        ->take_all();
    add_keyed_flag(*command, chosen->run, "--format", "format", "FORMAT",
                   "openb: lists whose pods stay; model: workload models, whose pods are lost where they do not fit");
    command->add_option("--loads", chosen->loads, "Offered loads of models, for example 0.9,1.0")
        ->type_name("NUMBER,...")
        ->delimiter(',')
        ->check(CLI::Range(0.000001, 1000.0))
        ->check(no_nan);
    command->add_option("--arrivals", chosen->arrivals, "Arrivals of models to measure in every run")
        ->type_name("NUMBER")
        ->check(CLI::Range(std::int64_t{1}, arrivals_max));
    command
        ->add_option("--policy", chosen->policies,
                     "A policy (vgpusim policies), or weighted:NAME=WEIGHT,…; repeat for each")
        ->type_name("POLICY")
        ->expected(1)
        ->take_all();
    add_keyed_flag(*command, chosen->run, "--tune", "tune", "NUMBER",
                   "Copy or drop pods until they ask for this multiple of all GPUs, 0 = leave as is");
    add_keyed_flag(*command, chosen->run, "--mode", "mode", "MODE",
                   "How every GPU is shared: exclusive, hami_core or mps");
    add_keyed_flag(*command, chosen->run, "--device-policy", "device_policy", "POLICY",
                   "Policy for the choice of devices on a node; default: the same policy");
    add_several_seeds(*command, chosen->several, "Each seed draws its own shuffle, tuning and node order");
    add_keyed_flag(*command, chosen->run, "--out", "out", "FOLDER", "Folder for study.csv and study.json");
    command->add_flag("--json", chosen->run->json, "Print study.json");
    command->callback([chosen] { run_the_study(*chosen); });
}

} // namespace vgpusim::cli
