#include "measures.hpp"

#include <algorithm>
#include <cmath>

#include "text.hpp"

namespace vgpureport {
namespace {

using maybe_number = std::optional<double>;

maybe_number percent(double part, vgpualloc::milli_gpu whole) {
    if (whole.count() <= 0 || !std::isfinite(part)) return std::nullopt;
    return 100.0 * part / static_cast<double>(whole.count());
}

maybe_number allocation_at_end(const report_run& run) {
    if (!run.samples.empty()) return percent(static_cast<double>(run.samples.back().allocated.count()), run.total);
    if (run.nodes.empty()) return std::nullopt;
    std::int64_t used = 0;
    for (const auto& node : run.nodes) {
        for (const auto gpu : node.used) used += gpu.count();
    }
    return percent(static_cast<double>(used), run.total);
}

maybe_number allocation_at_peak(const report_run& run) {
    if (run.samples.empty()) return std::nullopt;
    const auto less = [](const report_sample& a, const report_sample& b) { return a.allocated < b.allocated; };
    const auto peak = std::max_element(run.samples.begin(), run.samples.end(), less);
    return percent(static_cast<double>(peak->allocated.count()), run.total);
}

/// Each sample holds until the next one.
maybe_number allocation_over_time(const report_run& run) {
    double area = 0.0;
    for (std::size_t i = 1; i < run.samples.size(); ++i) {
        const auto span = run.samples[i].time - run.samples[i - 1].time;
        area += static_cast<double>(run.samples[i - 1].allocated.count()) * static_cast<double>(span.count());
    }
    if (run.samples.empty() || run.samples.back().time <= run.samples.front().time) return std::nullopt;
    const auto span = run.samples.back().time - run.samples.front().time;
    return percent(area / static_cast<double>(span.count()), run.total);
}

maybe_number fragmentation_of_all(const report_run& run) {
    return run.samples.empty() ? std::nullopt : percent(run.samples.back().fragmentation_milli, run.total);
}

maybe_number fragmentation_of_idle(const report_run& run) {
    if (run.samples.empty()) return std::nullopt;
    const auto& last = run.samples.back();
    return percent(last.fragmentation_milli, run.total - last.allocated);
}

maybe_number gpus_in_use(const report_run& run) {
    return run.samples.empty() ? maybe_number{} : static_cast<double>(run.samples.back().used_gpus);
}

maybe_number nodes_in_use(const report_run& run) {
    return run.samples.empty() ? maybe_number{} : static_cast<double>(run.samples.back().used_nodes);
}

/// Where no pod arrived, none failing is no merit.
maybe_number pods(const report_run& run, std::int64_t count) {
    return run.pods_arrived > 0 ? maybe_number{static_cast<double>(count)} : std::nullopt;
}

/// A rate or latency of zero was not measured.
maybe_number measured(double value) { return std::isfinite(value) && value > 0.0 ? maybe_number{value} : std::nullopt; }

template <class Value>
measure per_run(const std::vector<report_run>& runs, measure row, Value value) {
    for (const report_run& run : runs) row.values.push_back(value(run));
    return row;
}

measure percentage(std::string_view title, better direction) { return {title, " %", " points", 2, direction, {}}; }

} // namespace

std::vector<measure> measures_of(const std::vector<report_run>& runs, const timeline& axes) {
    std::vector<measure> rows;
    const auto add = [&](measure row, auto value) { rows.push_back(per_run(runs, row, value)); };
    if (axes.has_departures) {
        if (axes.has_clock) add(percentage("GPU allocation, mean over time", better::higher), allocation_over_time);
        add(percentage("GPU allocation, peak", better::higher), allocation_at_peak);
        // Once every pod has ended nothing is allocated, whoever decided.
        add(percentage("GPU allocation, at the end", better::neither), allocation_at_end);
    } else {
        add(percentage("GPU allocation, at the end", better::higher), allocation_at_end);
    }
    add(percentage("Fragmentation, of all GPUs", better::lower), fragmentation_of_all);
    add(percentage("Fragmentation, of idle GPUs", better::lower), fragmentation_of_idle);
    add({"Pods placed", "", "", 0, better::higher, {}},
        [](const report_run& run) { return pods(run, run.pods_placed); });
    add({"Pods not placed", "", "", 0, better::lower, {}},
        [](const report_run& run) { return pods(run, failed(run)); });
    add({"GPUs in use, at the end", "", "", 0, better::neither, {}}, gpus_in_use);
    add({"Nodes in use, at the end", "", "", 0, better::neither, {}}, nodes_in_use);
    add({"Decisions per second", "", "", 0, better::higher, {}},
        [](const report_run& run) { return measured(run.decisions_per_second); });
    add({"Decision latency, median", " µs", " µs", 2, better::lower, {}},
        [](const report_run& run) { return measured(run.latency_p50_us); });
    add({"Decision latency, 99th percentile", " µs", " µs", 2, better::lower, {}},
        [](const report_run& run) { return measured(run.latency_p99_us); });
    return rows;
}

std::string measure::shown(std::size_t run) const {
    if (!values[run]) return std::string{no_value};
    return fixed(*values[run], decimals).append(unit);
}

verdict judge(const measure& row) {
    verdict result{std::vector<bool>(row.values.size(), false), ""};
    std::vector<std::size_t> ranked;
    for (std::size_t i = 0; i < row.values.size(); ++i) {
        if (row.values[i]) ranked.push_back(i);
    }
    if (row.direction == better::neither || ranked.size() < 2) return result;
    std::stable_sort(ranked.begin(), ranked.end(), [&row](std::size_t a, std::size_t b) {
        return row.direction == better::higher ? *row.values[a] > *row.values[b] : *row.values[a] < *row.values[b];
    });

    const std::string best = row.shown(ranked.front());
    const auto next =
        std::find_if(ranked.begin(), ranked.end(), [&](std::size_t run) { return row.shown(run) != best; });
    if (next == ranked.end()) {
        result.margin = "equal";
        return result;
    }
    for (auto run = ranked.begin(); run != next; ++run) result.best[*run] = true;
    const double difference = *row.values[ranked.front()] - *row.values[*next];
    result.margin = (difference > 0 ? "+" : "−") + fixed(std::abs(difference), row.decimals);
    result.margin += row.unit_of_difference;
    const double relative = 100.0 * std::abs(difference) / std::abs(*row.values[*next]);
    if (std::isfinite(relative)) result.margin += " (" + fixed(relative, 1) + " %)";
    return result;
}

} // namespace vgpureport
