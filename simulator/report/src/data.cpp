#include "data.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "measures.hpp"
#include "occupancy.hpp"
#include "text.hpp"
#include "thin.hpp"

namespace vgpureport {
namespace {

using vgpualloc::milli_gpu;

// The page gets integers only: thousandths of a percent. They are short, exact to print and the same on every machine.
constexpr std::int64_t whole_in_milli_percent = 100'000;

std::int64_t milli_percent(milli_gpu part, milli_gpu whole) {
    if (whole.count() <= 0 || part.count() <= 0) return 0;
    return (part.count() * whole_in_milli_percent + whole.count() / 2) / whole.count();
}

std::int64_t milli_percent(double part_milli, milli_gpu whole) {
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
     [](const report_sample& s, milli_gpu total) { return milli_percent(s.fragmentation_milli, total); }},
    {"fragmentation_idle",
     [](const report_sample& s, milli_gpu total) { return milli_percent(s.fragmentation_milli, total - s.allocated); }},
    {"gpus", [](const report_sample& s, milli_gpu) { return s.used_gpus; }},
    {"nodes", [](const report_sample& s, milli_gpu) { return s.used_nodes; }},
};

/// `"name":[first, difference to the one before, …]`: neighbours are close, so differences are a third of the size.
template <class Value>
void append_differences(std::string& out, std::string_view name, const std::vector<std::size_t>& kept, Value value) {
    append_json(out, name);
    out += ":[";
    std::int64_t before = 0;
    for (const std::size_t index : kept) {
        const std::int64_t now = value(index);
        if (out.back() != '[') out += ',';
        append_integer(out, now - before);
        before = now;
    }
    out += ']';
}

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

void append_curve(std::string& out, const curve& line, const report_run& run, bool with_clock) {
    const auto& samples = run.samples;
    const auto height = [&](std::size_t i) { return line.value(samples[i], run.total); };
    const auto kept = thin(samples.size(), points_max, height);
    append_json(out, line.name);
    out += ":{";
    append_differences(out, "load", kept, [&](std::size_t i) { return milli_percent(samples[i].arrived, run.total); });
    if (with_clock) {
        out += ',';
        constexpr std::int64_t ticks_per_ms = vgpualloc::ticks_per_second.count() / 1000;
        append_differences(out, "time", kept, [&](std::size_t i) { return samples[i].time.count() / ticks_per_ms; });
    }
    out += ',';
    append_differences(out, "y", kept, height);
}

void append_run(std::string& out, const report_run& run, std::size_t number, const std::string& label, bool with_clock,
                const std::vector<measure>& rows) {
    out += "{\"label\":";
    append_json(out, label);
    out += ",\"samples\":";
    append_integer(out, static_cast<std::int64_t>(run.samples.size()));
    out += ",\"curves\":{";
    for (const curve& line : curves) {
        if (out.back() != '{') out += ',';
        append_curve(out, line, run, with_clock);
        append_rest(out, line.name, number, rows);
        out += '}';
    }
    out += '}';
    if (!run.pods_leave) return;
    out += ",\"moment\":";
    const std::int64_t seconds = run.peak_after.count() / vgpualloc::ticks_per_second.count();
    append_json(out, grouped(seconds) + " s after the first arrival");
}

} // namespace

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
                 const std::vector<measure>& rows) {
    const timeline axes = timeline_of(runs);
    std::vector<std::string> clusters; // runs of one cluster share its description
    out += "{\"departures\":";
    out += axes.has_departures ? "true" : "false";
    out += ",\"clock\":";
    out += axes.has_clock ? "true" : "false";
    out += ",\"runs\":[";
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (i != 0) out += ',';
        append_run(out, runs[i], i, labels[i], axes.has_clock, rows);
        const occupancy picture = picture_of(runs[i].nodes, columns_max);
        auto known = std::find(clusters.begin(), clusters.end(), picture.cluster_json);
        if (known == clusters.end()) known = clusters.insert(known, picture.cluster_json);
        out += ",\"cluster\":";
        append_integer(out, known - clusters.begin());
        out += ",\"cells\":\"" + picture.cells + "\",\"cpu\":\"" + picture.cpu + "\"}";
    }
    out += "],\"clusters\":[";
    for (std::size_t i = 0; i < clusters.size(); ++i) {
        if (i != 0) out += ',';
        out += clusters[i];
    }
    out += "]}";
}

} // namespace vgpureport
