#include "measures.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "text.hpp"

namespace vgpureport {
namespace {

using maybe_number = std::optional<double>;

/// A fraction of the GPUs as a percentage, if there are any.
maybe_number percent(const report_run& run, double fraction) {
    if (run.total.count() <= 0 || !std::isfinite(fraction)) return std::nullopt;
    return 100.0 * fraction;
}

/// Where no pod arrived, none failing is no merit.
maybe_number pods(const report_run& run, std::int64_t count) {
    return run.pods_arrived > 0 ? maybe_number{static_cast<double>(count)} : std::nullopt;
}

/// A rate or latency of zero was not measured.
maybe_number measured(double value) { return std::isfinite(value) && value > 0.0 ? maybe_number{value} : std::nullopt; }

maybe_number in_use(const report_run& run, std::int64_t count) {
    return run.samples.empty() ? maybe_number{} : maybe_number{static_cast<double>(count)};
}

auto find_figure(const report_run& run, std::string_view name) {
    return std::find_if(run.more_figures.begin(), run.more_figures.end(),
                        [name](const report_figure& figure) { return figure.name == name; });
}

/// The further figures of all runs, each name once, in the order they first appear.
std::vector<report_figure> figures_of_all(const std::vector<report_run>& runs) {
    std::vector<report_figure> result;
    for (const report_run& run : runs) {
        for (const report_figure& figure : run.more_figures) {
            const bool is_known = std::any_of(result.begin(), result.end(),
                                              [&](const report_figure& known) { return known.name == figure.name; });
            if (!is_known) result.push_back(figure);
        }
    }
    return result;
}

} // namespace

std::vector<measure> measures_of(const std::vector<report_run>& runs, const timeline& axes) {
    std::vector<measure> rows;
    const std::string_view mean = axes.has_departures ? "mean over time" : "at the end";
    const std::string_view moment = axes.has_departures ? "at the peak" : "at the end";
    const auto add = [&](measure row, auto value) {
        for (const report_run& run : runs) row.values.push_back(value(run));
        rows.push_back(std::move(row));
    };
    const auto percentage = [](std::string_view name, std::string_view when, better direction, std::string_view curve) {
        return measure{.name = std::string{name},
                       .when = when,
                       .unit = " %",
                       .unit_of_difference = " points",
                       .decimals = 2,
                       .direction = direction,
                       .lead_min = lead_min_pct,
                       .curve = curve};
    };
    const auto count = [](std::string_view name, std::string_view when, better direction, double lead_min,
                          std::string_view curve) {
        return measure{.name = std::string{name},
                       .when = when,
                       .unit = "",
                       .unit_of_difference = "",
                       .decimals = 0,
                       .direction = direction,
                       .lead_min = lead_min,
                       .curve = curve};
    };
    add(percentage("GPUs accepted, of those asked for", "", better::higher, ""), [](const report_run& run) {
        return run.accepted_gpus ? maybe_number{100.0 * *run.accepted_gpus} : std::nullopt;
    });
    add(percentage("GPUs served", mean, better::higher, "served"),
        [](const report_run& run) { return percent(run, run.figures.served); });
    add(percentage("Memory served", mean, better::neither, ""),
        [](const report_run& run) { return percent(run, run.figures.served_memory); });
    add(percentage("Compute served", mean, better::neither, ""),
        [](const report_run& run) { return percent(run, run.figures.served_compute); });
    // What is allocated is taken from others, whether or not anybody asked for it: more of it is no merit.
    add(percentage("GPUs allocated", mean, better::neither, "allocation"),
        [](const report_run& run) { return percent(run, run.figures.allocated); });
    if (axes.has_departures) {
        add(percentage("GPUs allocated", "at the peak", better::neither, ""),
            [](const report_run& run) { return percent(run, run.figures.allocated_peak); });
    }
    add(percentage("Fragmentation, of all GPUs", mean, better::lower, "fragmentation_all"),
        [](const report_run& run) { return percent(run, run.figures.fragmentation); });
    add(percentage("Fragmentation, of idle GPUs", mean, better::lower, "fragmentation_idle"),
        [](const report_run& run) { return percent(run, run.figures.fragmentation_of_idle); });
    // Large pods are few: who turns them away places more pods, which is no merit.
    add(count("Pods placed", "", better::neither, 0.0, ""),
        [](const report_run& run) { return pods(run, run.pods_placed); });
    add(count("Pods not placed", "", better::neither, 0.0, ""),
        [](const report_run& run) { return pods(run, failed(run)); });
    add(count("GPUs in use", moment, better::neither, 0.0, "gpus"),
        [](const report_run& run) { return in_use(run, run.figures.used_gpus); });
    add(count("Nodes in use", moment, better::neither, 0.0, "nodes"),
        [](const report_run& run) { return in_use(run, run.figures.used_nodes); });
    for (const report_figure& figure : figures_of_all(runs)) {
        add(measure{.name = figure.name,
                    .when = "",
                    .unit = figure.unit,
                    .unit_of_difference = figure.unit,
                    .decimals = figure.decimals,
                    .direction = figure.direction,
                    .is_headline = figure.headline},
            [&figure](const report_run& run) {
                const auto same = find_figure(run, figure.name);
                return same == run.more_figures.end() ? maybe_number{} : same->value;
            });
    }
    // How fast the decisions were says as much of the machine and its other work as of the policy.
    add(count("Decisions per second", "on this machine", better::neither, 0.0, ""),
        [](const report_run& run) { return measured(run.decisions_per_second); });
    const auto latency = [](std::string_view name) {
        return measure{.name = std::string{name},
                       .when = "on this machine",
                       .unit = " µs",
                       .unit_of_difference = " µs",
                       .decimals = 2,
                       .direction = better::neither};
    };
    add(latency("Decision latency, median"), [](const report_run& run) { return measured(run.latency_p50_us); });
    add(latency("Decision latency, 99th percentile"),
        [](const report_run& run) { return measured(run.latency_p99_us); });
    return rows;
}

std::string measure::title() const {
    std::string text{name};
    if (!when.empty()) text.append(", ").append(when);
    return text;
}

std::string measure::shown(std::size_t run) const {
    if (!values[run]) return std::string{no_value};
    std::string text = fixed(*values[run], decimals);
    return text == no_value ? text : text.append(unit);
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
    const double difference = *row.values[ranked.front()] - *row.values[*next];
    const bool leads = std::abs(difference) >= row.lead_min;
    for (auto run = ranked.begin(); leads && run != next; ++run) result.best[*run] = true;
    result.margin = (difference > 0 ? "+" : "−") + fixed(std::abs(difference), row.decimals);
    result.margin += row.unit_of_difference;
    const double relative = 100.0 * std::abs(difference) / std::abs(*row.values[*next]);
    if (std::isfinite(relative)) result.margin += " (" + fixed(relative, 1) + " %)";
    if (!leads) result.margin += ", may be chance";
    return result;
}

} // namespace vgpureport
