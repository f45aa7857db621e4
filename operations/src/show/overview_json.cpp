// Overviews as a document: whole numbers, complete lists.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <tuple>
#include <utility>

#include "vgpuformats/json.hpp"
#include "vgpuformats/yaml.hpp"
#include "vgpuops/show/overview.hpp"

namespace vgpuops::show {

namespace {

std::int64_t milli_of(const vgpualloc::idle_parts& parts, vgpualloc::idle_cause cause) {
    return parts[static_cast<std::size_t>(cause)];
}

template <class Row, class Key>
std::vector<const Row*> sorted_by(const std::vector<Row>& rows, Key key) {
    std::vector<const Row*> result;
    for (const Row& row : rows) result.push_back(&row);
    std::ranges::stable_sort(result, {}, [&](const Row* row) { return key(*row); });
    return result;
}

document waiting_json(const std::vector<waiting_pod>& pods) {
    document list = document::list();
    for (const waiting_pod& pod : pods) {
        list.push_back(document::map({{"pod", pod.name},
                                      {"verdict", to_string(pod.why)},
                                      {"since", pod.since.empty() ? document{} : document{pod.since}}}));
    }
    return list;
}

document largest_json(const std::vector<largest_part>& parts) {
    document list = document::list();
    for (const largest_part& largest : parts) {
        list.push_back(document::map({{"part", largest.part},
                                      {"amount", largest.amount},
                                      {"memory_mib", largest.memory_mib},
                                      {"cores", largest.cores},
                                      {"node", largest.node.empty() ? document{} : document{largest.node}},
                                      {"nodes", largest.nodes}}));
    }
    return list;
}

document out_json(const std::vector<std::pair<std::string, std::string>>& reasons) {
    document list = document::list();
    for (const auto& [because, node] : reasons) list.push_back(document::map({{"because", because}, {"node", node}}));
    return list;
}

document amounts_json(std::int64_t total, std::int64_t used) {
    return document::map({{"total", total}, {"used", used}});
}

document rows_json(const std::vector<device_row>& rows) {
    document list = document::list();
    for (const device_row* const row :
         sorted_by(rows, [](const device_row& of) { return std::tie(of.key, of.kind); })) {
        list.push_back(
            document::map({{"key", row->key.empty() ? document{} : document{row->key}},
                           {"kind", row->kind},
                           {"nodes", document::list_of(row->nodes)},
                           {"gpus", row->gpus},
                           {"milli", row->gpus * vgpualloc::whole_gpu.count()},
                           {"used", row->parts[0]},
                           {"free", row->parts[1]},
                           {"out", row->parts[2]},
                           {"memory_mib", amounts_json(row->memory_mib, row->memory_used_mib)},
                           {"cores", amounts_json(row->cores, row->cores_used)},
                           {"host_cpu_milli", amounts_json(row->cpu_milli, row->cpu_used_milli)},
                           {"host_memory_mib", amounts_json(row->host_memory_mib, row->host_memory_used_mib)},
                           {"labels", document::map_of(row->labels)},
                           {"largest", largest_json(row->largest)},
                           {"out_because", out_json(row->out_because)}}));
    }
    return list;
}

/// The parts of what is idle, in the order of the table.
void add_idle(const vgpualloc::idle_parts& parts, document wrong_kind, document& to) {
    using vgpualloc::idle_cause;
    to["of_use"] = milli_of(parts, idle_cause::of_use);
    to["scattered"] = milli_of(parts, idle_cause::scattered);
    to["host_full"] = milli_of(parts, idle_cause::host_full);
    to["wrong_kind"] = std::move(wrong_kind);
    to["out"] = milli_of(parts, idle_cause::out_of_service);
}

document wrong_json(const wrong_kinds& parts) {
    return document::map({{"model", parts.model}, {"layout", parts.layout}, {"rules", parts.rules}});
}

document shapes_json(const std::vector<shape_row>& shapes) {
    document list = document::list();
    for (const shape_row* const row :
         sorted_by(shapes, [](const shape_row& of) { return std::string_view{of.name}; })) {
        document asks = document::map_of(row->asks);
        asks["cpu_milli"] = row->cpu_milli;
        asks["memory_mib"] = row->memory_mib;
        document entry = document::map({{"shape", row->name},
                                        {"asks", std::move(asks)},
                                        {"rules", document::list_of(row->rules)},
                                        {"run", row->run},
                                        {"wait", row->wait},
                                        {"more", row->more}});
        add_idle(row->idle, wrong_json(row->wrong), entry);
        list.push_back(std::move(entry));
    }
    return list;
}

/// A number where it is one, else as it is written.
document amount_json(const std::string& written) {
    std::int64_t amount = 0;
    const auto [end, failure] = std::from_chars(written.data(), written.data() + written.size(), amount);
    if (failure == std::errc{} && end == written.data() + written.size()) return amount;
    return written.empty() ? document{} : document{written};
}

/// Rows of pods, with `name` for what they are counted by.
document pods_json(const std::vector<pod_row>& rows, const char* name, bool has_quotas) {
    document list = document::list();
    for (const pod_row* const row : sorted_by(rows, [](const pod_row& of) { return std::string_view{of.name}; })) {
        document entry = document::map({{name, row->name.empty() ? document{} : document{row->name}},
                                        {"run", row->run},
                                        {"used", row->used},
                                        {"wait", row->wait},
                                        {"asked", row->asked}});
        document quotas = document::list();
        for (const quota_amount& quota : row->quotas) {
            quotas.push_back(document::map(
                {{"resource", quota.resource}, {"used", amount_json(quota.used)}, {"hard", amount_json(quota.hard)}}));
        }
        if (has_quotas) entry["quota"] = row->quotas.empty() ? document{} : std::move(quotas);
        list.push_back(std::move(entry));
    }
    return list;
}

document held_json(const std::vector<held_job>& jobs) {
    document list = document::list();
    for (const held_job& job : jobs) {
        list.push_back(
            document::map({{"job", job.name},
                           {"kind", job.kind},
                           {"verdict", to_string(job.why)},
                           {"because", because_words(job)},
                           {"since", job.since.empty() ? document{} : document{job.since}},
                           {"resource", job.shortage.resource.empty() ? document{} : document{job.shortage.resource}},
                           {"used", amount_json(job.shortage.used)},
                           {"hard", amount_json(job.shortage.hard)},
                           {"needed", amount_json(job.shortage.needed)},
                           {"asked", job.asked},
                           {"pods", job.pods},
                           {"lacks", job.lacks}}));
    }
    return list;
}

document overview_document(const overview& seen) {
    document mean = document::map({{"run", seen.mean_run}, {"wait", seen.mean_wait}});
    add_idle(seen.mean, wrong_json(seen.mean_wrong), mean);
    document warnings = document::list();
    for (const error& warning : seen.warnings) warnings.push_back(warning.message());
    return document::map(
        {{"schema", "vgpualloc.show/1"},
         {"by", seen.by},
         {"waiting", waiting_json(seen.waiting)},
         {"makes_no_pods", held_json(seen.makes_no_pods)},
         {"totals", document::map({{"nodes", seen.nodes},
                                   {"nodes_all", seen.nodes_all},
                                   {"gpus", seen.gpus},
                                   {"milli", seen.gpus * vgpualloc::whole_gpu.count()},
                                   {"used", seen.parts[0]},
                                   {"free", seen.parts[1]},
                                   {"out", seen.parts[2]},
                                   {"pods_run", seen.pods_run},
                                   {"pods_wait", seen.pods_wait},
                                   {"pods_wait_unread", seen.pods_unread}})},
         {"rows", seen.pod_rows.empty() ? rows_json(seen.rows) : pods_json(seen.pod_rows, "key", false)},
         {"shapes", shapes_json(seen.shapes)},
         {"mean", std::move(mean)},
         {"users", pods_json(seen.users, "namespace", true)},
         {"cost_a_day", seen.cost ? cost_json(*seen.cost) : document{}},
         {"not_looked_at", document::list_of(seen.not_looked_at)},
         {"warnings", std::move(warnings)}});
}

} // namespace

std::string overview_json(const overview& seen) { return vgpuformats::print_json(overview_document(seen), 2) + "\n"; }

std::string overview_yaml(const overview& seen) { return vgpuformats::print_yaml(overview_document(seen)); }

} // namespace vgpuops::show
