// Overviews as a document: whole numbers, complete lists.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <tuple>
#include <utility>

#include "vgpuformats/json.hpp"
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
                                      {"node", largest.node.empty() ? document{} : document{largest.node}}}));
    }
    return list;
}

document out_json(const std::vector<std::pair<std::string, std::string>>& reasons) {
    document list = document::list();
    for (const auto& [because, node] : reasons) list.push_back(document::map({{"because", because}, {"node", node}}));
    return list;
}

document rows_json(const std::vector<pool_row>& rows) {
    document list = document::list();
    for (const pool_row* const row : sorted_by(rows, [](const pool_row& of) { return std::tie(of.pool, of.kind); })) {
        list.push_back(
            document::map({{"key", row->pool.empty() ? document{} : document{row->pool}},
                           {"kind", row->kind},
                           {"nodes", document::list_of(row->nodes)},
                           {"gpus", row->gpus},
                           {"milli", row->gpus * vgpualloc::whole_gpu.count()},
                           {"used", row->parts[0]},
                           {"free", row->parts[1]},
                           {"out", row->parts[2]},
                           {"memory_mib", document::map({{"total", row->memory_mib}, {"used", row->memory_used_mib}})},
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
        add_idle(
            row->idle,
            document::map({{"model", row->wrong.model}, {"layout", row->wrong.layout}, {"rules", row->wrong.rules}}),
            entry);
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

document users_json(const std::vector<user_row>& users) {
    document list = document::list();
    for (const user_row* const row : sorted_by(users, [](const user_row& of) { return std::string_view{of.name}; })) {
        document quotas = document::list();
        for (const quota_amount& quota : row->quotas) {
            quotas.push_back(document::map(
                {{"resource", quota.resource}, {"used", amount_json(quota.used)}, {"hard", amount_json(quota.hard)}}));
        }
        list.push_back(document::map({{"namespace", row->name},
                                      {"run", row->run},
                                      {"used", row->used},
                                      {"wait", row->wait},
                                      {"asked", row->asked},
                                      {"quota", row->quotas.empty() ? document{} : std::move(quotas)}}));
    }
    return list;
}

} // namespace

std::string overview_json(const overview& seen) {
    document mean = document::map({{"run", seen.mean_run}, {"wait", seen.mean_wait}});
    add_idle(seen.mean, milli_of(seen.mean, vgpualloc::idle_cause::wrong_kind), mean);
    document warnings = document::list();
    for (const error& warning : seen.warnings) warnings.push_back(warning.message());
    const document result =
        document::map({{"schema", "vgpualloc.show/1"},
                       {"by", "pool"},
                       {"waiting", waiting_json(seen.waiting)},
                       {"totals", document::map({{"nodes", seen.nodes},
                                                 {"nodes_all", seen.nodes_all},
                                                 {"gpus", seen.gpus},
                                                 {"milli", seen.gpus * vgpualloc::whole_gpu.count()},
                                                 {"used", seen.parts[0]},
                                                 {"free", seen.parts[1]},
                                                 {"out", seen.parts[2]},
                                                 {"pods_run", seen.pods_run},
                                                 {"pods_wait", seen.pods_wait}})},
                       {"rows", rows_json(seen.rows)},
                       {"shapes", shapes_json(seen.shapes)},
                       {"mean", std::move(mean)},
                       {"users", users_json(seen.users)},
                       {"not_looked_at", document::list_of(seen.not_looked_at)},
                       {"warnings", std::move(warnings)}});
    return vgpuformats::print_json(result, 2) + "\n";
}

} // namespace vgpuops::show
