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
#include "vgpualloc/core/printable.hpp"
#include "vgpusim/outputs/answer.hpp"
#include "vgpusim/outputs/figures.hpp"

namespace vgpusim::cli {

namespace {

void print_table(const std::vector<run_record>& records) {
    const bool leave = std::ranges::any_of(records, &run_record::pods_leave);
    fmt::print("{:<28} {:>12} {:>13}{} {:>14} {:>9} {:>9} {:>14}\n", "policy", leave ? "mean served %" : "served %",
               leave ? "mean alloc %" : "allocation %", leave ? "  peak alloc %" : "",
               leave ? "mean unusable" : "unusable GPUs", "placed", "failed", "decisions/s");
    for (const run_record& record : records) {
        const run_figures figures = figures_of(record);
        const std::string peak = leave ? fmt::format(" {:>13.2f}", 100.0 * figures.allocation_peak_ratio) : "";
        fmt::print("{:<28} {:>{}.2f} {:>13.2f}{} {:>14.2f} {:>9} {:>9} {:>14.0f}\n", record.config.policy,
                   100.0 * figures.served_ratio, leave ? 13 : 12, 100.0 * figures.allocation_mean_ratio, peak,
                   figures.unusable_milli / 1000.0, record.rows.placed, record.rows.failed,
                   record.result.decisions_per_s());
    }
    fmt::print("\n{}\n", verdict_of(records));
    print_offered_load(records.front());
}

int run_compare(const run_flags& flags, const std::vector<std::string>& policies) {
    if (const auto checked = check_policies(policies); !checked) return report_error(checked.error());
    const auto plan = plan_from(flags);
    if (!plan) return report_error(plan.error());
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
    if (flags.json) {
        fmt::print("{}", text_of(files, "compare.json"));
    } else {
        print_table(*records);
        fmt::print("inputs: {}\n", inputs_in_words(*loaded));
        fmt::print("report: {}/report.html\n", vgpualloc::printable(config->out));
    }
    return exit_done;
}

} // namespace

void add_compare(CLI::App& app, int& exit_code) {
    auto flags = std::make_shared<run_flags>();
    auto policies = std::make_shared<std::vector<std::string>>();
    CLI::App* command = app.add_subcommand("compare", "Replay the same workload under several policies, side by side");
    add_run_flags(*command, flags);
    command
        ->add_option("--policy", *policies, "A policy (vgpusim policies), or weighted:NAME=WEIGHT,…; repeat for each")
        ->type_name("POLICY")
        ->expected(1)
        ->take_all();
    command->callback([flags, policies, &exit_code] { exit_code = run_compare(*flags, *policies); });
}

} // namespace vgpusim::cli
