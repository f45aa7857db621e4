// vgpusim compare: the same workload under several policies, side by side.
#include "vgpusim/study/compare.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands.hpp"
#include "run_flags.hpp"
#include "several_seeds.hpp"
#include "vgpualloc/core/printable.hpp"
#include "vgpusim/outputs/answer.hpp"
#include "vgpusim/outputs/figures.hpp"
#include "vgpusim/study/compare_seeds.hpp"

namespace vgpusim::cli {

namespace {

void print_table(const std::vector<run_record>& records) {
    const bool leave = std::ranges::any_of(records, &run_record::pods_leave);
    std::vector<run_figures> figures;
    for (const run_record& record : records) figures.push_back(figures_of(record));
    // Memory and compute apart where they differ.
    const bool has_parts = std::ranges::any_of(
        figures, [](const run_figures& of_run) { return of_run.served_memory_ratio != of_run.served_compute_ratio; });
    fmt::print("{:<28} {:>12}{} {:>13}{} {:>14} {:>9} {:>9} {:>14}\n", "policy", leave ? "mean served %" : "served %",
               has_parts ? "  memory %  compute %" : "", leave ? "mean alloc %" : "allocation %",
               leave ? "  peak alloc %" : "", leave ? "mean unusable" : "unusable GPUs", "placed", "failed",
               "decisions/s");
    for (std::size_t i = 0; i < records.size(); ++i) {
        const run_record& record = records[i];
        const run_figures& of_run = figures[i];
        const std::string parts = has_parts ? fmt::format(" {:>9.2f} {:>10.2f}", 100.0 * of_run.served_memory_ratio,
                                                          100.0 * of_run.served_compute_ratio)
                                            : "";
        const std::string peak = leave ? fmt::format(" {:>13.2f}", 100.0 * of_run.allocation_peak_ratio) : "";
        fmt::print("{:<28} {:>{}.2f}{} {:>13.2f}{} {:>14.2f} {:>9} {:>9} {:>14.0f}\n", record.config.policy,
                   100.0 * of_run.served_ratio, leave ? 13 : 12, parts, 100.0 * of_run.allocation_mean_ratio, peak,
                   of_run.unusable_milli / 1000.0, record.rows.placed, record.rows.failed,
                   record.result.decisions_per_s());
    }
    fmt::print("\n{}\n", verdict_of(records));
    print_offered_load(records.front());
}

int run_compare(const run_flags& flags, const std::vector<std::string>& policies) {
    if (const auto checked = check_policies(policies); !checked) return report_error(checked.error());
    const auto plan = plan_from(flags);
    if (!plan) return report_error(plan.error());
    if (const auto used = check_prices(plan->run, policies); !used) return report_error(used.error());
    const run_config* config = &plan->run;
    const auto loaded = load_input(*config);
    if (!loaded) return report_error(loaded.error());
    // What can be refused at once is refused before the first replay, which may take long.
    if (const auto checked = check_policy_names(policies); !checked) return report_error(checked.error());
    if (const auto kept = keep_inputs(flags, *config, *loaded, comparison_file_names(*config, policies)); !kept) {
        return report_error(kept.error());
    }
    const auto records = compare(*config, *loaded, policies, [&loaded](const std::string& policy) {
        return progress_bar(policy, loaded->input.pods.size());
    });
    end_progress();
    if (!records) return report_error(records.error());
    const named_texts files = comparison_files(*records, *loaded);
    if (const auto written = write_texts(config->out, files); !written) return report_write_failure(written.error());
    print_warnings(*loaded);
    for (const run_record& record : *records) print_warnings(record);
    if (flags.json) {
        fmt::print("{}", text_of(files, "compare.json"));
    } else {
        print_table(*records);
        fmt::print("inputs: {}\n", inputs_in_words(*loaded));
        fmt::print("report: {}/report.html\n", vgpualloc::printable(config->out));
    }
    return exit_done;
}

/// Whether a measure has the values of the first one, what is served, in every run: memory and compute do where pods
/// ask for as much of both.
bool repeats_the_first(const seeds_comparison& comparison, const compared_figures& figures) {
    const compared_figures& first = comparison.measures.front();
    for (std::size_t i = 0; i < figures.policies.size(); ++i) {
        if (figures.policies[i].values != first.policies[i].values) return false;
    }
    return &figures != &first;
}

void print_table(const seeds_comparison& comparison) {
    for (const compared_figures& figures : comparison.measures) {
        if (repeats_the_first(comparison, figures)) continue;
        fmt::print("{}\n", figures.measure->words);
        for (const measured_policy& policy : figures.policies) {
            fmt::print("  {:<28} {:>12.3f} +- {:.3f}\n", policy.policy, figures.measure->scale * mean_of(policy.values),
                       figures.measure->scale * deviation_of(policy.values));
        }
    }
    fmt::print("\nMean and standard deviation over seeds {}; differences seed by seed:\n", comparison.seeds.text());
    for (const compared_figures& figures : comparison.measures) {
        if (repeats_the_first(comparison, figures)) continue;
        for (std::size_t i = 1; i < figures.policies.size(); ++i) {
            fmt::print("  {}\n", difference_in_words(figures, i));
        }
    }
}

int run_seeds(const run_flags& flags, const std::vector<std::string>& policies, const seed_range& seeds,
              std::size_t jobs) {
    if (const auto checked = check_policies(policies); !checked) return report_error(checked.error());
    const auto plan = plan_from(flags);
    if (!plan) return report_error(plan.error());
    if (const auto used = check_prices(plan->run, policies); !used) return report_error(used.error());
    if (const auto checked = check_seeds(plan->run, seeds); !checked) return report_error(checked.error());
    if (const auto checked = check_policy_names(policies); !checked) return report_error(checked.error());
    run_config first = plan->run;
    first.seed = seeds.first;
    auto loaded = load_input(first);
    if (!loaded) return report_error(loaded.error());
    if (const auto kept = keep_inputs(flags, first, *loaded, {summaries_name, "report.html"}); !kept) {
        return report_error(kept.error());
    }
    const std::size_t runs = policies.size() * seeds.count();
    const auto comparison =
        compare_seeds(plan->run, seeds, *std::move(loaded), policies, jobs, progress_bar("compare", runs, "runs"));
    end_progress();
    if (!comparison) return report_error(comparison.error());
    const named_texts files = seeds_comparison_files(*comparison);
    const std::string& out = plan->run.out;
    if (const auto written = write_texts(out, files); !written) return report_write_failure(written.error());
    print_warnings(comparison->first_input);
    if (flags.json) {
        fmt::print("{}", text_of(files, summaries_name));
    } else {
        print_table(*comparison);
        fmt::print("inputs: {}\n", inputs_in_words(comparison->first_input));
        fmt::print("report: {}/report.html\n", vgpualloc::printable(out));
    }
    return exit_done;
}

} // namespace

void add_compare(CLI::App& app, int& exit_code) {
    auto flags = std::make_shared<run_flags>();
    auto policies = std::make_shared<std::vector<std::string>>();
    auto several = std::make_shared<seeds_flags>();
    CLI::App* command = app.add_subcommand("compare", "Replay the same workload under several policies, side by side");
    add_run_flags(*command, flags);
    command
        ->add_option("--policy", *policies, "A policy (vgpusim policies), or weighted:NAME=WEIGHT,…; repeat for each")
        ->type_name("POLICY")
        ->expected(1)
        ->take_all();
    add_several_seeds(*command, *several,
                      "Replay with each of these seeds and say which differences to the first policy they show");
    // What has no effect is refused rather than ignored.
    CLI::Option* const seeds = command->get_option("--seeds");
    for (const char* flag : {"--seed", "--trace"}) seeds->excludes(command->get_option(flag));
    command->get_option("--jobs")->needs(seeds);
    command->callback([flags, policies, several, &exit_code] {
        exit_code = several->seeds ? run_seeds(*flags, *policies, *several->seeds, several->jobs)
                                   : run_compare(*flags, *policies);
    });
}

} // namespace vgpusim::cli
