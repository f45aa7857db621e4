// The tables of overviews. What is printed adds up as it is printed.
#include "overview_tables.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "text_columns.hpp"
#include "vgpualloc/metrics/round_to_total.hpp"
#include "vgpuops/show/names.hpp"

namespace vgpuops::show {

namespace {

/// How many rows of pools, shapes and namespaces are printed.
std::size_t rows_max(const table_options& options) {
    return options.lists_all ? std::numeric_limits<std::size_t>::max() : options.rows_max;
}

/// Of use, scattered, host full and wrong kind in tenths that add up to what is free; and what is out of service. A
/// wide table has what is of the wrong kind by model, layout and rules.
std::vector<std::int64_t> idle_in_tenths(const vgpualloc::idle_parts& parts, const wrong_kinds& excluded,
                                         const three_parts& total, bool is_wide) {
    using vgpualloc::idle_cause;
    const auto milli_of = [&](idle_cause cause) { return parts[static_cast<std::size_t>(cause)]; };
    std::vector<std::int64_t> exact{milli_of(idle_cause::of_use), milli_of(idle_cause::scattered),
                                    milli_of(idle_cause::host_full)};
    if (is_wide) {
        exact.insert(exact.end(), {excluded.model, excluded.layout, excluded.rules});
    } else {
        exact.push_back(milli_of(idle_cause::wrong_kind));
    }
    vgpualloc::round_to_total(std::span<const std::int64_t>{exact}, tenth, total[1], exact);
    exact.push_back(total[2]);
    return exact;
}

/// A row of devices as it is printed.
struct device_line {
    std::string key{};
    const device_row* first = nullptr; ///< of those that are printed as one
    device_row sum{};
    three_parts tenths{};
};

std::string out_words(const device_row& row) {
    constexpr std::size_t names_max = 3;
    std::string words;
    std::size_t names = 0;
    for (const auto& [because, node] : row.out_because) {
        if (++names > names_max) break;
        const bool is_same = names > 1 && because == row.out_because[names - 2].first;
        words += is_same ? ", " + node : fmt::format("{}{}: {}", names > 1 ? "; " : "", because, node);
    }
    if (row.out_because.size() > names_max) words += fmt::format(" and {} more", row.out_because.size() - names_max);
    return words;
}

std::string largest_words(const device_row& row) {
    constexpr std::size_t entries_max = 4;
    std::string words;
    for (std::size_t i = 0; i < std::min(row.largest.size(), entries_max); ++i) {
        words += (i == 0 ? "" : ", ") + words_of(row.largest[i]);
    }
    if (row.largest.size() > entries_max) words += fmt::format(" and {} more", row.largest.size() - entries_max);
    if (!words.empty() || row.parts[1] > 0 || row.out_because.empty()) return words.empty() ? "-" : words;
    return "-  " + out_words(row);
}

/// Whether two nodes are in the same state, as a table shows it.
bool are_alike(const device_row& left, const device_row& right) {
    const auto same_part = [](const largest_part& one, const largest_part& other) {
        return one.part == other.part && one.amount == other.amount && one.memory_mib == other.memory_mib &&
               one.cores == other.cores;
    };
    const auto same_reason = [](const auto& one, const auto& other) { return one.first == other.first; };
    return left.kind == right.kind && left.gpus == right.gpus && left.parts == right.parts &&
           left.memory_used_mib == right.memory_used_mib && left.cores_used == right.cores_used &&
           std::ranges::equal(left.largest, right.largest, same_part) &&
           std::ranges::equal(left.out_because, right.out_because, same_reason);
}

/// Adds a row to one that it is printed with.
void merge(const device_row& from, const three_parts& tenths, device_line& to) {
    device_row& sum = to.sum;
    sum.nodes.insert(sum.nodes.end(), from.nodes.begin(), from.nodes.end());
    sum.gpus += from.gpus;
    sum.memory_mib += from.memory_mib;
    sum.memory_used_mib += from.memory_used_mib;
    sum.cores += from.cores;
    sum.cores_used += from.cores_used;
    sum.cpu_milli += from.cpu_milli;
    sum.cpu_used_milli += from.cpu_used_milli;
    sum.host_memory_mib += from.host_memory_mib;
    sum.host_memory_used_mib += from.host_memory_used_mib;
    for (std::size_t part = 0; part < tenths.size(); ++part) {
        sum.parts[part] += from.parts[part];
        to.tenths[part] += tenths[part];
    }
    sum.out_because.insert(sum.out_because.end(), from.out_because.begin(), from.out_because.end());
    std::erase_if(sum.labels, [&](const auto& entry) {
        const auto other = from.labels.find(entry.first);
        return other == from.labels.end() || other->second != entry.second;
    });
    for (std::size_t i = 0; i < std::min(sum.largest.size(), from.largest.size()); ++i) {
        largest_part& largest = sum.largest[i];
        if (largest.node.empty()) largest.amount += from.largest[i].amount;
        largest.nodes += from.largest[i].nodes;
    }
}

/// The rows of devices; nodes that are alike are one.
std::vector<device_line> lines_of(const overview& seen, const rounded_rows& tenths) {
    constexpr std::size_t pieces_max = 3; // of folded names
    std::vector<device_line> lines;
    for (std::size_t i = 0; i < seen.rows.size(); ++i) {
        const device_row& row = seen.rows[i];
        const auto alike = seen.by != "node" ? lines.end() : std::ranges::find_if(lines, [&](const device_line& line) {
            return are_alike(*line.first, row);
        });
        if (alike != lines.end()) {
            merge(row, tenths.rows[i], *alike);
            continue;
        }
        lines.push_back({.key = row.key, .first = &row, .sum = row, .tenths = tenths.rows[i]});
    }
    for (device_line& line : lines) {
        if (line.sum.nodes.size() > 1 && seen.by == "node") line.key = folded_names(line.sum.nodes, pieces_max);
    }
    return lines;
}

/// What a table of devices has beyond its key, kind and largest parts.
std::vector<std::string> number_cells(const device_row& row, std::int64_t nodes, const three_parts& tenths) {
    return {std::to_string(nodes), std::to_string(row.gpus), gpus(tenths[0]), gpus(tenths[1]), gpus(tenths[2])};
}

std::string labels_of(const device_row& row) {
    std::string words;
    for (const auto& [key, value] : row.labels) {
        const bool is_of_discovery = key.starts_with("nvidia.com/") || key.starts_with("feature.node.kubernetes.io/") ||
                                     key.starts_with("beta.kubernetes.io/") || key == "kubernetes.io/os" ||
                                     key == "kubernetes.io/arch" || key == vgpualloc::hostname_label;
        if (!is_of_discovery && value != row.key) words += (words.empty() ? "" : ",") + key + "=" + value;
    }
    return words.empty() ? "-" : words;
}

/// Memory and compute, of GPUs and of hosts.
std::vector<std::string> host_cells(const device_row& row) {
    constexpr std::int64_t mib_per_gib = 1024;
    const auto gib = [](std::int64_t used_mib, std::int64_t mib) {
        return fmt::format("{}/{}", used_mib / mib_per_gib, mib / mib_per_gib);
    };
    // A GPU whose memory nothing says has 1 MiB.
    const std::string memory =
        row.memory_mib > row.gpus ? gib(row.memory_used_mib, row.memory_mib) : std::string{unknown_word};
    return {memory, fmt::format("{}/{}", row.cores_used, row.cores),
            fmt::format("{}/{}", row.cpu_used_milli / 1000, row.cpu_milli / 1000),
            gib(row.host_memory_used_mib, row.host_memory_mib)};
}

/// By position in the lines: those that are printed, and of how many others only the sum is. Of many, the largest.
std::pair<std::vector<std::size_t>, std::vector<std::size_t>> shown_lines(const std::vector<device_line>& lines,
                                                                          std::size_t lines_max) {
    std::vector<std::size_t> order(lines.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (order.size() <= lines_max) return {order, {}};
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return lines[i].sum.gpus; });
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(lines_max);
    return {{order.begin(), end}, {end, order.end()}};
}

bool has_row_keys(const overview& seen) {
    return std::ranges::any_of(seen.rows, [](const device_row& row) { return !row.key.empty(); });
}

printed_table device_table(const overview& seen, const rounded_rows& tenths, const table_options& options) {
    const bool has_keys = has_row_keys(seen);
    printed_table table;
    std::vector<table_column>& headings = table.columns;
    headings = {{"KIND"},           {"NODES", true}, {"GPUS", true}, {"USED", true, true}, {"FREE", true, true},
                {"OUT", true, true}};
    if (has_keys) headings.insert(headings.begin(), {key_heading(seen.by)});
    headings.push_back({"LARGEST THAT FITS"});
    const auto add = [&](const std::string& key, const std::string& kind, std::vector<std::string> numbers,
                         const three_parts& parts, const device_row* row) {
        std::vector<std::string> cells{has_keys || kind.empty() ? key : kind};
        if (has_keys) cells.push_back(kind);
        std::ranges::move(numbers, std::back_inserter(cells));
        cells.push_back(row == nullptr ? "" : largest_words(*row));
        table.rows.push_back({.cells = std::move(cells), .parts = {parts.begin(), parts.end()}});
    };
    const std::vector<device_line> lines = lines_of(seen, tenths);
    const auto [shown, others] = shown_lines(lines, rows_max(options));
    for (const std::size_t i : shown) {
        const device_line& line = lines[i];
        const auto nodes = static_cast<std::int64_t>(line.sum.nodes.size());
        add(line.key.empty() ? "-" : line.key, line.sum.kind, number_cells(line.sum, nodes, line.tenths), line.tenths,
            &line.sum);
    }
    if (!others.empty()) {
        device_line sum;
        std::vector<std::string> kinds;
        for (const std::size_t i : others) {
            merge(lines[i].sum, lines[i].tenths, sum);
            kinds.push_back(lines[i].sum.kind);
        }
        add(fmt::format("{} more", others.size()), has_keys ? several(count_different(kinds), "kind") : "",
            number_cells(sum.sum, count_different(sum.sum.nodes), sum.tenths), sum.tenths, nullptr);
    }
    add("TOTAL", "", number_cells({.gpus = seen.gpus}, seen.nodes, tenths.total), tenths.total, nullptr);
    table.rows.back().is_sum = true;
    return table;
}

std::string quota_words(const std::vector<quota_amount>& quotas) {
    std::string words;
    for (const quota_amount& quota : quotas) {
        const std::string resource = quota.resource.substr(quota.resource.rfind('/') + 1);
        words += fmt::format("{}{} {} of {}", words.empty() ? "" : ", ", resource, quota.used, quota.hard);
    }
    return words.empty() ? "-" : words;
}

/// Pods by what they are counted by. Only namespaces have quotas.
printed_table pod_table(const overview& seen, const std::vector<pod_row>& rows, const std::string& heading,
                        const three_parts& total, const table_options& options) {
    if (rows.empty()) return {};
    std::vector<std::int64_t> used_tenths;
    std::vector<std::int64_t> asked_tenths;
    for (const pod_row& row : rows) {
        used_tenths.push_back(row.used);
        asked_tenths.push_back(row.asked);
    }
    const auto sum_of = [](const std::vector<std::int64_t>& values) {
        return std::accumulate(values.begin(), values.end(), std::int64_t{0});
    };
    const std::int64_t used_milli = sum_of(used_tenths); // of one namespace it is less than the cluster's
    const std::int64_t used_sum = used_milli == seen.parts[0] ? total[0] : rounded(used_milli, tenth);
    const std::int64_t asked_sum = rounded(sum_of(asked_tenths), tenth);
    vgpualloc::round_to_total(std::span<const std::int64_t>{used_tenths}, tenth, used_sum, used_tenths);
    vgpualloc::round_to_total(std::span<const std::int64_t>{asked_tenths}, tenth, asked_sum, asked_tenths);
    const bool has_quotas = heading == "NAMESPACE";
    printed_table table{
        .columns = {{heading}, {"RUN", true}, {"USED", true, true}, {"WAIT", true}, {"ASKED", true, true}}};
    if (has_quotas) table.columns.push_back({"QUOTA"});
    const auto add = [&](const pod_row& row, const std::string& name, const std::string& quota) {
        std::vector<std::string> cells{name, std::to_string(row.run), gpus(row.used), std::to_string(row.wait),
                                       gpus(row.asked)};
        if (has_quotas) cells.push_back(quota);
        table.rows.push_back({.cells = std::move(cells)});
    };
    const std::size_t shown = std::min(rows.size(), rows_max(options));
    pod_row others;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        pod_row row = rows[i];
        row.used = used_tenths[i];
        row.asked = asked_tenths[i];
        if (i < shown) {
            add(row, row.name.empty() ? "-" : row.name, quota_words(row.quotas));
            continue;
        }
        others.run += row.run;
        others.used += row.used;
        others.wait += row.wait;
        others.asked += row.asked;
    }
    if (rows.size() > shown) add(others, fmt::format("{} more", rows.size() - shown), "");
    add({.run = seen.pods_run, .used = used_sum, .wait = seen.pods_wait, .asked = asked_sum}, "TOTAL", "");
    table.rows.back().is_sum = true;
    return table;
}

} // namespace

std::string gpus(std::int64_t milli) { return fmt::format("{}.{}", milli / 1000, milli % 1000 / tenth); }

std::string several(std::int64_t count, std::string_view word) {
    return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::int64_t count_different(std::vector<std::string> names) {
    std::ranges::sort(names);
    const auto repeated = std::ranges::unique(names);
    return static_cast<std::int64_t>(names.size() - repeated.size());
}

std::string key_heading(const std::string& by) {
    std::string heading = by.substr(by.rfind('/') + 1);
    for (char& letter : heading) {
        if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    }
    return heading;
}

rounded_rows in_tenths(const overview& seen) {
    std::vector<three_parts> rows;
    for (const device_row& row : seen.rows) rows.push_back(row.parts);
    if (rows.empty()) rows.push_back(seen.parts); // the first table has pods
    return round_rows(rows, tenth);
}

printed_table first_table(const overview& seen, const rounded_rows& tenths, const table_options& options) {
    if (!seen.rows.empty()) return device_table(seen, tenths, options);
    return pod_table(seen, seen.pod_rows, key_heading(seen.by), tenths.total, options);
}

printed_table hosts_table(const overview& seen, const rounded_rows& tenths, const table_options& options) {
    const bool has_keys = has_row_keys(seen);
    printed_table table{
        .columns = {{"KIND"}, {"MEMORY GIB", true}, {"CORES", true}, {"CPU", true}, {"HOST GIB", true}, {"LABELS"}}};
    if (has_keys) table.columns.insert(table.columns.begin(), {key_heading(seen.by)});
    const std::vector<device_line> lines = lines_of(seen, tenths);
    for (const std::size_t i : shown_lines(lines, rows_max(options)).first) {
        const device_row& row = lines[i].sum;
        std::vector<std::string> cells{row.kind};
        if (has_keys) cells.insert(cells.begin(), lines[i].key.empty() ? "-" : lines[i].key);
        for (std::string& cell : host_cells(row)) cells.push_back(std::move(cell));
        cells.push_back(labels_of(row));
        table.rows.push_back({.cells = std::move(cells)});
    }
    return table;
}

printed_table idle_table(const overview& seen, const three_parts& total, const table_options& options) {
    if (seen.shapes.empty()) return {};
    printed_table table{.title = fmt::format("IDLE: of {} GPUs, to each shape that runs or waits{}",
                                             gpus(total[1] + total[2]),
                                             options.is_wide ? "; wrong kind by model, layout and rules" : ""),
                        .columns = {{"SHAPE"}, {"RUN", true}, {"WAIT", true}, {"MORE", true}}};
    const std::vector<const char*> causes =
        options.is_wide ? std::vector{"OF USE", "SCATTERED", "HOST FULL", "MODEL", "LAYOUT", "RULES", "OUT"}
                        : std::vector{"OF USE", "SCATTERED", "HOST FULL", "WRONG KIND", "OUT"};
    for (const char* const cause : causes) table.columns.push_back({cause, true, true});
    const auto add = [&](const std::string& name, std::int64_t run, std::int64_t wait, const std::string& more,
                         const vgpualloc::idle_parts& parts, const wrong_kinds& excluded) {
        table_row row{.cells = {name, std::to_string(run), std::to_string(wait), more},
                      .parts = idle_in_tenths(parts, excluded, total, options.is_wide)};
        for (const std::int64_t milli : row.parts) row.cells.push_back(gpus(milli));
        table.rows.push_back(std::move(row));
    };
    const std::size_t shown = std::min(seen.shapes.size(), rows_max(options));
    std::int64_t pods_left = seen.mean_run + seen.mean_wait;
    for (std::size_t i = 0; i < shown; ++i) {
        const shape_row& row = seen.shapes[i];
        add(row.name, row.run, row.wait, std::to_string(row.more), row.idle, row.wrong);
        pods_left -= row.run + row.wait;
    }
    if (seen.shapes.size() > shown) {
        const auto shapes = static_cast<std::int64_t>(seen.shapes.size() - shown);
        std::vector<std::string> cells(table.columns.size());
        cells.front() = fmt::format("and {} more ({})", several(shapes, "shape"), several(pods_left, "pod"));
        table.rows.push_back({.cells = std::move(cells)});
    }
    add("MEAN OVER PODS", seen.mean_run, seen.mean_wait, "", seen.mean, seen.mean_wrong);
    table.rows.back().is_sum = true;
    return table;
}

printed_table user_table(const overview& seen, const three_parts& total, const table_options& options) {
    if (seen.by == "namespace") return {};
    return pod_table(seen, seen.users, "NAMESPACE", total, options);
}

} // namespace vgpuops::show
