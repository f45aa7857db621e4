// Overviews as text. What is printed adds up as it is printed.
#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "text_columns.hpp"
#include "vgpualloc/explain/words.hpp"
#include "vgpualloc/metrics/round_to_total.hpp"
#include "vgpuops/show/overview.hpp"

namespace vgpuops::show {

namespace {

constexpr std::size_t rows_max = 10; // of pools, shapes and namespaces

std::string gpus(std::int64_t milli) { return fmt::format("{}.{}", milli / 1000, milli % 1000 / tenth); }

std::string several(std::int64_t count, std::string_view word) {
    return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

/// The parts of the cluster and of its rows, in tenths that add up.
rounded_rows in_tenths(const overview& seen) {
    std::vector<three_parts> rows;
    for (const pool_row& row : seen.rows) rows.push_back(row.parts);
    return round_rows(rows, tenth);
}

/// Of use, scattered, host full and wrong kind in tenths that add up to what is free; and what is out of service.
std::array<std::int64_t, 5> idle_in_tenths(const vgpualloc::idle_parts& parts, const three_parts& total) {
    using vgpualloc::idle_cause;
    const auto milli_of = [&](idle_cause cause) { return parts[static_cast<std::size_t>(cause)]; };
    const std::array<std::int64_t, 4> exact{milli_of(idle_cause::of_use), milli_of(idle_cause::scattered),
                                            milli_of(idle_cause::host_full), milli_of(idle_cause::wrong_kind)};
    std::array<std::int64_t, 5> result{};
    vgpualloc::round_to_total(std::span<const std::int64_t>{exact}, tenth, total[1],
                              std::span{result}.first(exact.size()));
    result.back() = total[2];
    return result;
}

void add_first_line(const overview& seen, const three_parts& total, std::string& text) {
    if (seen.gpus == 0) {
        std::string resources;
        for (const std::string& name : seen.looked_for) resources += (resources.empty() ? "" : ", ") + name;
        text += fmt::format("0 GPUs on {}. Looked for: {} (vgpusim dialects)\n", several(seen.nodes_all, "node"),
                            resources);
        return;
    }
    const std::int64_t percent = rounded(seen.parts[0] * 100, seen.gpus * 1000) / (seen.gpus * 1000);
    text += fmt::format("{} on {}: {} used ({} %), {} free, {} out of service.\n", several(seen.gpus, "GPU"),
                        several(seen.nodes, "node"), gpus(total[0]), percent, gpus(total[1]), gpus(total[2]));
}

/// "4 pods wait, none fits now: 1 scattered, 1 gate."
void add_waiting_line(const overview& seen, std::string& text) {
    if (seen.pods_all == 0) {
        text += "no pods in these files: everything counts as free\n";
        return;
    }
    if (seen.pods_wait == 0) {
        text += "No pod waits.\n";
        return;
    }
    std::array<std::int64_t, verdict_count> counts{};
    std::string fitting; // the name of one
    for (const waiting_pod& pod : seen.waiting) {
        ++counts[static_cast<std::size_t>(pod.why)];
        if (pod.why == verdict::fits_now) fitting = pod.name;
    }
    const std::int64_t fit = counts[static_cast<std::size_t>(verdict::fits_now)];
    text += fmt::format("{} {}, ", several(seen.pods_wait, "pod"), seen.pods_wait == 1 ? "waits" : "wait");
    if (fit == 0) {
        text += seen.pods_wait == 1 ? "and does not fit now" : "none fits now";
    } else if (fit == seen.pods_wait) {
        text += seen.pods_wait == 1 ? "and fits now" : "all fit now";
    } else {
        text += fmt::format("{} {} now", fit, fit == 1 ? "fits" : "fit");
    }
    if (fit == 1) text += fmt::format(" ({}; see why)", printable(fitting));
    std::string others;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto why = static_cast<verdict>(i);
        if (counts[i] == 0 || why == verdict::fits_now) continue;
        others += fmt::format("{}{} {}", others.empty() ? ": " : ", ", counts[i], to_string(why));
    }
    text += others + ".\n";
}

std::string largest_words(const pool_row& row) {
    constexpr std::size_t entries_max = 4;
    std::string words;
    for (std::size_t i = 0; i < std::min(row.largest.size(), entries_max); ++i) {
        words += (i == 0 ? "" : ", ") + words_of(row.largest[i]);
    }
    if (row.largest.size() > entries_max) words += fmt::format(" and {} more", row.largest.size() - entries_max);
    if (!words.empty() || row.parts[1] > 0 || row.out_because.empty()) return words.empty() ? "-" : words;
    constexpr std::size_t names_max = 3;
    std::string reason;
    std::size_t names = 0;
    for (const auto& [because, node] : row.out_because) {
        if (++names > names_max) break;
        const bool is_same = names > 1 && because == row.out_because[names - 2].first;
        words += is_same ? ", " + node : fmt::format("{}{}: {}", names > 1 ? "; " : "", because, node);
    }
    if (row.out_because.size() > names_max) words += fmt::format(" and {} more", row.out_because.size() - names_max);
    return "-  " + words;
}

/// By position in the rows: those that are printed, and of how many others only the sum is. Of many, the largest.
std::pair<std::vector<std::size_t>, std::vector<std::size_t>> shown_rows(const overview& seen) {
    std::vector<std::size_t> order(seen.rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (order.size() <= rows_max) return {order, {}};
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return seen.rows[i].gpus; });
    return {{order.begin(), order.begin() + rows_max}, {order.begin() + rows_max, order.end()}};
}

void add_pool_table(const overview& seen, const rounded_rows& tenths, std::string& text) {
    const bool has_pools = std::ranges::any_of(seen.rows, [](const pool_row& row) { return !row.pool.empty(); });
    std::vector<text_columns::column> headings{{"KIND"},
                                               {"NODES", true},
                                               {"GPUS", true},
                                               {"USED", true, true},
                                               {"FREE", true, true},
                                               {"OUT", true, true},
                                               {"LARGEST THAT FITS"}};
    if (has_pools) headings.insert(headings.begin(), {"POOL"});
    text_columns table{headings};
    const auto add = [&](const std::string& pool, const std::string& kind, std::int64_t nodes, std::int64_t devices,
                         const three_parts& parts, const std::string& largest) {
        std::vector<std::string> cells{std::to_string(nodes), std::to_string(devices), gpus(parts[0]),
                                       gpus(parts[1]),        gpus(parts[2]),          largest};
        if (has_pools) cells.insert(cells.begin(), kind);
        cells.insert(cells.begin(), has_pools || kind.empty() ? pool : kind);
        table.add(std::move(cells));
    };
    const auto [shown, others] = shown_rows(seen);
    for (const std::size_t i : shown) {
        const pool_row& row = seen.rows[i];
        add(row.pool.empty() ? "-" : row.pool, row.kind, static_cast<std::int64_t>(row.nodes.size()), row.gpus,
            tenths.rows[i], largest_words(row));
    }
    if (!others.empty()) {
        std::vector<std::string> nodes;
        std::vector<std::string> kinds;
        std::int64_t devices = 0;
        three_parts sum{};
        for (const std::size_t i : others) {
            nodes.insert(nodes.end(), seen.rows[i].nodes.begin(), seen.rows[i].nodes.end());
            kinds.push_back(seen.rows[i].kind);
            devices += seen.rows[i].gpus;
            for (std::size_t part = 0; part < sum.size(); ++part) sum[part] += tenths.rows[i][part];
        }
        const auto different = [](std::vector<std::string>& names) {
            std::ranges::sort(names);
            const auto repeated = std::ranges::unique(names);
            return static_cast<std::int64_t>(names.size() - repeated.size());
        };
        const std::int64_t kinds_different = different(kinds);
        add(fmt::format("{} more", others.size()), has_pools ? several(kinds_different, "kind") : "", different(nodes),
            devices, sum, "");
    }
    add("TOTAL", "", seen.nodes, seen.gpus, tenths.total, "");
    text += "\n" + table.text();
}

void add_idle_table(const overview& seen, const three_parts& total, std::string& text) {
    if (seen.shapes.empty()) return;
    text += fmt::format("\nIDLE: of {} GPUs, to each shape that runs or waits\n", gpus(total[1] + total[2]));
    text_columns table{{{"SHAPE"},
                        {"RUN", true},
                        {"WAIT", true},
                        {"MORE", true},
                        {"OF USE", true, true},
                        {"SCATTERED", true, true},
                        {"HOST FULL", true, true},
                        {"WRONG KIND", true, true},
                        {"OUT", true, true}}};
    const auto add = [&](const std::string& name, std::int64_t run, std::int64_t wait, const std::string& more,
                         const vgpualloc::idle_parts& parts) {
        std::vector<std::string> cells{name, std::to_string(run), std::to_string(wait), more};
        for (const std::int64_t milli : idle_in_tenths(parts, total)) cells.push_back(gpus(milli));
        table.add(std::move(cells));
    };
    std::int64_t pods_left = seen.mean_run + seen.mean_wait;
    for (std::size_t i = 0; i < std::min(seen.shapes.size(), rows_max); ++i) {
        const shape_row& row = seen.shapes[i];
        add(row.name, row.run, row.wait, std::to_string(row.more), row.idle);
        pods_left -= row.run + row.wait;
    }
    if (seen.shapes.size() > rows_max) {
        const auto shapes = static_cast<std::int64_t>(seen.shapes.size() - rows_max);
        table.add({fmt::format("and {} more ({})", several(shapes, "shape"), several(pods_left, "pod")), "", "", "", "",
                   "", "", "", ""});
    }
    add("MEAN OVER PODS", seen.mean_run, seen.mean_wait, "", seen.mean);
    text += table.text();
}

std::string quota_words(const std::vector<quota_amount>& quotas) {
    std::string words;
    for (const quota_amount& quota : quotas) {
        const std::string resource = quota.resource.substr(quota.resource.rfind('/') + 1);
        words += fmt::format("{}{} {} of {}", words.empty() ? "" : ", ", resource,
                             quota.used.empty() ? "?" : quota.used, quota.hard);
    }
    return words.empty() ? "-" : words;
}

void add_user_table(const overview& seen, const three_parts& total, std::string& text) {
    if (seen.users.empty()) return;
    std::vector<std::int64_t> used;
    std::vector<std::int64_t> asked;
    for (const user_row& row : seen.users) {
        used.push_back(row.used);
        asked.push_back(row.asked);
    }
    const std::int64_t asked_sum = rounded(std::accumulate(asked.begin(), asked.end(), std::int64_t{0}), tenth);
    vgpualloc::round_to_total(std::span<const std::int64_t>{used}, tenth, total[0], used);
    vgpualloc::round_to_total(std::span<const std::int64_t>{asked}, tenth, asked_sum, asked);
    text_columns table{
        {{"NAMESPACE"}, {"RUN", true}, {"USED", true, true}, {"WAIT", true}, {"ASKED", true, true}, {"QUOTA"}}};
    const auto add = [&](const std::string& name, std::int64_t run, std::int64_t used_milli, std::int64_t wait,
                         std::int64_t asked_milli, const std::string& quota) {
        table.add({name, std::to_string(run), gpus(used_milli), std::to_string(wait), gpus(asked_milli), quota});
    };
    user_row others;
    for (std::size_t i = 0; i < seen.users.size(); ++i) {
        const user_row& row = seen.users[i];
        if (i < rows_max) {
            add(row.name, row.run, used[i], row.wait, asked[i], quota_words(row.quotas));
            continue;
        }
        others.run += row.run;
        others.used += used[i];
        others.wait += row.wait;
        others.asked += asked[i];
    }
    if (seen.users.size() > rows_max) {
        add(fmt::format("{} more", seen.users.size() - rows_max), others.run, others.used, others.wait, others.asked,
            "");
    }
    add("TOTAL", seen.pods_run, total[0], seen.pods_wait, asked_sum, "");
    text += "\n" + table.text();
}

void add_last_lines(const overview& seen, std::string& text) {
    for (const std::string& line : explaining::warning_lines(seen.warnings)) text += "warning: " + line + "\n";
    std::string others;
    for (const std::string& rule : seen.not_looked_at) others += (others.empty() ? "" : "; ") + rule;
    text += fmt::format("not looked at: {}. Used is what pods were given, not how busy GPUs are.\n",
                        others.empty() ? "nothing that is in this file" : printable(others));
}

} // namespace

std::string overview_text(const overview& seen) {
    const rounded_rows tenths = in_tenths(seen);
    std::string text;
    add_first_line(seen, tenths.total, text);
    add_waiting_line(seen, text);
    if (seen.gpus > 0) {
        add_pool_table(seen, tenths, text);
        add_idle_table(seen, tenths.total, text);
        add_user_table(seen, tenths.total, text);
    }
    add_last_lines(seen, text);
    return text;
}

} // namespace vgpuops::show
