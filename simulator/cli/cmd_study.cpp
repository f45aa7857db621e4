// vgpusim study: policies x pod lists x seeds in one process.
#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "run_flags.hpp"
#include "several_seeds.hpp"
#include "vgpualloc/core/printable.hpp"
#include "vgpusim/outputs/study_files.hpp"
#include "vgpusim/study/load_study.hpp"

namespace vgpusim::cli {

namespace {

struct options {
    std::shared_ptr<run_flags> run = std::make_shared<run_flags>();
    std::vector<std::string> policies;
    std::vector<std::string> pods;
    seeds_flags several;
};

/// The scenario, which flags override: lists that flags name are taken instead of those of the scenario.
vgpualloc::expected<load_study> study_from(const options& chosen) {
    scenario read;
    if (!chosen.run->scenario.empty()) {
        auto file = read_scenario(chosen.run->scenario);
        if (!file) return vgpualloc::unexpected(std::move(file).error());
        read = *std::move(file);
    }
    if (!read.baseline.empty()) {
        return vgpualloc::unexpected(vgpualloc::error{.code = vgpualloc::error_code::unsupported,
                                                      .where = chosen.run->scenario,
                                                      .field = "baseline",
                                                      .value = read.baseline.front().first,
                                                      .expected = "none: a study holds all of its runs side by side"});
    }
    for (const auto& [key, value] : chosen.run->keyed) {
        if (auto taken = set_key(read.config, key, value); !taken) return vgpualloc::unexpected(taken.error());
    }
    study_lists lists = read.study.value_or(study_lists{});
    if (!chosen.policies.empty()) lists.policies = chosen.policies;
    if (!chosen.pods.empty()) lists.pods = chosen.pods;
    if (chosen.several.seeds) lists.seeds = *chosen.several.seeds;
    std::vector<named_input> inputs{{"SCENARIO", chosen.run->scenario}, {"--nodes", read.config.nodes}};
    add_inputs(inputs, "--pods", lists.pods);
    if (auto once = read_stdin_once(inputs); !once) return vgpualloc::unexpected(once.error());
    return check_study(read.config, lists);
}

void print_table(const load_study& study, const study_results& results) {
    fmt::print("{:<28} {:>6} {:>20} {:>22} {:>12}  {}\n", "policy", "load %", "allocation %", "unusable % of GPUs",
               "pods failed", "list");
    for (const study_headline& headline : headlines_of(study, results)) {
        const auto shown = [&headline](std::size_t metric) {
            return fmt::format("{:.2f} +- {:.2f}", 100.0 * headline.mean[metric], 100.0 * headline.deviation[metric]);
        };
        constexpr std::size_t allocation = 0;
        constexpr std::size_t fragmentation = 5;
        static_assert(load_metric_names[allocation] == "allocation_ratio");
        static_assert(load_metric_names[fragmentation] == "fragmentation_of_all_ratio");
        fmt::print("{:<28} {:>6} {:>20} {:>22} {:>12.1f}  {}\n", headline.policy, headline.load_pct, shown(allocation),
                   shown(fragmentation), headline.failed, vgpualloc::printable(headline.list));
    }
    fmt::print("\nMean and standard deviation over seeds {}. {} runs in {:.1f} s ({:.1f} CPU s, {} threads).\n",
               study.seeds.text(), results.runs.size(), results.wall_s, results.cpu_s, results.jobs);
    fmt::print("table          {}/{}\n", vgpualloc::printable(study.run.out), study_table_name);
}

int run_the_study(const options& chosen) {
    const auto study = study_from(chosen);
    if (!study) return report_error(study.error());
    const auto inputs = read_study(*study);
    if (!inputs) return report_error(inputs.error());
    const loaded_input lists{.input = {}, .files = inputs->files, .warnings = inputs->warnings};
    const std::vector<std::string> names{study_table_name, study_summary_name};
    if (const auto kept = keep_inputs(*chosen.run, study->run, lists, names); !kept) return report_error(kept.error());
    const std::size_t runs = study->policies.size() * study->lists.size() * study->seeds.count();
    const auto results = run_study(*study, *inputs, chosen.several.jobs, progress_bar("study", runs, "runs"));
    end_progress();
    if (!results) return report_error(results.error());
    const named_texts files{{study_table_name, study_csv(*study, *results)},
                            {study_summary_name, study_json(*study, *inputs, *results)}};
    if (const auto written = write_texts(study->run.out, files); !written) return report_write_failure(written.error());
    print_warnings(lists);
    if (chosen.run->json) {
        fmt::print("{}", text_of(files, study_summary_name));
    } else {
        print_table(*study, *results);
    }
    return exit_done;
}

} // namespace

void add_study(CLI::App& app, int& exit_code) {
    auto chosen = std::make_shared<options>();
    CLI::App* command = app.add_subcommand(
        "study",
        "Replay openb pod lists under policies and seeds: mean and deviation at every load (docs/fgd-study.md)");
    command
        ->add_option("SCENARIO", chosen->run->scenario,
                     "A scenario file (JSON) with a study, or - for standard input; flags override it")
        ->type_name("FILE");
    add_keyed_flag(*command, chosen->run, "--nodes", "nodes", "FILE", "Node list, as run takes it");
    command->add_option("--pods", chosen->pods, "A pod list, as run takes it; repeat for each")
        ->type_name("FILE")
        ->expected(1)
        ->take_all();
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
    command->callback([chosen, &exit_code] { exit_code = run_the_study(*chosen); });
}

} // namespace vgpusim::cli
