// vgpusim run: replays one workload under one policy.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands.hpp"
#include "run_flags.hpp"
#include "vgpualloc/core/printable.hpp"
#include "vgpuops/whatif/idle_words.hpp"
#include "vgpureport/report.hpp"
#include "vgpusim/bound/bounds.hpp"
#include "vgpusim/bound/words.hpp"
#include "vgpusim/outputs/answer.hpp"
#include "vgpusim/outputs/figures.hpp"
#include "vgpusim/outputs/queue_figures.hpp"
#include "vgpusim/outputs/report.hpp"
#include "vgpusim/outputs/run_files.hpp"
#include "vgpusim/study/run.hpp"
#include "vgpusim/study/solver.hpp"

namespace vgpusim::cli {

namespace {

const std::string baseline_folder = "baseline/";

void print_waits(const group_figures& all) {
    const distribution& wait = all.wait_s;
    if (all.arrived > all.started) fmt::print("never started  {} of {} jobs\n", all.arrived - all.started, all.arrived);
    if (wait.count == 0) return;
    fmt::print("wait           {:.0f} s on average, p50 {:.0f} s, p95 {:.0f} s, p99 {:.0f} s, at most {:.0f} s\n",
               wait.mean, wait.p50, wait.p95, wait.p99, wait.max);
    if (all.bounded_slowdown.count == 0) return;
    fmt::print("slowdown       {:.2f} on average, p95 {:.2f} (bounded, 10 s)\n", all.bounded_slowdown.mean,
               all.bounded_slowdown.p95);
}

/// Memory and compute apart where they differ.
std::string served_parts_in_words(const run_figures& figures) {
    if (figures.served_memory_ratio == figures.served_compute_ratio) return "";
    return fmt::format(" ({:.2f} % of memory, {:.2f} % of compute)", 100.0 * figures.served_memory_ratio,
                       100.0 * figures.served_compute_ratio);
}

void print_summary(const run_record& record, const loaded_input& loaded, const std::string& answer) {
    const auto& result = record.result;
    const run_figures figures = figures_of(record);
    const bool leave = record.pods_leave;
    const sample& shown = record.shown_state();
    fmt::print("policy         {}\n", record.config.policy);
    const row_counts& rows = record.rows;
    fmt::print("pods           {} arrived, {} placed, {} failed{}\n", rows.arrived, rows.placed, rows.failed,
               record.has_queue ? fmt::format(", {} still waiting", rows.waiting) : "");
    if (record.has_queue) print_waits(queue_figures_of(record, loaded.input).all);
    fmt::print("served         {:.2f} % of {} GPUs were asked for by running pods{}{}\n", 100.0 * figures.served_ratio,
               record.gpus, leave ? ", on average" : "", served_parts_in_words(figures));
    if (leave) {
        fmt::print(
            "allocation     {:.2f} % of {} GPUs on average, {:.2f} % at the peak, {:.2f} % on average until the last "
            "pod has arrived\n",
            100.0 * figures.allocation_mean_ratio, record.gpus, 100.0 * figures.allocation_peak_ratio,
            100.0 * figures.allocation_until_last_arrival_ratio);
    } else {
        fmt::print("allocation     {:.2f} % of {} GPUs\n", 100.0 * figures.allocation_end_ratio, record.gpus);
    }
    fmt::print("fragmentation  {:.2f} GPUs idle but unusable, {:.2f} % of idle{}\n", figures.unusable_milli / 1000.0,
               100.0 * figures.unusable_of_idle_ratio, leave ? ", on average" : "");
    fmt::print("idle           {}{}\n", vgpuops::whatif::idle_line(record.idle), leave ? ", at the peak" : "");
    fmt::print("active         {} nodes, {} GPUs{}\n", shown.used_nodes, shown.used_gpus, leave ? " at the peak" : "");
    fmt::print("decisions      {:.0f}/s, p50 {:.1f} us, p99 {:.1f} us\n", result.decisions_per_s(),
               result.decision_latency.quantile_us(0.5), result.decision_latency.quantile_us(0.99));
    print_offered_load(record);
    if (record.bound) fmt::print("\n{}", bound_words(*record.bound));
    if (!answer.empty()) fmt::print("\n{}\n\n", answer);
    fmt::print("inputs         {}\n", inputs_in_words(loaded));
    fmt::print("report         {}/report.html\n", vgpualloc::printable(record.config.out));
}

/// A finished run with what it replayed.
struct finished_run {
    loaded_input loaded;
    run_record record;
};

/// `nodes`: those of the input, moved out of it where nobody asks for them afterwards.
vgpualloc::expected<finished_run> finish(const run_config& config, loaded_input loaded, vgpualloc::cluster nodes,
                                         const std::string& label) {
    auto record = replay(config, loaded, std::move(nodes), progress_bar(label, loaded.input.pods.size()));
    end_progress();
    if (!record) return vgpualloc::unexpected(std::move(record.error()));
    return finished_run{.loaded = std::move(loaded), .record = *std::move(record)};
}

/// The run, with bounds on what it could have served where these are asked for.
vgpualloc::expected<finished_run> finish(const run_config& config, loaded_input loaded, bool bound) {
    vgpualloc::cluster nodes = bound ? loaded.input.nodes : std::move(loaded.input.nodes);
    auto finished = finish(config, std::move(loaded), std::move(nodes), config.policy);
    if (!finished || !bound) return finished;
    auto solver = find_solver("--bound");
    if (!solver) return vgpualloc::unexpected(std::move(solver.error()));
    auto figures = bounds_of(finished->loaded, {.finished = &finished->record}, **solver);
    if (!figures) return vgpualloc::unexpected(std::move(figures.error()));
    finished->record.bound = *std::move(figures);
    return finished;
}

vgpualloc::expected<std::optional<finished_run>> finish_baseline(const std::optional<run_config>& config) {
    if (!config) return std::nullopt;
    auto loaded = load_input(*config);
    if (!loaded) return vgpualloc::unexpected(std::move(loaded.error()));
    vgpualloc::cluster nodes = std::move(loaded->input.nodes);
    auto finished = finish(*config, *std::move(loaded), std::move(nodes), "baseline");
    if (!finished) return vgpualloc::unexpected(std::move(finished.error()));
    return std::optional{*std::move(finished)};
}

std::vector<std::string> output_names(const run_plan& plan) {
    std::vector<std::string> names = names_of_run_files(plan.run);
    names.emplace_back("report.html");
    if (!plan.baseline) return names;
    for (const std::string& name : names_of_run_files(*plan.baseline)) names.push_back(baseline_folder + name);
    return names;
}

/// The page that shows the run, its baseline beside it, and what they answer.
std::string report_of(const finished_run& run, const std::optional<finished_run>& baseline, const std::string& answer) {
    std::vector<vgpureport::report_run> shown;
    shown.push_back(describe(run.record, run.loaded));
    shown.front().answer = answer;
    if (baseline) {
        shown.push_back(describe(baseline->record, baseline->loaded));
        shown.back().policy += " (baseline)";
    }
    return vgpureport::render_report(shown);
}

int run(const run_flags& flags, bool bound) {
    if (bound) {
        if (const auto solver = find_solver("--bound"); !solver) return report_error(solver.error());
    }
    const auto plan = plan_from(flags);
    if (!plan) return report_error(plan.error());
    if (const auto used = check_prices(plan->run, {plan->run.policy}); !used) return report_error(used.error());
    auto loaded = load_input(plan->run);
    if (!loaded) return report_error(loaded.error());
    if (const auto kept = keep_inputs(flags, plan->run, *loaded, output_names(*plan)); !kept) {
        return report_error(kept.error());
    }
    auto finished = finish(plan->run, *std::move(loaded), bound);
    if (!finished) return report_error(finished.error());
    auto baseline = finish_baseline(plan->baseline);
    if (!baseline) return report_error(baseline.error());
    if (*baseline) {
        run_record* const compared[] = {&finished->record, &(*baseline)->record};
        share_span(compared);
    }
    const run_record* held_against = *baseline ? &(*baseline)->record : nullptr;
    const std::string answer = answer_of(finished->record, held_against);
    // The report first: what it is made from takes as much memory as the other files, and is gone before they come.
    std::string report = report_of(*finished, *baseline, answer);
    named_texts files = run_files(finished->record, finished->loaded, held_against);
    if (*baseline) {
        for (auto& [name, text] : run_files((*baseline)->record, (*baseline)->loaded))
            files.emplace_back(baseline_folder + name, std::move(text));
    }
    files.emplace_back("report.html", std::move(report));
    if (const auto written = write_texts(plan->run.out, files); !written) return report_write_failure(written.error());
    print_warnings(finished->loaded);
    print_warnings(finished->record);
    if (flags.json) {
        fmt::print("{}", text_of(files, "summary.json"));
    } else {
        print_summary(finished->record, finished->loaded, answer);
    }
    return exit_done;
}

} // namespace

void add_run(CLI::App& app, int& exit_code) {
    auto flags = std::make_shared<run_flags>();
    CLI::App* command = app.add_subcommand("run", "Replay a trace under one policy");
    add_run_flags(*command, flags);
    add_keyed_flag(*command, flags, "--policy", "policy", "POLICY",
                   "Policy (vgpusim policies), or weighted:NAME=WEIGHT,…");
    auto bound = std::make_shared<bool>(false);
    command->add_flag("--bound", *bound, "Also say how near the run comes to what any policy could have served");
    command->callback([flags, bound, &exit_code] { exit_code = run(*flags, *bound); });
}

} // namespace vgpusim::cli
