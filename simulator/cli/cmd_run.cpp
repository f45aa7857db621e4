// vgpusim run: replays one workload under one policy.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands.hpp"
#include "run_flags.hpp"
#include "vgpureport/report.hpp"
#include "vgpusim/outputs/answer.hpp"
#include "vgpusim/outputs/figures.hpp"
#include "vgpusim/outputs/report.hpp"
#include "vgpusim/outputs/run_files.hpp"
#include "vgpusim/study/run.hpp"

namespace vgpusim::cli {

namespace {

void print_summary(const run_record& record) {
    const auto& result = record.result;
    const run_figures figures = figures_of(record);
    const bool leave = record.pods_leave;
    const sample& shown = record.shown_state();
    fmt::print("policy         {}\n", record.config.policy);
    fmt::print("pods           {} arrived, {} placed, {} failed\n", result.pods.size(), result.placed, result.failed);
    fmt::print("served         {:.2f} % of {} GPUs were asked for by running pods{}\n", 100.0 * figures.served_ratio,
               record.gpus, leave ? ", on average" : "");
    if (leave) {
        fmt::print("allocation     {:.2f} % of {} GPUs on average, {:.2f} % at the peak\n",
                   100.0 * figures.allocation_mean_ratio, record.gpus, 100.0 * figures.allocation_peak_ratio);
    } else {
        fmt::print("allocation     {:.2f} % of {} GPUs\n", 100.0 * figures.allocation_end_ratio, record.gpus);
    }
    fmt::print("fragmentation  {:.2f} GPUs idle but unusable, {:.2f} % of idle{}\n", figures.unusable_milli / 1000.0,
               100.0 * figures.unusable_of_idle_ratio, leave ? ", on average" : "");
    fmt::print("active         {} nodes, {} GPUs{}\n", shown.used_nodes, shown.used_gpus, leave ? " at the peak" : "");
    fmt::print("decisions      {:.0f}/s, p50 {:.1f} us, p99 {:.1f} us\n", result.decisions_per_s(),
               result.decision_latency.quantile_us(0.5), result.decision_latency.quantile_us(0.99));
    if (const std::string answer = answer_of(record, nullptr); !answer.empty()) fmt::print("\n{}\n", answer);
    fmt::print("report         {}/report.html\n", record.config.out);
}

int run(const run_flags& flags) {
    const auto config = config_from(flags);
    if (!config) return report_error(config.error());
    auto loaded = load_input(*config);
    if (!loaded) return report_error(loaded.error());
    std::vector<std::string> names{run_file_names.begin(), run_file_names.end()};
    names.emplace_back("report.html");
    if (const auto kept = keep_inputs(flags, *config, *loaded, names); !kept) return report_error(kept.error());
    const auto record = replay(*config, *loaded, std::move(loaded->input.nodes),
                               progress_bar(config->policy, loaded->input.pods.size()));
    end_progress();
    if (!record) return report_error(record.error());
    // The report first: what it is made from takes as much memory as the other files, and is gone before they come.
    std::string report = vgpureport::render_report({describe(*record, *loaded)});
    named_texts files = run_files(*record, *loaded);
    files.emplace_back("report.html", std::move(report));
    if (const auto written = write_texts(config->out, files); !written) return report_error(written.error());
    if (flags.json) {
        fmt::print("{}", text_of(files, "summary.json"));
    } else {
        print_summary(*record);
    }
    return exit_done;
}

} // namespace

void add_run(CLI::App& app, int& exit_code) {
    auto flags = std::make_shared<run_flags>();
    CLI::App* command = app.add_subcommand("run", "Replay a trace under one policy");
    add_run_flags(*command, flags);
    command->add_option_function<std::string>(
        "--policy", [flags](const std::string& value) { flags->keyed.emplace_back("policy", value); },
        "Policy (vgpusim policies), or weighted:NAME=WEIGHT,…");
    command->callback([flags, &exit_code] { exit_code = run(*flags); });
}

} // namespace vgpusim::cli
