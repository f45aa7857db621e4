// vgpusim compare: the same workload under several policies, side by side.
#include "vgpusim/study/compare.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "run_flags.hpp"
#include "vgpufacade/compare.hpp"
#include "vgpufacade/words.hpp"
#include "vgpusim/study/compare_seeds.hpp"

namespace vgpusim::cli {

namespace {

void run_compare(const run_flags& flags, const std::vector<std::string>& policies) {
    or_end(check_policies(policies));
    const auto plan = plan_from(flags);
    const run_config& config = plan.run;
    const vgpufacade::progress follow{.tell = progress_bars()};
    auto prepared = or_end(vgpufacade::prepared_comparison::prepare(files_here(), config, policies, follow));
    keep_inputs(flags, config, prepared.input(), prepared.file_names());
    auto finished = std::move(prepared).run(follow);
    end_progress();
    const vgpufacade::comparison outcome = or_end(std::move(finished));
    const named_texts files = outcome.files();
    write_texts(config.out, files);
    print_warnings(outcome.loaded);
    for (const run_record& record : outcome.records) print_warnings(record);
    if (flags.json) {
        fmt::print("{}", text_of(files, "compare.json"));
    } else {
        fmt::print("{}", vgpufacade::comparison_text(outcome.records));
        fmt::print("inputs: {}\n", inputs_in_words(outcome.loaded));
        fmt::print("report: {}/report.html\n", printable(config.out));
    }
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
    fmt::print("\nMean and standard deviation over seeds {}; differences seed by seed:\n",
               comparison.plan.lists.seeds.text());
    for (const compared_figures& figures : comparison.measures) {
        if (repeats_the_first(comparison, figures)) continue;
        for (std::size_t i = 1; i < figures.policies.size(); ++i) {
            fmt::print("  {}\n", difference_in_words(figures, i));
        }
    }
}

void run_seeds(const run_flags& flags, const std::vector<std::string>& policies, const seed_range& seeds,
               std::size_t jobs) {
    or_end(check_policies(policies));
    const auto plan = plan_from(flags);
    or_end(check_prices(plan.run, policies));
    or_end(check_seeds(plan.run, seeds));
    or_end(check_policy_names(policies));
    run_config first = plan.run;
    first.seed = seeds.first;
    auto loaded = or_end(load_input(first, files_here()));
    keep_inputs(flags, first, loaded, {summaries_name, "report.html"});
    const std::size_t runs = policies.size() * seeds.count();
    auto compared = compare_seeds(plan.run, seeds, files_here(), std::move(loaded), policies,
                                  {.jobs = jobs, .tell = progress_bar("compare", runs, "runs")});
    end_progress();
    const seeds_comparison comparison = or_end(std::move(compared));
    const named_texts files = seeds_comparison_files(comparison);
    const std::string& out = plan.run.out;
    write_texts(out, files);
    print_warnings(comparison.first_input);
    if (flags.json) {
        fmt::print("{}", text_of(files, summaries_name));
    } else {
        print_table(comparison);
        fmt::print("inputs: {}\n", inputs_in_words(comparison.first_input));
        fmt::print("report: {}/report.html\n", printable(out));
    }
}

} // namespace

void add_compare(CLI::App& app) {
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
    command->callback([flags, policies, several] {
        several->seeds ? run_seeds(*flags, *policies, *several->seeds, several->jobs) : run_compare(*flags, *policies);
    });
}

} // namespace vgpusim::cli
