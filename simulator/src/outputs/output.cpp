// The output files of a run.
#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include <nlohmann/json.hpp>

#include "vgpualloc/version.hpp"
#include "vgpusim/study/run.hpp"

namespace vgpusim {

using vgpualloc::rejection_code;

namespace {

void append(std::string& out, std::int64_t value) {
    std::array<char, 24> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    out.append(buffer.data(), end);
}

/// A non-negative number given in units of 10^-Digits, with all its digits.
template <std::size_t Digits>
void append_fixed(std::string& out, std::int64_t scaled) {
    std::int64_t scale = 1;
    for (std::size_t i = 0; i < Digits; ++i) scale *= 10;
    append(out, scaled / scale);
    std::array<char, Digits + 1> digits{};
    digits[0] = '.';
    std::int64_t rest = scaled % scale;
    for (std::size_t i = Digits; i > 0; --i) {
        digits[i] = static_cast<char>('0' + rest % 10);
        rest /= 10;
    }
    out.append(digits.data(), digits.size());
}

/// Seconds, with a fraction only where there is one.
void append_time(std::string& out, vgpualloc::ticks time) {
    const std::int64_t per_second = vgpualloc::ticks_per_second.count();
    if (time.count() % per_second == 0) {
        append(out, time.count() / per_second);
    } else {
        append_fixed<6>(out, time.count());
    }
}

std::int64_t divide_rounded(std::int64_t value, std::int64_t by) { return (value + by / 2) / by; }

/// Percent of the idle capacity that is fragmented, in units of 10^-4 percent; 0 when nothing is idle.
std::int64_t fragmentation_pct_e4(const run_record& record, const sample& at) {
    const std::int64_t idle = record.total_milli - at.allocated_milli;
    return idle <= 0 ? 0 : divide_rounded(at.unusable_micro, idle);
}

double fraction(std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

constexpr std::array<const char*, vgpualloc::fragmentation_bucket_count> bucket_names{
    "q1_lack_both", "q2_lack_gpu", "q3_satisfied", "q4_lack_cpu", "xl_satisfied", "xr_lack_cpu", "no_access"};

std::vector<std::pair<std::string, std::int64_t>> failures_of(const run_record& record) {
    std::vector<std::pair<std::string, std::int64_t>> all;
    for (std::size_t code = 0; code < record.code_count.size(); ++code) {
        if (record.code_count[code] > 0) {
            all.emplace_back(to_string(static_cast<rejection_code>(code)), record.code_count[code]);
        }
    }
    std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.second > b.second; });
    return all;
}

} // namespace

std::string pods_csv(const run_record& record, const simulation_input& input) {
    std::string out = "order,name,node,gpus,placed,reason\n";
    out.reserve(input.pods.size() * 56);
    std::vector<std::size_t> gpus;
    for (std::size_t i = 0; i < input.pods.size(); ++i) {
        const pod_outcome& outcome = record.result.pods[i];
        append(out, static_cast<std::int64_t>(i));
        out += ',';
        out += input.names[input.pods[i].name];
        if (input.pods[i].copy >= 0) {
            out += "-tuned-";
            append(out, input.pods[i].copy);
        }
        out += ',';
        if (outcome.booking == no_booking) {
            out += ",,0,";
            out += to_string(outcome.reason);
        } else {
            const auto& where = record.ledger->bookings()[outcome.booking].where;
            out += input.nodes.nodes[where.node.at()].name;
            out += ',';
            gpus.clear();
            for (const auto& share : where.shares) gpus.push_back(share.device.at());
            std::ranges::sort(gpus);
            for (std::size_t g = 0; g < gpus.size(); ++g) {
                if (g > 0) out += '|';
                append(out, static_cast<std::int64_t>(gpus[g]));
            }
            out += ",1,";
        }
        out += '\n';
    }
    return out;
}

std::string timeseries_csv(const run_record& record) {
    std::string out =
        "event,time,arrived_milli,allocated_milli,used_nodes,used_gpus,fragmentation_milli,fragmentation_pct\n";
    out.reserve(record.result.samples.size() * 64);
    std::int64_t number = 0;
    for (const sample& at : record.result.samples) {
        append(out, number++);
        out += ',';
        append_time(out, at.time);
        for (const std::int64_t value : {at.arrived_milli, at.allocated_milli, at.used_nodes, at.used_gpus}) {
            out += ',';
            append(out, value);
        }
        out += ',';
        append_fixed<4>(out, divide_rounded(at.unusable_micro, 100));
        out += ',';
        append_fixed<4>(out, fragmentation_pct_e4(record, at));
        out += '\n';
    }
    return out;
}

std::string summary_json(const run_record& record, const loaded_input& loaded) {
    const sample& last = record.last;
    nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
    for (const input_file& each : loaded.files) inputs.push_back({{"path", each.path}, {"sha256", each.sha256}});
    nlohmann::ordered_json config;
    for (const auto& [key, value] : effective(record.config)) {
        if (key != "out") config[key] = value; // where the files go is not part of what the run does
    }
    nlohmann::ordered_json reasons = nlohmann::ordered_json::object();
    for (const auto& [code, pods] : failures_of(record)) reasons[code] = pods;
    nlohmann::ordered_json buckets;
    for (std::size_t i = 0; i < bucket_names.size(); ++i) {
        buckets[bucket_names[i]] = static_cast<double>(gauges::in_micro(record.buckets.milli[i])) / 1e6;
    }
    const std::int64_t idle = record.total_milli - last.allocated_milli;
    const double unusable_milli = static_cast<double>(last.unusable_micro) / 1e6;
    const nlohmann::ordered_json summary{
        {"version", vgpualloc::version},
        {"seed", record.config.seed},
        {"policy", record.config.policy},
        {"config", config},
        {"inputs", inputs},
        {"pods",
         {{"arrived", record.result.pods.size()},
          {"placed", record.result.placed},
          {"failed", record.result.failed},
          {"finished", record.result.finished},
          {"failed_by_reason", reasons}}},
        {"gpu",
         {{"total_milli", record.total_milli},
          {"arrived_milli", last.arrived_milli},
          {"allocated_milli", last.allocated_milli},
          {"allocation_ratio", fraction(last.allocated_milli, record.total_milli)},
          {"active", last.used_gpus},
          {"count", record.gpus}}},
        {"nodes", {{"active", last.used_nodes}, {"count", loaded.input.nodes.nodes.size()}}},
        {"fragmentation",
         {{"amount_milli", unusable_milli},
          {"ratio", idle == 0 ? 0.0 : unusable_milli / static_cast<double>(idle)},
          {"buckets_milli", buckets}}},
        {"fault_domains",
         {{"shared", record.fault_domains.shared}, {"containers_max", record.fault_domains.containers_max}}},
        {"timing",
         {{"wall_s", static_cast<double>(record.result.loop_ns) / 1e9},
          {"cpu_s", cpu_seconds()},
          {"decisions_per_s", record.result.decisions_per_s()},
          {"decision_p50_us", record.result.decision_latency.quantile_us(0.50)},
          {"decision_p99_us", record.result.decision_latency.quantile_us(0.99)}}},
    };
    return summary.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

vgpureport::report_run describe(const run_record& record, const loaded_input& loaded) {
    vgpureport::report_run shown;
    shown.policy = record.config.policy;
    shown.total = vgpualloc::milli_gpu{record.total_milli};
    shown.pods_arrived = static_cast<std::int64_t>(record.result.pods.size());
    shown.pods_placed = record.result.placed;
    shown.failures = failures_of(record);
    shown.samples.reserve(record.result.samples.size());
    for (const sample& at : record.result.samples) {
        shown.samples.push_back({.time = at.time,
                                 .arrived = vgpualloc::milli_gpu{at.arrived_milli},
                                 .allocated = vgpualloc::milli_gpu{at.allocated_milli},
                                 .fragmentation_milli = static_cast<double>(at.unusable_micro) / 1e6,
                                 .used_nodes = at.used_nodes,
                                 .used_gpus = at.used_gpus});
    }
    const auto& cluster = loaded.input.nodes;
    for (const std::uint32_t position : loaded.input.node_list_order) {
        const auto& node = cluster.nodes[position];
        vgpureport::report_node line{
            .name = node.name, .model = "", .used = {}, .cpu_used_ratio = record.cpu_used_ratio[position]};
        const auto states = record.ledger->devices(vgpualloc::node_index{position});
        for (std::size_t d = 0; d < states.size(); ++d) {
            const auto& spec = cluster.kinds[node.devices[d].kind];
            line.model = spec.model;
            line.used.push_back(spec.mode->used(spec, states[d]));
        }
        shown.nodes.push_back(std::move(line));
    }
    shown.facts = effective(record.config);
    shown.facts.emplace_back("version", vgpualloc::version);
    for (const input_file& each : loaded.files) shown.facts.emplace_back(each.path, "sha256 " + each.sha256);
    shown.decisions_per_second = record.result.decisions_per_s();
    shown.latency_p50_us = record.result.decision_latency.quantile_us(0.50);
    shown.latency_p99_us = record.result.decision_latency.quantile_us(0.99);
    return shown;
}

} // namespace vgpusim
