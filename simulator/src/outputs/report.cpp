#include "vgpusim/outputs/report.hpp"

#include <utility>

#include "vgpualloc/version.hpp"
#include "vgpusim/outputs/summary_json.hpp"

namespace vgpusim {

vgpureport::report_run describe(const run_record& record, const loaded_input& loaded) {
    vgpureport::report_run shown;
    shown.policy = record.config.policy;
    shown.total = vgpualloc::milli_gpu{record.total_milli};
    shown.pods_arrived = static_cast<std::int64_t>(record.result.pods.size());
    shown.pods_placed = record.result.placed;
    shown.failures = failures_of(record);
    shown.samples.reserve(record.result.samples.size());
    for (const sample& moment : record.result.samples) {
        shown.samples.push_back({.time = moment.time,
                                 .arrived = vgpualloc::milli_gpu{moment.arrived_milli},
                                 .allocated = vgpualloc::milli_gpu{moment.allocated_milli},
                                 .fragmentation_milli = static_cast<double>(moment.unusable_micro) / 1e6,
                                 .used_nodes = moment.used_nodes,
                                 .used_gpus = moment.used_gpus});
    }
    const auto& cluster = record.ledger->nodes();
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
    for (const input_file& file : loaded.files) {
        const bool hashed = !file.sha256.empty();
        shown.facts.emplace_back(file.path, hashed ? "sha256 " + file.sha256 : "no checksum: built without OpenSSL");
    }
    shown.decisions_per_second = record.result.decisions_per_s();
    shown.latency_p50_us = record.result.decision_latency.quantile_us(0.50);
    shown.latency_p99_us = record.result.decision_latency.quantile_us(0.99);
    return shown;
}

} // namespace vgpusim
