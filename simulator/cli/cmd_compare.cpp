// vgpusim compare: the same workload under several policies, side by side.
#include "vgpusim/study/compare.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands.hpp"
#include "run_flags.hpp"

namespace vgpusim::cli {

namespace {

void print_lead(const std::vector<run_record>& records, const standings& standing) {
    const auto& pct = standing.allocation_pct;
    std::vector<std::size_t> ranked(records.size());
    std::iota(ranked.begin(), ranked.end(), std::size_t{0});
    std::ranges::stable_sort(ranked, std::greater{}, [&pct](std::size_t run) { return pct[run]; });
    const run_record& first = records[ranked[0]];
    const run_record& second = records[ranked[1]];
    const double lead = pct[ranked[0]] - pct[ranked[1]];
    const char* share = standing.over_time ? "of all GPU time" : "of all GPUs";
    constexpr double lead_shown_min = 0.005; // below that it would read 0.00
    if (lead < lead_shown_min) {
        fmt::print("\n{} and {} allocate the same share {}.\n", first.config.policy, second.config.policy, share);
    } else {
        fmt::print("\n{} wins: it allocates {:.2f} percentage points {} more than {} ({:.1f} GPUs).\n",
                   first.config.policy, lead, share, second.config.policy,
                   lead / 100.0 * static_cast<double>(first.gpus));
    }
}

void print_table(const std::vector<run_record>& records) {
    const standings standing = standings_of(records);
    fmt::print("{:<28} {:>12} {:>16} {:>10} {:>10} {:>14}\n", "policy",
               standing.over_time ? "mean alloc %" : "allocation %", "unusable GPUs", "placed", "failed",
               "decisions/s");
    for (std::size_t run = 0; run < records.size(); ++run) {
        const run_record& record = records[run];
        fmt::print("{:<28} {:>12.2f} {:>16.2f} {:>10} {:>10} {:>14.0f}\n", record.config.policy,
                   standing.allocation_pct[run], static_cast<double>(record.last.unusable_micro) / 1e9,
                   record.result.placed, record.result.failed, record.result.decisions_per_s());
    }
    print_lead(records, standing);
}

int run_compare(const run_flags& flags, const std::vector<std::string>& policies) {
    if (const auto checked = check_policies(policies); !checked) return report_error(checked.error());
    const auto config = config_from(flags);
    if (!config) return report_error(config.error());
    const auto loaded = load_input(*config);
    if (!loaded) return report_error(loaded.error());
    // What can be refused at once is refused before the first replay, which may take long.
    if (const auto checked = check_policy_names(policies); !checked) return report_error(checked.error());
    if (const auto kept = keep_inputs(flags, *config, *loaded, comparison_file_names(policies)); !kept) {
        return report_error(kept.error());
    }
    const auto records = compare(*config, *loaded, policies, [&loaded](const std::string& policy) {
        return progress_bar(policy, loaded->input.pods.size());
    });
    end_progress();
    if (!records) return report_error(records.error());
    const named_texts files = comparison_files(*records, *loaded);
    if (const auto written = write_texts(config->out, files); !written) return report_error(written.error());
    if (flags.json) {
        fmt::print("{}", text_of(files, "compare.json"));
    } else {
        print_table(*records);
        fmt::print("report: {}/report.html\n", config->out);
    }
    return exit_done;
}

} // namespace

void add_compare(CLI::App& app, int& exit_code) {
    auto flags = std::make_shared<run_flags>();
    auto policies = std::make_shared<std::vector<std::string>>();
    CLI::App* command = app.add_subcommand("compare", "Replay the same workload under several policies, side by side");
    add_run_flags(*command, flags);
    command->add_option("--policy", *policies, "A policy; repeat for each")->expected(1)->take_all();
    command->callback([flags, policies, &exit_code] { exit_code = run_compare(*flags, *policies); });
}

} // namespace vgpusim::cli
