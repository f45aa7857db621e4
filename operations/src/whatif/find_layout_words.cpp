// Layouts of a search, in words.
#include <algorithm>
#include <cstddef>
#include <map>

#include <fmt/format.h>

#include "../show/overview_tables.hpp"
#include "../show/short_lines.hpp"
#include "../show/text_columns.hpp"
#include "placement_words.hpp"
#include "vgpualloc/explain/words.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuops/show/names.hpp"
#include "vgpuops/show/wait_words.hpp"
#include "vgpuops/whatif/find_layout.hpp"

namespace vgpuops::whatif {

namespace {

const layout_row& row_of_now(const layouts_found& search) {
    return *std::ranges::find_if(search.rows, &layout_row::is_now);
}

/// Of more nodes than this, a row names those that are cut otherwise than now, and not the layout of each.
constexpr std::size_t columns_max = 4;

/// "all-3g.40gb node-[1-3]; all-balanced node-7"; "-" for the nodes as they are now.
std::string changes_words(const layouts_found& search, const layout_row& row, const layout_row& now, bool lists_all) {
    const std::size_t pieces_max = lists_all ? search.nodes.size() : 3;
    std::map<std::string, std::vector<std::string>> nodes; // by layout
    for (std::size_t i = 0; i < search.nodes.size(); ++i) {
        if (row.layouts[i] != now.layouts[i]) nodes[row.layouts[i]].push_back(search.nodes[i]);
    }
    std::string words;
    for (auto& [layout, names] : nodes) {
        std::ranges::sort(names);
        words += fmt::format("{}{} {}", words.empty() ? "" : "; ", layout, show::folded_names(names, pieces_max));
    }
    return words.empty() ? "-" : words;
}

/// Whether no way runs more pods than the best that was tried.
bool is_proved(const layouts_found& search) {
    return search.is_exhaustive || search.run_most == search.rows.front().run;
}

std::string bound_words(const layouts_found& search) {
    if (is_proved(search)) return ", and no layouts have instances for more pods (exact)";
    if (!search.run_most) return " (heuristic)";
    return fmt::format(" (heuristic), and no layouts have instances for more than {} pods", *search.run_most);
}

/// "Cut mig-2 all-balanced: 18 of 18 pods of the mix run (now 17), 7 restart."
std::string verdict_words(const layouts_found& search, bool lists_all) {
    const layout_row& best = search.rows.front();
    const std::int64_t pods = best.run + best.wait;
    if (best.is_now) {
        return fmt::format("Leave the nodes as they are: {} of {} of the mix {}, and {} way runs more.", best.run,
                           show::several(pods, "pod"), best.run == 1 ? "runs" : "run",
                           is_proved(search) ? "no" : "no tried");
    }
    const layout_row& now = row_of_now(search);
    std::string nodes;
    for (std::size_t i = 0; search.nodes.size() <= columns_max && i < search.nodes.size(); ++i) {
        if (best.layouts[i] == now.layouts[i]) continue;
        nodes += fmt::format("{}{} {}", nodes.empty() ? "" : ", ", search.nodes[i], best.layouts[i]);
    }
    if (nodes.empty()) nodes = changes_words(search, best, now, lists_all);
    return fmt::format("Cut {}: {} of {} of the mix {} (now {}), {} {}.", nodes, best.run, show::several(pods, "pod"),
                       best.run == 1 ? "runs" : "run", search.run, best.restart,
                       best.restart == 1 ? "restarts" : "restart");
}

std::string mix_words(const layouts_found& search) {
    std::string parts;
    for (const mix_part& part : search.mix) {
        parts += fmt::format("{}{} x {}", parts.empty() ? "" : ", ", part.instances, part.profile);
    }
    if (search.others > 0) {
        parts += fmt::format(", and {} {} of these nodes with whole GPUs", search.others,
                             search.others == 1 ? "pod" : "pods");
    }
    return fmt::format("mix: {} ({} {}, {} {})", parts, search.run, search.run == 1 ? "pod runs" : "pods run",
                       search.wait, search.wait == 1 ? "waits" : "wait");
}

/// "1g.10gb" is "1g" where no other profile of the mix begins so.
std::string short_profile(const layouts_found& search, const std::string& profile) {
    const std::string short_name = profile.substr(0, profile.find('.'));
    const auto has_it = [&](const mix_part& part) { return part.profile.starts_with(short_name + "."); };
    return std::ranges::count_if(search.mix, has_it) == 1 ? short_name : profile;
}

} // namespace

std::string layouts_text(const layouts_found& search, bool all) {
    std::string text;
    add_line(text, verdict_words(search, all));
    add_line(text, mix_words(search));
    std::vector<show::text_columns::column> columns;
    const bool has_columns = search.nodes.size() <= columns_max;
    if (!has_columns) columns.push_back({.heading = "CUT"});
    for (std::size_t i = 0; has_columns && i < search.nodes.size(); ++i)
        columns.push_back({.heading = search.nodes[i]});
    for (const char* const heading : {"RUN", "WAIT", "RESTART", "CUT S"}) {
        columns.push_back({.heading = heading, .is_number = true});
    }
    for (std::size_t i = 0; i < search.mix.size(); ++i) {
        columns.push_back(
            {.heading = (i == 0 ? "SPARE " : "") + short_profile(search, search.mix[i].profile), .is_number = true});
    }
    const bool has_waits = search.rows.front().waits.has_value();
    if (has_waits) {
        for (const char* const heading : {"MEDIAN", "95 % WAIT"})
            columns.push_back({.heading = heading, .is_number = true});
    }
    columns.push_back({});
    show::text_columns table{std::move(columns)};
    const std::size_t shown = all ? search.rows.size() : std::min(search.rows.size(), layouts_shown_max);
    for (std::size_t r = 0; r < shown; ++r) {
        const layout_row& row = search.rows[r];
        std::vector<std::string> cells = row.layouts;
        if (!has_columns) cells = {changes_words(search, row, row_of_now(search), all)};
        cells.push_back(std::to_string(row.run));
        cells.push_back(std::to_string(row.wait));
        cells.push_back(std::to_string(row.restart));
        cells.push_back(row.cut_time ? fmt::format("{:.1f}", seconds_of(*row.cut_time)) : "-");
        for (const std::int64_t count : row.spare) cells.push_back(std::to_string(count));
        if (has_waits) {
            const layout_waits waits = row.waits.value_or(layout_waits{});
            for (const auto& wait : {waits.median, waits.p95}) {
                cells.push_back(wait ? show::wait_words(*wait) : "no end");
            }
        }
        cells.emplace_back(row.is_now ? "now" : "");
        table.add(std::move(cells));
    }
    text += table.text();
    const std::string tried =
        search.is_exhaustive ? fmt::format("all {} were tried", search.possible)
                             : fmt::format("{} of {}{} were tried{}", search.rows.size(), search.possible,
                                           search.possible == ways_counted_max ? " or more" : "", bound_words(search));
    const std::string rest =
        shown < search.rows.size() ? fmt::format("and {} more (--all); ", search.rows.size() - shown) : "";
    add_line(text, rest + tried + ". CUT S is transition's; draining and restarts come on top.");
    if (has_waits) {
        const std::string rest_words =
            search.replayed_never == 0
                ? ""
                : fmt::format("; {} more start under none of these layouts", search.replayed_never);
        add_line(text, fmt::format("Waits are of a replay of {} pods from the cluster cut so{}.", search.replayed,
                                   rest_words));
    }
    for (const std::string& line : explaining::warning_lines(search.warnings)) add_line(text, "warning: " + line);
    return show::with_short_lines(text);
}

namespace {

document warnings_json(const layouts_found& search) {
    document warnings = document::list();
    for (const error& warning : search.warnings) warnings.push_back(warning.message());
    return warnings;
}

document waits_json(const layout_row& row) {
    if (!row.waits) return {};
    const auto ticks_of = [](const std::optional<vgpualloc::ticks>& wait) {
        return wait ? document{wait->count()} : document{};
    };
    return document::map({{"median_us", ticks_of(row.waits->median)}, {"p95_us", ticks_of(row.waits->p95)}});
}

} // namespace

std::string layouts_json(const layouts_found& search) {
    document result = document::map({{"schema", "vgpualloc.layouts/1"},
                                     {"nodes", document::list_of(search.nodes)},
                                     {"mix", document::list()},
                                     {"others", search.others},
                                     {"run", search.run},
                                     {"wait", search.wait},
                                     {"possible", search.possible},
                                     {"is_exhaustive", search.is_exhaustive},
                                     {"run_most", search.run_most ? document{*search.run_most} : document{}},
                                     {"replayed", search.replayed},
                                     {"replayed_never", search.replayed_never},
                                     {"warnings", warnings_json(search)},
                                     {"rows", document::list()}});
    for (const mix_part& part : search.mix) {
        result["mix"].push_back(document::map({{"profile", part.profile}, {"instances", part.instances}}));
    }
    for (const layout_row& row : search.rows) {
        document spare = document::map({});
        for (std::size_t i = 0; i < search.mix.size(); ++i) spare[search.mix[i].profile] = row.spare[i];
        result["rows"].push_back(document::map({{"layouts", document::list_of(row.layouts)},
                                                {"run", row.run},
                                                {"wait", row.wait},
                                                {"restart", row.restart},
                                                {"cut_us", row.cut_time ? document{row.cut_time->count()} : document{}},
                                                {"spare", std::move(spare)},
                                                {"is_now", row.is_now},
                                                {"waits", waits_json(row)}}));
    }
    return vgpuformats::print_json(result, 2) + "\n";
}

} // namespace vgpuops::whatif
