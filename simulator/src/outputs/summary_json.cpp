#include "vgpusim/outputs/summary_json.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "vgpualloc/version.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuops/whatif/idle_words.hpp"
#include "vgpusim/bound/words.hpp"
#include "vgpusim/outputs/answer.hpp"
#include "vgpusim/outputs/figures.hpp"
#include "vgpusim/outputs/queue_figures.hpp"

namespace vgpusim {

namespace {

constexpr std::array<const char*, vgpualloc::fragmentation_bucket_count> bucket_names{
    "q1_lack_both", "q2_lack_gpu", "q3_satisfied", "q4_lack_cpu", "xl_satisfied", "xr_lack_cpu", "no_access"};

document in_json(const vgputraces::skipped_rows& rows) {
    document first = document::list();
    for (const error& failure : rows.first) first.push_back(failure.message());
    return document::map({{"count", rows.count}, {"first", first}});
}

} // namespace

std::vector<std::pair<std::string, std::int64_t>> failures_of(const run_record& record, const simulation_input& input) {
    std::vector<std::pair<std::string, std::int64_t>> all;
    for (std::size_t code = 0; code < record.code_count.size(); ++code) {
        if (record.code_count[code] > 0) {
            all.emplace_back(input.reason_name(static_cast<rejection_code>(code)), record.code_count[code]);
        }
    }
    std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.second > b.second; });
    return all;
}

namespace {

/// Of no values there is no mean and no quantile: null.
document json_of(const distribution& values) {
    const auto number = [&values](double value) { return values.count > 0 ? document{value} : document{}; };
    return document::map({{"count", values.count},
                          {"mean", number(values.mean)},
                          {"p50", number(values.p50)},
                          {"p95", number(values.p95)},
                          {"p99", number(values.p99)},
                          {"max", number(values.max)}});
}

document json_of(const group_figures& group) {
    document json;
    if (!group.name.empty()) json["name"] = group.name;
    json["arrived"] = group.arrived;
    json["started"] = group.started;
    json["wait_s"] = json_of(group.wait_s);
    json["jct_s"] = json_of(group.jct_s);
    json["bounded_slowdown"] = json_of(group.bounded_slowdown);
    return json;
}

document json_of(const std::vector<group_figures>& groups) {
    document list = document::list();
    for (const group_figures& group : groups) list.push_back(json_of(group));
    return list;
}

/// What was accepted of the pods and GPUs asked for. Sizes that no pod has are left out; waits are there with a queue.
document json_of(const acceptance& accepted, bool has_queue) {
    const auto number = [](const std::optional<double>& value) { return value ? document{*value} : document{}; };
    document sizes = document::list();
    for (std::size_t i = 0; i < gpu_sizes.size(); ++i) {
        const accepted_size& counts = accepted.by_size[i];
        if (counts.arrived == 0) continue;
        const bool is_last = i + 1 == gpu_sizes.size();
        document& size =
            sizes.push_back(document::map({{"size", gpu_sizes[i].name},
                                           {"gpus_from", gpu_sizes[i].from},
                                           {"gpus_below", is_last ? document{} : document{gpu_sizes[i].below}},
                                           {"arrived", counts.arrived},
                                           {"accepted", counts.accepted},
                                           {"accepted_ratio", counts.accepted_ratio()}}));
        if (has_queue) size["wait_mean_s"] = number(counts.wait_mean_s());
    }
    document json = document::map({{"pods_arrived", accepted.pods.arrived},
                                   {"pods_accepted", accepted.pods.accepted},
                                   {"accepted_ratio", accepted.pods.accepted_ratio()},
                                   {"gpus_arrived", accepted.arrived_gpus()},
                                   {"gpus_accepted", accepted.accepted_gpus()},
                                   {"accepted_gpu_ratio", accepted.gpu_ratio()}});
    if (has_queue) json["gpu_wait_mean_s"] = number(accepted.gpu_wait_mean_s());
    json["by_size"] = sizes;
    return json;
}

/// What a run with a queue says besides.
void add_queue(document& summary, const run_record& record, const simulation_input& input) {
    const queue_figures figures = queue_figures_of(record, input);
    summary["wait_s"] = json_of(figures.all.wait_s);
    summary["jct_s"] = json_of(figures.all.jct_s);
    summary["bounded_slowdown"] = json_of(figures.all.bounded_slowdown);
    summary["by_class"] = json_of(figures.by_class);
    if (!figures.by_queue.empty()) {
        summary["by_queue"] = json_of(figures.by_queue);
        summary["fairness"] =
            document::map({{"jain_served", figures.jain_served}, {"jain_slowdown", figures.jain_slowdown}});
    }
}

/// What of the devices is given out and what they draw, in the parts that the lists and the catalog know about.
void add_devices(document& summary, const run_record& record) {
    const auto means = time_figures_of(record);
    const device_use& last = record.last.devices;
    if (record.memory_total_mib > 0) {
        document memory = document::map({{"total_mib", record.memory_total_mib}, {"allocated_mib", last.memory_mib}});
        document compute =
            document::map({{"total_milli", record.total_milli}, {"allocated_milli", last.compute_milli}});
        if (means) {
            memory["mean_mib"] = means->memory_mib;
            compute["mean_milli"] = means->compute_milli;
        }
        summary["memory"] = memory;
        summary["compute"] = compute;
    }
    if (record.gpus_of_unknown_power < record.gpus) {
        document power = document::map({{"idle_w", record.idle_watts},
                                        {"busy_w", record.busy_watts},
                                        {"end_w", last.watts},
                                        {"gpus_unknown", record.gpus_of_unknown_power}});
        if (means) {
            power["mean_w"] = means->watts;
            power["energy_kwh"] = means->energy_kwh;
        }
        summary["power"] = power;
    }
    for (std::size_t i = 0; i < record.result.profiles.size(); ++i) {
        document stranded = document::map({{"profile", record.result.profiles[i]},
                                           {"end", record.stranded_last[i]},
                                           {"max", record.result.stranded_max[i]}});
        if (means) stranded["mean"] = means->stranded_slices[i];
        summary["stranded_slices"].push_back(stranded);
    }
    if (means) {
        summary["over_time"] = document::map({{"seconds", means->seconds},
                                              {"running_pods", means->running_pods},
                                              {"waiting_jobs", means->waiting_jobs},
                                              {"active_gpus", means->active_gpus},
                                              {"active_nodes", means->active_nodes}});
    }
}

document json_of(const move_figures& moves) {
    return document::map({{"planned", moves.planned},
                          {"dropped", moves.dropped},
                          {"done", moves.done},
                          {"pods_moved", moves.pods_moved},
                          {"downtime_s", moves.downtime_s},
                          {"copy_s", moves.copy_s}});
}

document json_of(const disturbances& disturbed, const requested_table& requested) {
    return document::map(
        {{"preemptions", disturbed.preemptions},
         {"migrations", disturbed.migrations},
         {"pods_stopped", disturbed.pods_stopped},
         {"pods_lost", disturbed.pods_lost},
         {"layout_changes", disturbed.layout_changes},
         {"gpu_seconds_redone", disturbed.unit_seconds_redone.larger() / static_cast<double>(requested.whole())}});
}

} // namespace

document summary_document(const run_record& record, const loaded_input& loaded, const run_record* baseline) {
    const sample& last = record.last;
    const run_figures figures = figures_of(record);
    document inputs = document::list();
    for (const input_file& file : loaded.files) {
        document& input = inputs.push_back(document::map({{"path", file.path}}));
        if (!file.sha256.empty()) input["sha256"] = file.sha256;
    }
    document config;
    for (const auto& [key, value] : shown_settings(record.config)) {
        // What is written, and where, is not part of what the run does.
        if (key != "out" && key != "trace") config[key] = value;
    }
    document buckets;
    for (std::size_t i = 0; i < bucket_names.size(); ++i) {
        buckets[bucket_names[i]] = static_cast<double>(gauges::in_micro(record.buckets.milli[i])) / 1e6;
    }
    document pods = document::map({{"arrived", record.rows.arrived},
                                   {"placed", record.rows.placed},
                                   {"failed", record.rows.failed},
                                   {"finished", record.rows.finished},
                                   {"failed_by_reason", document::map_of(failures_of(record, loaded.input))}});
    if (record.has_queue) pods["waiting"] = record.rows.waiting;
    if (!record.config.start.empty()) {
        pods["ran_before"] = record.rows.ran_before;
        pods["ran_before_ended"] = record.rows.ran_before_ended;
    }
    document gpu = document::map({{"total_milli", record.total_milli},
                                  {"arrived_milli", last.arrived_milli},
                                  {"allocated_milli", last.allocated_milli},
                                  {"allocation_ratio", figures.allocation_end_ratio},
                                  {"active", last.used_gpus},
                                  {"count", record.gpus},
                                  {"served_ratio", figures.served_ratio},
                                  {"served_memory_ratio", figures.served_memory_ratio},
                                  {"served_compute_ratio", figures.served_compute_ratio},
                                  {"served_peak_ratio", figures.served_peak_ratio},
                                  {"allocation_mean_ratio", figures.allocation_mean_ratio},
                                  {"allocation_until_last_arrival_ratio", figures.allocation_until_last_arrival_ratio},
                                  {"allocation_peak_ratio", figures.allocation_peak_ratio}});
    if (const auto means = time_figures_of(record)) {
        const auto seconds = [&](ticks time) {
            return static_cast<double>((time - record.first_arrival).count()) /
                   static_cast<double>(ticks_per_second.count());
        };
        gpu["span_s"] = means->seconds;
        gpu["end_s"] = seconds(record.result.ended);
        gpu["served_gpu_s"] = figures.served_ratio * static_cast<double>(record.gpus) * means->seconds;
        gpu["allocated_gpu_s"] = figures.allocation_mean_ratio * static_cast<double>(record.gpus) * means->seconds;
    }
    if (record.offered_load) gpu["offered_load"] = *record.offered_load;
    const document nodes = document::map({{"active", last.used_nodes}, {"count", record.ledger->nodes().nodes.size()}});
    const document fragmentation = document::map({{"amount_milli", figures.unusable_end_milli},
                                                  {"ratio", figures.unusable_of_idle_end_ratio},
                                                  {"buckets_milli", buckets},
                                                  {"mean_milli", figures.unusable_milli},
                                                  {"mean_ratio", figures.unusable_of_idle_ratio}});
    const document fault_domains = document::map(
        {{"shared", record.fault_domains.shared}, {"containers_max", record.fault_domains.containers_max}});
    const document timing = document::map({{"wall_s", static_cast<double>(record.result.loop_ns) / 1e9},
                                           {"cpu_s", cpu_seconds()},
                                           {"decisions_per_s", record.result.decisions_per_s()},
                                           {"decision_p50_us", record.result.decision_latency.quantile_us(0.50)},
                                           {"decision_p99_us", record.result.decision_latency.quantile_us(0.99)}});
    document summary = document::map({{"version", vgpualloc::version},
                                      {"seed", record.config.seed},
                                      {"policy", record.config.policy},
                                      {"config", config},
                                      {"inputs", inputs},
                                      {"pods", pods},
                                      {"acceptance", json_of(record.accepted, record.has_queue)},
                                      {"gpu", gpu},
                                      {"nodes", nodes},
                                      {"fragmentation", fragmentation},
                                      {"idle", vgpuops::whatif::idle_json(record.idle)},
                                      {"fault_domains", fault_domains}});
    add_devices(summary, record);
    if (loaded.input.objects) {
        const overcommitment& beyond = record.result.given_beyond;
        summary["overcommitted"] = document::map({{"devices_max", beyond.devices_max},
                                                  {"devices_end", beyond.devices_last},
                                                  {"pods_not_counted", beyond.not_counted.size()}});
    }
    if (record.has_queue) add_queue(summary, record, loaded.input);
    if (!record.result.times.empty())
        summary["disturbances"] = json_of(record.result.disturbed, loaded.input.requested);
    if (record.config.defragment != defragment::never) summary["moves"] = json_of(record.result.moves);
    if (record.config.skip_bad_rows) summary["skipped_rows"] = in_json(loaded.skipped);
    for (const auto& [reason, count] : loaded.left_out) {
        summary["left_out_rows"].push_back(document::map({{"reason", reason}, {"count", count}}));
    }
    if (record.bound) summary["bound"] = bound_document(*record.bound);
    if (const std::string answer = answer_of(record, baseline); !answer.empty()) summary["answer"] = answer;
    summary["timing"] = timing;
    return summary;
}

std::string summary_json(const run_record& record, const loaded_input& loaded, const run_record* baseline) {
    return vgpuformats::print_json(summary_document(record, loaded, baseline), 2) + "\n";
}

} // namespace vgpusim
