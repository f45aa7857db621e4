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
#include "run_flags.hpp"
#include "several_seeds.hpp"
#include "vgpufacade/compare.hpp"
#include "vgpufacade/words.hpp"
#include "vgpusim/study/compare_seeds.hpp"

namespace vgpusim::cli {

namespace {

int run_compare(const run_flags& flags, const std::vector<std::string>& policies) {
    if (const auto checked = check_policies(policies); !checked) return report_error(checked.error());
    const auto plan = plan_from(flags);
    if (!plan) return report_error(plan.error());
    const run_config& config = plan->run;
    const vgpufacade::progress follow{.tell = progress_bars()};
    auto prepared = vgpufacade::prepared_comparison::prepare(files_here(), config, policies, follow);
    if (!prepared) return report_error(prepared.error());
    if (const auto kept = keep_inputs(flags, config, prepared->input(), prepared->file_names()); !kept) {
        return report_error(kept.error());
    }
    const auto outcome = std::move(*prepared).run(follow);
    end_progress();
    if (!outcome) return report_error(outcome.error());
    const named_texts files = outcome->files();
    if (const auto written = write_texts(config.out, files); !written) return report_write_failure(written.error());
    print_warnings(outcome->loaded);
    for (const run_record& record : outcome->records) print_warnings(record);
    if (flags.json) {
        fmt::print("{}", text_of(files, "compare.json"));
    } else {
        fmt::print("{}", vgpufacade::comparison_text(outcome->records));
        fmt::print("inputs: {}\n", inputs_in_words(outcome->loaded));
        fmt::print("report: {}/report.html\n", printable(config.out));
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
    fmt::print("\nMean and standard deviation over seeds {}; differences seed by seed:\n",
               comparison.plan.lists.seeds.text());
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
    auto loaded = load_input(first, files_here());
    if (!loaded) return report_error(loaded.error());
    if (const auto kept = keep_inputs(flags, first, *loaded, {summaries_name, "report.html"}); !kept) {
        return report_error(kept.error());
    }
    const std::size_t runs = policies.size() * seeds.count();
    const auto comparison = compare_seeds(plan->run, seeds, files_here(), *std::move(loaded), policies,
                                          {.jobs = jobs, .tell = progress_bar("compare", runs, "runs")});
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
        fmt::print("report: {}/report.html\n", printable(out));
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
