#include "show_page.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/tables.hpp"

namespace vgpufacade {

namespace {

namespace overviews = vgpuops::show;
using vgpureport::area;
using vgpureport::bars;

constexpr std::size_t rows_of_a_table = 100;
const std::vector<area> use_areas{area::used, area::free, area::out};
const std::vector<area> idle_areas{area::of_use, area::scattered, area::host_full, area::wrong_kind, area::out};

/// "LARGEST THAT FITS" is "Largest that fits", "GPUS" is "GPUs".
std::string sentence_case(std::string heading) {
    if (heading == "GPUS") return "GPUs";
    if (heading == "CPU") return heading;
    if (heading.ends_with(" GIB")) return sentence_case(heading.substr(0, heading.size() - 4)) + " GiB";
    for (std::size_t i = 1; i < heading.size(); ++i) {
        if (heading[i] >= 'A' && heading[i] <= 'Z') heading[i] = static_cast<char>(heading[i] - 'A' + 'a');
    }
    return heading;
}

std::string with_capital(std::string words) {
    if (!words.empty() && words[0] >= 'a' && words[0] <= 'z') words[0] = static_cast<char>(words[0] - 'a' + 'A');
    return words;
}

/// "IDLE: of 15.5 GPUs, …" is "Of 15.5 GPUs, …".
std::string caption_of(const std::string& title) { return with_capital(title.substr(title.find(": ") + 2)); }

std::string command_of(const show_question& question, bool lists_all) {
    std::vector<std::string> arguments{"vgpusim", "show"};
    const auto add = [&](const char* flag, const std::string& value) {
        arguments.insert(arguments.end(), {flag, value});
    };
    arguments.insert(arguments.end(), question.cluster.begin(), question.cluster.end());
    if (!question.chosen.nodes.empty()) add("-l", question.chosen.nodes);
    if (!question.chosen.ns.empty()) add("-n", question.chosen.ns);
    if (question.chosen.by != overviews::selection{}.by) add("--by", question.chosen.by);
    if (lists_all) arguments.emplace_back("--all");
    if (!question.prices.empty()) add("--prices", question.prices);
    for (const std::string& file : question.dialects.config) add("--config", file);
    for (const std::string& file : question.dialects.catalog) add("--file", file);
    return vgpuformats::joined(arguments, vgpuformats::shell_word, " ");
}

std::string heading_of(const std::string& by) { return by == "pool" ? "Pools" : "By " + by.substr(by.rfind('/') + 1); }

vgpureport::page_section first_section(const overviews::overview& seen, const overviews::overview_tables& tables,
                                       const overviews::overview_tables& wide) {
    vgpureport::page_section section{.heading = heading_of(seen.by)};
    if (seen.rows.empty()) {
        section.tables.push_back(page_table_of(tables.first, "Pods by " + seen.by + ": what they have and ask for"));
        return section;
    }
    section.tables.push_back(
        page_table_of(tables.first, "GPUs used, free and out of service", use_areas, bars::in_rows));
    section.tables.push_back(page_table_of(wide.hosts, "Memory, compute, hosts and labels of the same rows"));
    section.tables.back().summary = "Memory, compute, hosts and labels";
    return section;
}

/// Of a few keys each has its groups; of many, nodes of a kind stand together.
std::vector<vgpureport::strip_group> groups_of(const overviews::overview& seen) {
    constexpr std::size_t groups_max = 64;
    std::vector<std::size_t> order(seen.nodes_seen.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) -> const auto& { return seen.nodes_seen[i].name; });
    const std::vector<std::string> words = overviews::words_of_nodes(seen);
    std::set<std::pair<std::string, std::string>> keys;
    for (const auto& node : seen.nodes_seen) keys.emplace(node.key, node.kind);
    const bool has_keys = keys.size() <= groups_max;
    std::map<std::string, std::size_t> positions;
    std::vector<vgpureport::strip_group> groups;
    for (const std::size_t i : order) {
        const overviews::node_devices& node = seen.nodes_seen[i];
        const std::string name = !has_keys || node.key.empty() ? node.kind : node.key + ", " + node.kind;
        const auto [position, is_new] = positions.emplace(name, groups.size());
        if (is_new) groups.push_back({.name = name});
        vgpureport::node_strip strip{.name = node.name, .words = words[i], .state = node.because};
        for (std::size_t d = 0; d < node.used.size(); ++d) {
            strip.cells.push_back({.used = node.used[d], .out = node.is_out[d] ? 1000 - node.used[d] : 0});
        }
        groups[position->second].nodes.push_back(std::move(strip));
    }
    return groups;
}

vgpureport::page_section every_gpu(const overviews::overview& seen, const overviews::table_options& options) {
    vgpureport::page_section section{.heading = "Every GPU",
                                     .notes = {"A cell is a GPU, filled from the left by what is used of it."},
                                     .groups = groups_of(seen)};
    if (std::ranges::any_of(seen.nodes_seen, &overviews::node_devices::is_in_order)) {
        section.notes.front() += " Where the plugin does not tell which GPU of a node a pod is on, GPUs are filled in "
                                 "their order.";
    }
    section.tables.push_back(
        page_table_of(overviews::nodes_table(seen, options), "Nodes that are in the same state are one row"));
    section.tables.back().summary = "As a table";
    return section;
}

vgpureport::page_section idle_section(const overviews::overview_tables& tables,
                                      const overviews::overview_tables& wide) {
    vgpureport::page_section section{
        .heading = "Idle",
        .notes = {"What more pods of a shape would take is of use to them; the rest of what is idle is not, for the "
                  "first of these reasons that holds: out of service, wrong kind, scattered, host full."}};
    section.tables.push_back(page_table_of(tables.idle, caption_of(tables.idle.title), idle_areas, bars::above));
    section.tables.push_back(page_table_of(wide.idle, "Wrong kind by model, by layout and by the pod's rules"));
    section.tables.back().summary = "Wrong kind in parts";
    return section;
}

vgpureport::page_section waiting_section(const vgpuops::why::waiting_answer& waiting, bool lists_all) {
    vgpureport::page_section section{.heading = "Waiting"};
    const std::size_t all = waiting.groups.size() + waiting.makes_no_pods.size();
    const overviews::printed_table table =
        vgpuops::why::waiting_table(waiting, {.rows_max = lists_all ? all : rows_of_a_table,
                                              .names_max = lists_all ? std::size_t(waiting.pods) : 20});
    if (table.rows.empty()) {
        section.notes = {"Nothing waits."};
        return section;
    }
    section.tables.push_back(page_table_of(table, vgpuops::why::waiting_sentence(waiting)));
    return section;
}

/// Where there is something to tell: what it costs, what was not looked at.
void add_last_sections(const overviews::overview_tables& tables, std::vector<vgpureport::page_section>& to) {
    if (!tables.cost.empty()) {
        to.push_back({.heading = "Cost", .notes = {tables.cost.substr(0, tables.cost.find_last_not_of('\n') + 1)}});
    }
    vgpureport::page_section last{.heading = "Not looked at"};
    const std::string& sentence = tables.not_looked_at;
    last.notes.push_back(with_capital(sentence.substr(sentence.find(": ") + 2)));
    for (const std::string& warning : tables.warnings) last.notes.push_back("Warning: " + warning);
    to.push_back(std::move(last));
}

} // namespace

vgpureport::page_table page_table_of(const overviews::printed_table& table, std::string caption,
                                     std::vector<area> areas, bars where) {
    vgpureport::page_table result{.caption = std::move(caption), .areas = std::move(areas), .where = where};
    for (const overviews::table_column& column : table.columns) {
        result.columns.push_back({.heading = sentence_case(column.heading), .is_number = column.is_number});
    }
    for (const overviews::table_row& row : table.rows) {
        result.rows.push_back({.cells = row.cells, .parts = {}, .is_sum = row.is_sum});
        if (where != bars::none) result.rows.back().parts = row.parts;
    }
    return result;
}

vgpureport::answer_page page_of(const overviews::overview& seen, const vgpuops::why::waiting_answer& waiting,
                                const show_question& question, bool lists_all) {
    const overviews::table_options narrow{.lists_all = lists_all, .rows_max = rows_of_a_table};
    const overviews::table_options wide{.is_wide = true, .lists_all = lists_all, .rows_max = rows_of_a_table};
    const overviews::overview_tables tables = overviews::tables_of(seen, narrow);
    const overviews::overview_tables wide_tables = overviews::tables_of(seen, wide);
    vgpureport::answer_page page{.kicker = "vgpusim show",
                                 .title = tables.usage,
                                 .subtitle = tables.waiting,
                                 .command = command_of(question, lists_all)};
    if (seen.gpus > 0) {
        page.total = {{area::used, tables.total[0]}, {area::free, tables.total[1]}, {area::out, tables.total[2]}};
        if (!tables.first.rows.empty()) page.sections.push_back(first_section(seen, tables, wide_tables));
        page.sections.push_back(every_gpu(seen, narrow));
        if (!tables.idle.rows.empty()) page.sections.push_back(idle_section(tables, wide_tables));
        if (!tables.users.rows.empty()) {
            page.sections.push_back({.heading = "Who uses it"});
            page.sections.back().tables.push_back(
                page_table_of(tables.users, "Pods with GPUs by namespace: what they have and ask for"));
        }
    }
    page.sections.push_back(waiting_section(waiting, lists_all));
    add_last_sections(tables, page.sections);
    return page;
}

} // namespace vgpufacade
