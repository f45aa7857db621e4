#include "data.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "differences.hpp"
#include "history.hpp"
#include "measures.hpp"
#include "occupancy.hpp"
#include "text.hpp"
#include "thin.hpp"

namespace vgpureport {
namespace {

using vgpualloc::milli_gpu;

constexpr std::int64_t whole_in_milli_percent = 100'000;

std::int64_t milli_percent_of(double part_milli, milli_gpu whole) {
    if (whole.count() <= 0 || !std::isfinite(part_milli) || part_milli <= 0.0) return 0;
    // The bound only keeps absurd input inside an integer.
    const double share = std::min(part_milli / static_cast<double>(whole.count()), 1e9);
    return static_cast<std::int64_t>(share * static_cast<double>(whole_in_milli_percent) + 0.5);
}

/// One line of a chart: its name in the page's data and its height at a sample.
struct curve {
    std::string_view name;
    std::int64_t (*value)(const report_sample&, milli_gpu total);
};

constexpr curve curves[] = {
    {"served", [](const report_sample& s, milli_gpu total) { return milli_percent(s.served, total); }},
    {"allocation", [](const report_sample& s, milli_gpu total) { return milli_percent(s.allocated, total); }},
    {"fragmentation_all",
     [](const report_sample& s, milli_gpu total) { return milli_percent_of(s.fragmentation_milli, total); }},
    {"fragmentation_idle",
     [](const report_sample& s, milli_gpu total) {
         return milli_percent_of(s.fragmentation_milli, total - s.allocated);
     }},
    {"gpus", [](const report_sample& s, milli_gpu) { return s.used_gpus; }},
    {"nodes", [](const report_sample& s, milli_gpu) { return s.used_nodes; }},
};

/// `"rest":["95.16 %","at the end"]`: what the legend says of the curve while nothing is pointed at. It is the number
/// of the tables, letter by letter, so that the page does not contradict itself by a rounding.
void append_rest(std::string& out, std::string_view name, std::size_t run, const std::vector<measure>& rows) {
    const auto row = std::find_if(rows.begin(), rows.end(), [name](const measure& m) { return m.curve == name; });
    if (row == rows.end()) return;
    out += ",\"rest\":[";
    append_json(out, row->shown(run));
    out += ',';
    append_json(out, row->when);
    out += ']';
}

constexpr std::int64_t ticks_per_ms = vgpualloc::ticks_per_second.count() / 1000;

/// What all runs of a page have in common.
struct page_axes {
    bool has_clock = false;
    vgpualloc::ticks start; ///< times count from here
};

/// Load, time and height of the points that are left of a curve, without the closing brace.
template <class Height>
void append_points(std::string& out, const report_run& run, const page_axes& axes, Height height) {
    const auto& samples = run.samples;
    const auto kept = thin(samples.size(), points_max, height);
    out += '{';
    append_differences(out, "load", kept, [&](std::size_t i) { return milli_percent(samples[i].arrived, run.total); });
    if (axes.has_clock) {
        append_differences(out, "time", kept,
                           [&](std::size_t i) { return (samples[i].time - axes.start).count() / ticks_per_ms; });
    }
    append_differences(out, "y", kept, height);
}

/// A quantity of the run's own in thousandths of its unit.
std::int64_t thousandths(double value) {
    constexpr double bound = 9e12; // keeps absurd input inside what a page can count with exactly
    return std::isfinite(value) ? std::llround(std::clamp(value * 1000.0, -bound, bound)) : 0;
}

void append_series(std::string& out, const report_run& run, const page_axes& axes) {
    out += ",\"series\":[";
    for (const report_series& line : run.series) {
        if (line.values.size() != run.samples.size()) continue;
        if (out.back() != '[') out += ',';
        out += '{';
        append_member(out, "key", line.key);
        append_member(out, "title", line.title);
        append_member(out, "unit", line.unit);
        append_key(out, "curve");
        append_points(out, run, axes, [&line](std::size_t i) { return thousandths(line.values[i]); });
        out += "}}";
    }
    out += ']';
}

/// The share of jobs that waited no longer than x, at as many x as a screen can show.
void append_distribution(std::string& out, const report_distribution& waits) {
    std::vector<double> sorted;
    for (const double seconds : waits.seconds) {
        if (std::isfinite(seconds)) sorted.push_back(std::max(0.0, seconds));
    }
    std::sort(sorted.begin(), sorted.end());
    // Of equal waits the last one, which is where the curve stands at that wait; then evenly by rank.
    std::vector<std::size_t> steps;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        if (i + 1 == sorted.size() || sorted[i] < sorted[i + 1]) steps.push_back(i);
    }
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        constexpr std::size_t steps_max = 400;
        const std::size_t share = i * steps_max / steps.size();
        if (steps.size() <= steps_max || i + 1 == steps.size() || i == 0 ||
            share != (i - 1) * steps_max / steps.size()) {
            kept.push_back(steps[i]);
        }
    }
    out += '{';
    append_member(out, "group", waits.group);
    append_member(out, "jobs", static_cast<std::int64_t>(sorted.size()));
    append_differences(out, "ms", kept, [&](std::size_t i) { return thousandths(sorted[i]); });
    append_differences(out, "share", kept,
                       [&](std::size_t i) { return static_cast<std::int64_t>((i + 1) * 100'000 / sorted.size()); });
    out += '}';
}

void append_waits(std::string& out, const report_run& run) {
    constexpr std::size_t groups_max = 24; // as many lines as a legend can name
    out += ",\"waits\":[";
    for (std::size_t i = 0; i < std::min(run.waits.size(), groups_max); ++i) {
        if (i != 0) out += ',';
        append_distribution(out, run.waits[i]);
    }
    out += ']';
}

void append_run(std::string& out, const report_run& run, std::size_t number, const std::string& label,
                const page_axes& axes, const std::vector<measure>& rows) {
    out += '{';
    append_member(out, "label", label);
    append_member(out, "samples", static_cast<std::int64_t>(run.samples.size()));
    out += ",\"curves\":{";
    for (const curve& line : curves) {
        append_key(out, line.name);
        append_points(out, run, axes, [&](std::size_t i) { return line.value(run.samples[i], run.total); });
        append_rest(out, line.name, number, rows);
        out += '}';
    }
    out += '}';
    append_series(out, run, axes);
    append_waits(out, run);
    if (!run.pods_leave) return;
    const std::int64_t seconds = run.peak_after.count() / vgpualloc::ticks_per_second.count();
    append_member(out, "moment", grouped(seconds) + " s after the first arrival");
}

/// The first moment that any run has.
vgpualloc::ticks start_of(const std::vector<report_run>& runs) {
    vgpualloc::ticks start = vgpualloc::ticks::max();
    for (const report_run& run : runs) {
        if (!run.samples.empty()) start = std::min(start, run.samples.front().time);
        if (!run.history.events.empty()) start = std::min(start, run.history.events.front().time);
    }
    return start == vgpualloc::ticks::max() ? vgpualloc::ticks{} : start;
}

} // namespace

std::int64_t milli_percent(milli_gpu part, milli_gpu whole) {
    if (whole.count() <= 0 || part.count() <= 0) return 0;
    return (part.count() * whole_in_milli_percent + whole.count() / 2) / whole.count();
}

timeline timeline_of(const std::vector<report_run>& runs) {
    timeline result;
    for (const report_run& run : runs) {
        result.has_departures = result.has_departures || run.pods_leave;
        result.has_clock =
            result.has_clock ||
            (!run.samples.empty() && run.samples.back().time - run.samples.front().time >= vgpualloc::ticks_per_second);
    }
    return result;
}

std::vector<std::string> labels_of(const std::vector<report_run>& runs) {
    std::vector<std::string> labels;
    for (const report_run& run : runs) {
        const std::string policy = run.policy.empty() ? "unnamed" : run.policy;
        std::string label = policy;
        for (int number = 2; std::find(labels.begin(), labels.end(), label) != labels.end(); ++number) {
            label = policy + " #" + std::to_string(number);
        }
        labels.push_back(std::move(label));
    }
    return labels;
}

void append_data(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels,
                 const std::vector<measure>& rows, const vgpualloc::stop_signal& stop) {
    const timeline axes = timeline_of(runs);
    const vgpualloc::ticks start = start_of(runs);
    std::vector<std::string> clusters; // runs of one cluster share its description
    out += "{\"departures\":";
    out += axes.has_departures ? "true" : "false";
    out += ",\"clock\":";
    out += axes.has_clock ? "true" : "false";
    out += ",\"runs\":[";
    for (std::size_t i = 0; i < runs.size() && !stop.raised(); ++i) {
        if (i != 0) out += ',';
        append_run(out, runs[i], i, labels[i], {.has_clock = axes.has_clock, .start = start}, rows);
        const occupancy_layout layout = layout_of(runs[i].nodes, columns_max);
        auto known = std::find(clusters.begin(), clusters.end(), layout.cluster_json);
        if (known == clusters.end()) known = clusters.insert(known, layout.cluster_json);
        append_member(out, "cluster", known - clusters.begin());
        out += ",\"cpu\":\"" + layout.cpu + "\",\"history\":";
        append_history(out, runs[i], layout, start, history_bytes_max / runs.size(), stop);
        out += '}';
    }
    out += "],\"clusters\":[";
    for (std::size_t i = 0; i < clusters.size(); ++i) {
        if (i != 0) out += ',';
        out += clusters[i];
    }
    out += "]}";
}

} // namespace vgpureport
