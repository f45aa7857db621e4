#include "vgpusim/outputs/report.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/version.hpp"
#include "vgpusim/bound/steady_words.hpp"
#include "vgpusim/bound/words.hpp"
#include "vgpusim/outputs/figures.hpp"
#include "vgpusim/outputs/history.hpp"
#include "vgpusim/outputs/queue_figures.hpp"
#include "vgpusim/outputs/summary_json.hpp"

namespace vgpusim {

namespace {

constexpr const char* wait_spread = "Wait";
constexpr const char* slowdown_spread = "Bounded slowdown";
constexpr const char* wait_figure = "Wait, mean";
constexpr const char* slowdown_figure = "Bounded slowdown, mean";
constexpr const char* unstarted_figure = "Jobs that never started";

/// What a request asks for, in the order of the table: the number of GPUs, and whether it is but a part of one.
using request_size = std::pair<std::int64_t, bool>;

request_size size_of(const pod_request& request, bool is_whole) {
    std::int64_t gpus = 0;
    for (const auto& container : request.containers) gpus += container.count;
    return {gpus, gpus != 1 || is_whole};
}

/// Pods by the number of GPUs asked for: what a policy strands shows in which sizes fail.
std::vector<vgpureport::report_class> classes_of(const run_record& record, const simulation_input& input) {
    std::map<std::pair<request_size, std::string>, vgpureport::report_class> classes;
    std::vector<vgpureport::report_class*> class_of_request;
    for (std::size_t i = 0; i < input.requests.size(); ++i) {
        const bool is_whole = input.requested[i].larger() >= input.requested.whole();
        auto& kind =
            classes[{size_of(input.requests[i], is_whole), input.request_names.empty() ? "" : input.request_names[i]}];
        kind.name = class_name(input, static_cast<std::uint32_t>(i));
        class_of_request.push_back(&kind);
    }
    for (std::size_t i = 0; i < input.pods.size(); ++i) {
        vgpureport::report_class& kind = *class_of_request[input.pods[i].request];
        ++kind.arrived;
        if (record.result.pods[i].booking == no_booking) ++kind.failed;
    }
    std::vector<vgpureport::report_class> result;
    for (auto& [order, kind] : classes) {
        if (kind.arrived > 0) result.push_back(std::move(kind));
    }
    return result;
}

/// The sizes of pods that arrived. Without a queue nothing waits.
std::vector<vgpureport::report_size> accepted_sizes_of(const run_record& record) {
    std::vector<vgpureport::report_size> sizes;
    for (std::size_t i = 0; i < gpu_sizes.size(); ++i) {
        const accepted_size& counts = record.accepted.by_size[i];
        if (counts.arrived == 0) continue;
        sizes.push_back({.name = std::string{gpu_sizes[i].name},
                         .arrived = counts.arrived,
                         .accepted = counts.accepted,
                         .wait_s = record.has_queue ? counts.wait_mean_s() : std::nullopt});
    }
    return sizes;
}

/// The rows of one class or queue; `by` is empty for all jobs.
void add_spreads(vgpureport::report_run& shown, const group_figures& group, const std::string& by) {
    const auto add = [&](const char* measure, const char* unit, const distribution& values) {
        if (values.count == 0) return;
        shown.spreads.push_back({.measure = measure,
                                 .unit = unit,
                                 .by = by,
                                 .group = by.empty() ? "" : group.name,
                                 .jobs = static_cast<std::int64_t>(values.count),
                                 .mean = values.mean,
                                 .p50 = values.p50,
                                 .p95 = values.p95,
                                 .p99 = values.p99,
                                 .max = values.max});
    };
    add(wait_spread, "s", group.wait_s);
    add("Completion time", "s", group.jct_s);
    add(slowdown_spread, "", group.bounded_slowdown);
}

/// A curve of its own: a number of every sample.
template <class Value>
void add_series(vgpureport::report_run& shown, const run_record& record, std::string key, std::string title,
                std::string unit, Value value) {
    vgpureport::report_series series{
        .key = std::move(key), .title = std::move(title), .unit = std::move(unit), .values = {}};
    series.values.reserve(record.result.samples.size());
    for (const sample& moment : record.result.samples) series.values.push_back(value(moment));
    shown.series.push_back(std::move(series));
}

void add_figure(vgpureport::report_run& shown, std::string name, std::string unit, int decimals,
                vgpureport::better direction, std::optional<double> value) {
    shown.more_figures.push_back({.name = std::move(name),
                                  .unit = std::move(unit),
                                  .decimals = decimals,
                                  .direction = direction,
                                  .value = value});
}

/// What of the devices is given out over time, and what they draw, as far as the lists and the catalog know it.
void show_devices(vgpureport::report_run& shown, const run_record& record) {
    const auto means = time_figures_of(record);
    if (means) {
        add_series(shown, record, "running", "Running pods", "",
                   [](const sample& moment) { return static_cast<double>(moment.running); });
    }
    if (record.memory_total_mib > 0) {
        constexpr double mib_per_gib = 1024.0;
        add_series(shown, record, "memory", "Device memory given out", "GiB",
                   [](const sample& moment) { return static_cast<double>(moment.devices.memory_mib) / mib_per_gib; });
        add_series(shown, record, "compute", "Compute given out, in devices", "",
                   [](const sample& moment) { return static_cast<double>(moment.devices.compute_milli) / 1000.0; });
    }
    if (record.gpus_of_unknown_power < record.gpus) {
        add_series(shown, record, "power", "Power of the GPUs whose power is known", "W",
                   [](const sample& moment) { return static_cast<double>(moment.devices.watts); });
        if (means) {
            add_figure(shown, "Power, mean", " kW", 2, vgpureport::better::lower, means->watts / 1000.0);
            add_figure(shown, "Energy", " kWh", 1, vgpureport::better::lower, means->energy_kwh);
        }
    }
    const std::size_t profiles = record.result.profiles.size();
    for (std::size_t profile = 0; profile < profiles; ++profile) {
        std::size_t at = profile;
        const std::string& name = record.result.profiles[profile];
        if (record.result.stranded_max[profile] > 0) {
            add_series(shown, record, "stranded_" + name, "MIG slices stranded for " + name, "", [&](const sample&) {
                const std::int64_t slices = record.result.stranded[at];
                at += profiles;
                return static_cast<double>(slices);
            });
        }
        const double slices =
            means ? means->stranded_slices[profile] : static_cast<double>(record.stranded_last[profile]);
        add_figure(shown, "MIG slices stranded for " + name + (means ? ", mean" : " at the end"), "", 2,
                   vgpureport::better::lower, slices);
    }
}

/// What there is to say of a run in which time passes: how long jobs waited, and what went otherwise than planned.
void show_queue(vgpureport::report_run& shown, const run_record& record, const simulation_input& input) {
    const queue_figures figures = queue_figures_of(record, input);
    add_spreads(shown, figures.all, "");
    for (const group_figures& group : figures.by_class) add_spreads(shown, group, "class");
    for (const group_figures& group : figures.by_queue) add_spreads(shown, group, "queue");
    for (group_waits& waits : waits_of(record, input)) {
        shown.waits.push_back({.group = std::move(waits.group), .seconds = std::move(waits.seconds)});
    }
    add_series(shown, record, "queue", "Jobs in the queue", "",
               [](const sample& moment) { return static_cast<double>(moment.waiting); });

    using vgpureport::better;
    const auto add = [&shown](std::string name, std::string unit, int decimals, better direction,
                              std::optional<double> value) {
        add_figure(shown, std::move(name), std::move(unit), decimals, direction, value);
    };
    const auto mean_of = [](const distribution& values) {
        return values.count > 0 ? std::optional{values.mean} : std::nullopt;
    };
    add(wait_figure, " s", 1, better::lower, mean_of(figures.all.wait_s));
    shown.more_figures.back().headline = true;
    add(slowdown_figure, "", 2, better::lower, mean_of(figures.all.bounded_slowdown));
    add(unstarted_figure, "", 0, better::neither, static_cast<double>(figures.all.arrived - figures.all.started));
    if (!figures.by_queue.empty()) {
        add("Fairness over queues by served demand (Jain)", "", 3, better::higher, figures.jain_served);
        add("Fairness over queues by slowdown (Jain)", "", 3, better::higher, figures.jain_slowdown);
    }
    const disturbances& disturbed = record.result.disturbed;
    const double redone_gpu_hours =
        disturbed.unit_seconds_redone.larger() / static_cast<double>(input.requested.whole()) / 3600.0;
    add("Preemptions", "", 0, better::neither, static_cast<double>(disturbed.preemptions));
    add("Pods stopped by failures", "", 0, better::neither, static_cast<double>(disturbed.pods_stopped));
    add("Pods lost to failures", "", 0, better::lower, static_cast<double>(disturbed.pods_lost));
    add("Work redone", " GPU-hours", 2, better::lower, redone_gpu_hours);
    add("Pods that ran again on another node", "", 0, better::neither, static_cast<double>(disturbed.migrations));
    add("MIG instances made", "", 0, better::neither, static_cast<double>(disturbed.layout_changes));
}

/// Likewise of what could have been in the mean over a run whose pods leave.
void show_steady(vgpureport::report_run& shown, const steady_figures& steady) {
    using vgpureport::better;
    const auto add = [&](const char* name, const std::optional<share_bound>& bound) {
        if (!bound) return;
        if (const auto part = part_achieved(*bound)) add_figure(shown, name, " %", 2, better::higher, 100.0 * *part);
    };
    add("Served until the last arrival, of the bound for any policy", steady.served);
    add("GPUs accepted, of the bound for policies that do not know durations", steady.blind);
    add("GPUs accepted, of the bound for policies that know all durations", steady.accepted);
    if (!steady.wait) return;
    add_figure(shown, "Wait of a pod, mean, at least with any policy", " s", 1, better::neither, steady.wait->mean_s);
    if (const auto part = part_unavoidable(*steady.wait)) {
        add_figure(shown, "Wait that no policy could avoid, of the mean wait", " %", 2, better::higher, 100.0 * *part);
    }
}

/// What was achieved of what could have been.
void show_bound(vgpureport::report_run& shown, const bound_figures& bound) {
    using vgpualloc::plan::lp_status;
    const auto add = [&](std::string name, lp_status status, double milli) {
        if (status == lp_status::infeasible) return;
        add_figure(shown, "Achieved of the bound for " + std::move(name), " %", 2, vgpureport::better::higher,
                   100.0 * achieved_of(bound, milli));
    };
    add("any policy", bound.configuration.status, bound.configuration.amount);
    shown.more_figures.back().headline = true;
    if (bound.work_conserving) {
        add("policies that place what fits", bound.work_conserving->status, bound.work_conserving->amount);
    }
    if (bound.prefix) {
        add("policies that place the same pods up to the first failure", bound.prefix->status, bound.prefix->amount);
    }
    if (bound.steady) show_steady(shown, *bound.steady);
}

} // namespace

vgpureport::report_run describe(const run_record& record, const loaded_input& loaded, const stop_signal& stop) {
    vgpureport::report_run shown;
    shown.policy = record.config.policy;
    shown.total = milli_gpu{record.total_milli};
    shown.pods_arrived = record.rows.arrived;
    shown.pods_placed = record.rows.placed;
    shown.pods_leave = record.pods_leave;
    shown.peak_after = record.result.peak.state.time - record.first_arrival;
    const run_figures figures = figures_of(record);
    shown.figures = {.served = figures.served_ratio,
                     .served_memory = figures.served_memory_ratio,
                     .served_compute = figures.served_compute_ratio,
                     .allocated = figures.allocation_mean_ratio,
                     .allocated_peak = figures.allocation_peak_ratio,
                     .fragmentation = figures.unusable_of_all_ratio,
                     .fragmentation_of_idle = figures.unusable_of_idle_ratio,
                     .used_gpus = record.shown_state().used_gpus,
                     .used_nodes = record.shown_state().used_nodes};
    if (record.accepted.arrived_units > 0) shown.accepted_gpus = record.accepted.gpu_ratio();
    shown.sizes = accepted_sizes_of(record);
    shown.classes = classes_of(record, loaded.input);
    shown.failures = failures_of(record, loaded.input);
    shown.samples.reserve(record.result.samples.size());
    for (const sample& moment : record.result.samples) {
        shown.samples.push_back({.time = moment.time,
                                 .arrived = milli_gpu{moment.arrived_milli},
                                 .allocated = milli_gpu{moment.allocated_milli},
                                 .served = milli_gpu{loaded.input.requested.milli(moment.served.larger())},
                                 .fragmentation_milli = static_cast<double>(moment.unusable_micro) / 1e6,
                                 .used_nodes = moment.used_nodes,
                                 .used_gpus = moment.used_gpus});
    }
    const vgpualloc::ledger& book = record.shown_ledger();
    const auto& cluster = book.nodes();
    for (const std::uint32_t position : loaded.input.node_list_order) {
        const auto& node = cluster.nodes[position];
        vgpureport::report_node line{.name = node.name, .model = "", .used = {}, .cpu_used_ratio = 0.0};
        if (node.cpu.count() > 0) {
            line.cpu_used_ratio = static_cast<double>(book.host(node_index{position}).cpu.count()) /
                                  static_cast<double>(node.cpu.count());
        }
        const auto states = book.devices(node_index{position});
        for (std::size_t d = 0; d < states.size(); ++d) {
            const auto& spec = cluster.kinds[node.devices[d].kind];
            line.model = spec.model;
            line.used.push_back(spec.mode->used(spec, states[d]));
            if (const std::uint16_t slices = slices_of(spec); slices > 0) {
                line.slices.resize(states.size());
                line.slices[d] = slices;
            }
        }
        shown.nodes.push_back(std::move(line));
    }
    shown.history = history_of(record, loaded.input, stop);
    if (stop.raised()) return shown;
    if (record.has_queue) show_queue(shown, record, loaded.input);
    show_devices(shown, record);
    if (record.bound) show_bound(shown, *record.bound);
    if (record.pods_leave) shown.shown_at = record.result.peak.state.time;
    shown.facts = shown_settings(record.config);
    for (auto& [key, value] : shown.facts) {
        if (key == "device_policy" && value.empty()) value = "same";
    }
    shown.facts.emplace_back("version", vgpualloc::version);
    for (const input_file& file : loaded.files) {
        shown.facts.emplace_back(file.path, "sha256 " + file.sha256);
    }
    shown.decisions_per_second = record.result.decisions_per_s();
    shown.latency_p50_us = record.result.decision_latency.quantile_us(0.50);
    shown.latency_p99_us = record.result.decision_latency.quantile_us(0.99);
    return shown;
}

void rank_only_comparable(std::vector<vgpureport::report_run>& runs) {
    constexpr std::pair<const char*, const char*> figures[] = {{wait_figure, wait_spread},
                                                               {slowdown_figure, slowdown_spread}};
    for (const auto& [figure_name, spread_name] : figures) {
        std::set<std::int64_t> jobs; // by run
        for (const vgpureport::report_run& run : runs) {
            const auto of_all = std::ranges::find_if(run.spreads, [&](const vgpureport::report_spread& row) {
                return row.by.empty() && row.measure == spread_name;
            });
            jobs.insert(of_all == run.spreads.end() ? 0 : of_all->jobs);
        }
        if (jobs.size() < 2) continue;
        for (vgpureport::report_run& run : runs) {
            for (vgpureport::report_figure& figure : run.more_figures) {
                if (figure.name == figure_name) figure.direction = vgpureport::better::neither;
            }
        }
    }
}

} // namespace vgpusim
