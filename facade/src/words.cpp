#include "vgpufacade/words.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "vgpuops/whatif/idle_words.hpp"
#include "vgpusim/bound/words.hpp"
#include "vgpusim/outputs/answer.hpp"
#include "vgpusim/outputs/figures.hpp"
#include "vgpusim/outputs/queue_figures.hpp"

namespace vgpufacade {

using vgpusim::acceptance;
using vgpusim::accepted_size;
using vgpusim::distribution;
using vgpusim::gpu_sizes;
using vgpusim::group_figures;
using vgpusim::loaded_input;
using vgpusim::row_counts;
using vgpusim::run_figures;
using vgpusim::run_record;
using vgpusim::sample;

namespace {

/// "1 GPU", "8 GPUs".
std::string gpus_words(std::int64_t gpus) { return fmt::format("{} {}", gpus, gpus == 1 ? "GPU" : "GPUs"); }

} // namespace

std::string offered_load_words(const run_record& record) {
    if (!record.offered_load) return {};
    std::string text;
    const auto span = (record.last_arrival - record.first_arrival).count() / vgpualloc::ticks_per_second.count();
    text += fmt::format(
        "offered load   {:.4f} of all GPUs in the {} s of arrivals: arrival rate x duration x GPUs requested\n",
        *record.offered_load, span);
    if (record.config.tune > 0.0) {
        text += fmt::format("tune           pods request {} times all GPUs; where pods leave, this is not the load\n",
                            record.config.tune);
    }
    return text;
}

namespace {

void add_waits(std::string& text, const group_figures& all) {
    const distribution& wait = all.wait_s;
    if (all.arrived > all.started)
        text += fmt::format("never started  {} of {} jobs\n", all.arrived - all.started, all.arrived);
    if (wait.count == 0) return;
    text +=
        fmt::format("wait           {:.0f} s on average, p50 {:.0f} s, p95 {:.0f} s, p99 {:.0f} s, at most {:.0f} s\n",
                    wait.mean, wait.p50, wait.p95, wait.p99, wait.max);
    if (all.bounded_slowdown.count == 0) return;
    text += fmt::format("slowdown       {:.2f} on average, p95 {:.2f} (bounded, 10 s)\n", all.bounded_slowdown.mean,
                        all.bounded_slowdown.p95);
}

/// Memory and compute apart where they differ.
std::string served_parts_in_words(const run_figures& figures) {
    if (figures.served_memory_ratio == figures.served_compute_ratio) return "";
    return fmt::format(" ({:.2f} % of memory, {:.2f} % of compute)", 100.0 * figures.served_memory_ratio,
                       100.0 * figures.served_compute_ratio);
}

/// How much of what pods asked for was accepted, and of pods by size. Nothing where no pod asks for a GPU.
std::string accepted_words(const run_record& record) {
    const acceptance& accepted = record.accepted;
    if (accepted.arrived_units == 0) return {};
    std::string text =
        fmt::format("accepted       {:.2f} % of {:.2f} GPUs asked for; pods by GPUs:", 100.0 * accepted.gpu_ratio(),
                    accepted.arrived_gpus());
    const char* separator = " ";
    for (std::size_t i = 0; i < gpu_sizes.size(); ++i) {
        if (accepted.by_size[i].arrived == 0) continue;
        text +=
            fmt::format("{}{}: {:.2f} %", separator, gpu_sizes[i].name, 100.0 * accepted.by_size[i].accepted_ratio());
        separator = ", ";
    }
    return text + "\n";
}

/// What became of the pods that ran when the run began. Nothing where none did.
std::string start_words(const run_record& record) {
    const row_counts& rows = record.rows;
    if (rows.ran_before == 0) return {};
    return fmt::format("at the start   {} ran, not counted above: {} ended since, {} did not\n",
                       rows.ran_before == 1 ? "1 pod" : fmt::format("{} pods", rows.ran_before), rows.ran_before_ended,
                       rows.ran_before - rows.ran_before_ended);
}

std::string text_of(const run_record& record, const loaded_input& loaded, const std::string& answer) {
    std::string text;
    const auto& result = record.result;
    const run_figures figures = figures_of(record);
    const bool leave = record.pods_leave;
    const sample& shown = record.shown_state();
    text += fmt::format("policy         {}\n", record.config.policy);
    const row_counts& rows = record.rows;
    text += fmt::format("pods           {} arrived, {} placed, {} failed{}\n", rows.arrived, rows.placed, rows.failed,
                        record.has_queue ? fmt::format(", {} still waiting", rows.waiting) : "");
    text += start_words(record);
    text += accepted_words(record);
    if (record.has_queue) add_waits(text, queue_figures_of(record, loaded.input).all);
    text += fmt::format("served         running pods requested {:.2f} % of {}{}{}\n", 100.0 * figures.served_ratio,
                        gpus_words(record.gpus), leave ? ", on average" : "", served_parts_in_words(figures));
    if (leave) {
        text += fmt::format(
            "allocation     {:.2f} % of {} on average, {:.2f} % at the peak, {:.2f} % on average until the last "
            "pod has arrived\n",
            100.0 * figures.allocation_mean_ratio, gpus_words(record.gpus), 100.0 * figures.allocation_peak_ratio,
            100.0 * figures.allocation_until_last_arrival_ratio);
    } else {
        text += fmt::format("allocation     {:.2f} % of {}\n", 100.0 * figures.allocation_end_ratio,
                            gpus_words(record.gpus));
    }
    text += fmt::format("fragmentation  {:.2f} GPUs idle but unusable, {:.2f} % of idle{}\n",
                        figures.unusable_milli / 1000.0, 100.0 * figures.unusable_of_idle_ratio,
                        leave ? ", on average" : "");
    text += fmt::format("idle           {}{}\n", vgpuops::whatif::idle_line(record.idle), leave ? ", at the peak" : "");
    text += fmt::format("active         {} {}, {}{}\n", shown.used_nodes, shown.used_nodes == 1 ? "node" : "nodes",
                        gpus_words(shown.used_gpus), leave ? " at the peak" : "");
    text += fmt::format("decisions      {:.0f}/s, p50 {:.1f} us, p99 {:.1f} us\n", result.decisions_per_s(),
                        result.decision_latency.quantile_us(0.5), result.decision_latency.quantile_us(0.99));
    text += offered_load_words(record);
    if (record.bound) text += fmt::format("\n{}", bound_words(*record.bound));
    if (!answer.empty()) text += fmt::format("\n{}\n\n", answer);
    return text;
}

} // namespace

std::string outcome_text(const simulation_outcome& outcome) {
    return text_of(outcome.record(), outcome.input(), outcome.answer());
}

namespace {

/// A line per policy, with a column for each size of pod that arrived. A figure that is missing is a dash.
template <class Figure>
std::string size_table(const std::vector<run_record>& records, std::string_view title, Figure figure) {
    std::string text = fmt::format("\n{:<28}", title);
    for (std::size_t i = 0; i < gpu_sizes.size(); ++i) {
        if (records.front().accepted.by_size[i].arrived > 0) text += fmt::format(" {:>10}", gpu_sizes[i].name);
    }
    for (const run_record& record : records) {
        text += fmt::format("\n{:<28}", record.config.policy);
        for (const accepted_size& size : record.accepted.by_size) {
            if (size.arrived == 0) continue;
            const std::optional<double> value = std::invoke(figure, size);
            text += value ? fmt::format(" {:>10.2f}", *value) : fmt::format(" {:>10}", "-");
        }
    }
    return text + "\n";
}

/// How much of each size of pod was accepted, and how long pods of it waited. Nothing where no pod asks for a GPU.
std::string size_tables(const std::vector<run_record>& records) {
    if (records.front().accepted.arrived_units == 0) return {};
    std::string text = size_table(records, "pods accepted %, by GPUs", [](const accepted_size& size) {
        return std::optional{100.0 * size.accepted_ratio()};
    });
    const bool has_queue = std::ranges::any_of(records, &run_record::has_queue);
    if (has_queue) text += size_table(records, "mean wait in s, by GPUs", &accepted_size::wait_mean_s);
    return text;
}

} // namespace

std::string comparison_text(const std::vector<run_record>& records) {
    std::string text;
    const bool leave = std::ranges::any_of(records, &run_record::pods_leave);
    std::vector<run_figures> figures;
    for (const run_record& record : records) figures.push_back(figures_of(record));
    // Memory and compute apart where they differ.
    const bool has_parts = std::ranges::any_of(
        figures, [](const run_figures& of_run) { return of_run.served_memory_ratio != of_run.served_compute_ratio; });
    text += fmt::format("{:<28} {:>15} {:>12}{} {:>13}{} {:>14} {:>9} {:>9} {:>14}\n", "policy", "GPUs accepted %",
                        leave ? "mean served %" : "served %", has_parts ? "  memory %  compute %" : "",
                        leave ? "mean alloc %" : "allocation %", leave ? "  peak alloc %" : "",
                        leave ? "mean unusable" : "unusable GPUs", "placed", "failed", "decisions/s");
    for (std::size_t i = 0; i < records.size(); ++i) {
        const run_record& record = records[i];
        const run_figures& of_run = figures[i];
        const std::string parts = has_parts ? fmt::format(" {:>9.2f} {:>10.2f}", 100.0 * of_run.served_memory_ratio,
                                                          100.0 * of_run.served_compute_ratio)
                                            : "";
        const std::string peak = leave ? fmt::format(" {:>13.2f}", 100.0 * of_run.allocation_peak_ratio) : "";
        text += fmt::format("{:<28} {:>15.2f} {:>{}.2f}{} {:>13.2f}{} {:>14.2f} {:>9} {:>9} {:>14.0f}\n",
                            record.config.policy, 100.0 * record.accepted.gpu_ratio(), 100.0 * of_run.served_ratio,
                            leave ? 13 : 12, parts, 100.0 * of_run.allocation_mean_ratio, peak,
                            of_run.unusable_milli / 1000.0, record.rows.placed, record.rows.failed,
                            record.result.decisions_per_s());
    }
    text += size_tables(records);
    text += fmt::format("\n{}\n", verdict_of(records));
    return text + offered_load_words(records.front());
}

} // namespace vgpufacade
