#include "vgpusim/outputs/summary_json.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "vgpualloc/version.hpp"

namespace vgpusim {

using vgpualloc::rejection_code;

namespace {

double fraction(std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

constexpr std::array<const char*, vgpualloc::fragmentation_bucket_count> bucket_names{
    "q1_lack_both", "q2_lack_gpu", "q3_satisfied", "q4_lack_cpu", "xl_satisfied", "xr_lack_cpu", "no_access"};

} // namespace

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

} // namespace vgpusim
