// Every node with GPUs as a table, in which nodes that are in the same state are one row.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "overview_tables.hpp"
#include "vgpuops/show/names.hpp"

namespace vgpuops::show {

namespace {

/// Nodes that differ in nothing but their names.
struct alike_nodes {
    std::vector<std::string> names{};
    std::int64_t gpus = 0; ///< of all
    three_parts tenths{};  ///< of all
};

/// What the nodes of a row have in common: key, kind, GPUs, what is used; what is used, free and out of service, why.
using state_of_node = std::tuple<std::string, std::string, std::int64_t, std::int64_t, three_parts, std::string>;

three_parts parts_of(const node_devices& node) {
    three_parts parts{};
    for (std::size_t d = 0; d < node.used.size(); ++d) {
        parts[0] += node.used[d];
        parts[node.is_out[d] ? 2 : 1] += vgpualloc::whole_gpu.count() - node.used[d];
    }
    return parts;
}

void merge(const alike_nodes& from, alike_nodes& to) {
    to.names.insert(to.names.end(), from.names.begin(), from.names.end());
    to.gpus += from.gpus;
    for (std::size_t part = 0; part < to.tenths.size(); ++part) to.tenths[part] += from.tenths[part];
}

std::map<state_of_node, alike_nodes> alike_of(const overview& seen, const rounded_rows& tenths) {
    std::map<state_of_node, alike_nodes> result;
    for (std::size_t i = 0; i < seen.nodes_seen.size(); ++i) {
        const node_devices& node = seen.nodes_seen[i];
        const auto gpus_there = static_cast<std::int64_t>(node.used.size());
        const three_parts parts = parts_of(node);
        merge({.names = {node.name}, .gpus = gpus_there, .tenths = tenths.rows[i]},
              result[{node.key, node.kind, -gpus_there, -parts[0], parts, node.because}]);
    }
    return result;
}

rounded_rows tenths_of(const std::vector<node_devices>& nodes) {
    std::vector<three_parts> exact;
    for (const node_devices& node : nodes) exact.push_back(parts_of(node));
    return round_rows(exact, tenth);
}

} // namespace

printed_table nodes_table(const overview& seen, const table_options& options) {
    constexpr std::size_t pieces_max = 20; // of folded names
    if (seen.nodes_seen.empty()) return {};
    const rounded_rows tenths = tenths_of(seen.nodes_seen);
    const bool has_keys =
        std::ranges::any_of(seen.nodes_seen, [](const node_devices& node) { return !node.key.empty(); });
    printed_table table{.columns = {{"KIND"},
                                    {"STATE"},
                                    {"NODES", true},
                                    {"GPUS", true},
                                    {"USED", true, true},
                                    {"FREE", true, true},
                                    {"OUT", true, true},
                                    {"WHICH"}}};
    if (has_keys) table.columns.insert(table.columns.begin(), {key_heading(seen.by)});
    const auto add = [&](const std::vector<std::string>& first_cells, std::int64_t nodes, const alike_nodes& row) {
        std::vector<std::string> cells = first_cells;
        if (!has_keys) cells.erase(cells.begin() + 1);
        cells.insert(cells.end(), {std::to_string(nodes), std::to_string(row.gpus), gpus(row.tenths[0]),
                                   gpus(row.tenths[1]), gpus(row.tenths[2]), folded_names(row.names, pieces_max)});
        table.rows.push_back({.cells = std::move(cells), .parts = {row.tenths.begin(), row.tenths.end()}});
    };
    const std::size_t rows_max = options.lists_all ? std::numeric_limits<std::size_t>::max() : options.rows_max;
    alike_nodes others;
    std::size_t rows = 0;
    for (auto& [state, row] : alike_of(seen, tenths)) {
        if (++rows > rows_max) {
            merge(row, others);
            continue;
        }
        alike_nodes sorted = row;
        std::ranges::sort(sorted.names);
        const auto& because = std::get<5>(state);
        const std::string& key = std::get<0>(state);
        const std::string& kind = std::get<1>(state);
        add({has_keys ? (key.empty() ? "-" : key) : kind, kind, because.empty() ? "in service" : because},
            std::ssize(sorted.names), sorted);
    }
    if (rows > rows_max) {
        const std::int64_t nodes = count_different(std::move(others.names));
        others.names = {};
        add({fmt::format("{} more", rows - rows_max), "", ""}, nodes, others);
    }
    add({"TOTAL", "", ""}, seen.nodes, {.gpus = seen.gpus, .tenths = tenths.total});
    table.rows.back().is_sum = true;
    return table;
}

std::vector<std::string> words_of_nodes(const overview& seen) {
    const rounded_rows tenths = tenths_of(seen.nodes_seen);
    std::vector<std::string> words;
    for (std::size_t i = 0; i < seen.nodes_seen.size(); ++i) {
        const three_parts& parts = tenths.rows[i];
        words.push_back(fmt::format("{} of {} used, {} free, {} out of service", gpus(parts[0]),
                                    seen.nodes_seen[i].used.size(), gpus(parts[1]), gpus(parts[2])));
    }
    return words;
}

} // namespace vgpuops::show
