// One pod that waits, as text and as a document.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "../show/short_lines.hpp"
#include "../show/text_columns.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/names.hpp"
#include "vgpuops/show/rounding.hpp"
#include "vgpuops/why/pod.hpp"
#include "why_words.hpp"

namespace vgpuops::why {

namespace {

constexpr std::size_t changes_shown = 5;
/// Lines about nodes; with many changes fewer, so that an answer has at most 20 lines on any number of nodes.
constexpr std::size_t node_rows_max = 7;
constexpr std::size_t node_rows_beside_changes = 5;
constexpr std::size_t few_changes = 3;
constexpr std::size_t names_in_a_row = 3;

/// Nodes that are one line of the table.
struct reason_row {
    node_reason word = node_reason::fits;
    std::vector<std::string> texts{}; ///< each once, in the cluster's order
    std::vector<std::string> nodes{};
};

/// Whether nodes of this reason are told apart by amounts, which one line for all has the largest of.
bool is_of_amounts(node_reason word) { return word == node_reason::host_full || word == node_reason::too_few_free; }

/// What the node refuses for; where that is not about amounts, only what its reason is due to.
std::string checks_text(const node_reasons& node) {
    std::vector<std::string> texts;
    for (const failed_check& check : node.checks) {
        if (check.word == node.word || is_of_amounts(node.word)) texts.push_back(check.text);
    }
    return vgpuformats::joined(texts);
}

/// Nodes that fit or are short of amounts first, a line for each reason; then those that refuse for one and the same
/// text, the reason of most nodes first.
std::vector<reason_row> rows_of(const std::vector<node_reasons>& nodes) {
    std::vector<const node_reasons*> by_name; // amounts stand in the order of the names beside them
    for (const node_reasons& node : nodes) by_name.push_back(&node);
    std::ranges::sort(by_name, {}, [](const node_reasons* node) -> const std::string& { return node->node; });
    std::map<std::pair<node_reason, std::string>, reason_row> rows;
    std::map<node_reason, std::int64_t> nodes_by_reason;
    for (const node_reasons* const entry : by_name) {
        const node_reasons& node = *entry;
        const bool is_one_row = is_of_amounts(node.word) || node.word == node_reason::fits;
        const std::string text = checks_text(node);
        reason_row& row = rows[{node.word, is_one_row ? std::string{} : text}];
        row.word = node.word;
        row.nodes.push_back(node.node);
        if (std::ranges::find(row.texts, text) == row.texts.end() && !text.empty()) row.texts.push_back(text);
        ++nodes_by_reason[node.word];
    }
    std::vector<reason_row> result;
    for (auto& [key, row] : rows) result.push_back(std::move(row));
    std::ranges::stable_sort(result, {}, [&](const reason_row& row) {
        const bool is_short = row.word <= node_reason::too_few_free;
        return std::tuple{!is_short, is_short ? std::int64_t{0} : -nodes_by_reason.at(row.word), row.word,
                          row.nodes.size()};
    });
    return result;
}

std::string texts_of(const reason_row& row) {
    constexpr std::size_t texts_max = 2;
    std::string words;
    for (std::size_t i = 0; i < std::min(row.texts.size(), texts_max); ++i) {
        words += (i == 0 ? "" : "; ") + row.texts[i];
    }
    return row.texts.size() > texts_max ? words + "; …" : words;
}

void add_node_table(const pod_answer& answered, std::string& text) {
    const std::vector<reason_row> rows = rows_of(answered.nodes);
    if (rows.empty()) return;
    show::text_columns table{{{"NODES", true}, {"REASON"}, {"FREE/ASKED"}, {"WHICH"}}};
    const bool has_few_changes = answered.changes.size() <= few_changes;
    std::size_t shown = std::min(rows.size(), has_few_changes ? node_rows_max : node_rows_beside_changes);
    if (shown + 1 == rows.size()) ++shown; // a line for the others would be as long
    std::size_t nodes_left = answered.nodes.size();
    for (std::size_t i = 0; i < shown; ++i) {
        const reason_row& row = rows[i];
        table.add({std::to_string(row.nodes.size()), std::string{to_string(row.word)}, texts_of(row),
                   show::folded_names(row.nodes, names_in_a_row)});
        nodes_left -= row.nodes.size();
    }
    if (nodes_left > 0) table.add({std::to_string(nodes_left), "others", "", ""});
    text += table.text();
}

/// Of pods for which moves, layouts, cordons and more nodes are tried.
constexpr std::array<show::verdict, 6> verdicts_with_changes{show::verdict::scattered, show::verdict::all_used,
                                                             show::verdict::host_full, show::verdict::not_allowed,
                                                             show::verdict::gang,      show::verdict::never};

void add_changes(const pod_answer& answered, const std::vector<std::string>& inputs, std::string& text) {
    if (answered.changes.empty()) {
        const auto& words = verdicts_with_changes;
        const bool was_tried = !answered.makes_no_pods && std::ranges::find(words, answered.verdict) != words.end();
        if (was_tried) text += "would fit if: nothing that was tried helps\n";
        return;
    }
    text += "would fit if (each alone, each was tried)\n";
    add_change_lines(answered.changes, inputs, text);
}

} // namespace

void add_change_lines(const std::vector<tried_change>& changes, const std::vector<std::string>& inputs,
                      std::string& text) {
    show::text_columns table{{{"  "}, {""}}};
    const std::size_t shown = std::min(changes.size(), changes_shown);
    for (const tried_change& change : changes | std::views::take(shown)) {
        table.add({"  " + change.what, change.then.empty() ? command_line(change.command, inputs) : change.then});
    }
    const std::string lines = table.text();
    text += lines.substr(lines.find('\n') + 1); // without headings
    if (shown < changes.size()) text += fmt::format("  and {} more (--json)\n", changes.size() - shown);
}

void add_counted(const std::vector<counted_pod>& counted, std::string& text) {
    constexpr std::size_t counted_max = 5;
    if (counted.empty()) return;
    std::string line = "counted:";
    for (std::size_t i = 0; i < std::min(counted.size(), counted_max); ++i) {
        line += fmt::format("{} {} {} ({})", i == 0 ? "" : ",", counted[i].name, counted[i].amount, counted[i].state);
    }
    if (counted.size() > counted_max) line += fmt::format(" and {} more", counted.size() - counted_max);
    text += printable(line) + "\n";
}

namespace {

/// "train/web of web.yaml (Deployment, 3 pods) would wait, scattered: …".
std::string first_sentence(const pod_answer& answered) {
    const std::string end = fmt::format("{}: {}.", show::to_string(answered.verdict), answered.because);
    if (answered.file.empty()) return fmt::format("{} waits, {}", answered.name, end);
    std::string name = answered.name + " of " + answered.file;
    if (answered.pods > 1) {
        name += fmt::format(" ({}, {} pods)", answered.kind, answered.pods);
    } else if (answered.kind != "Pod") {
        name += fmt::format(" ({})", answered.kind);
    }
    if (answered.fitting >= answered.pods) return fmt::format("{} would start, {}", name, end);
    if (answered.verdict == show::verdict::quota && answered.fitting == 0) {
        return fmt::format("{} would not be made, {}", name, end);
    }
    if (answered.fitting == 0) return fmt::format("{} would wait, {}", name, end);
    const std::int64_t others = answered.pods - answered.fitting;
    return fmt::format("{}: {} {} now, and {} would {}, {}", name, answered.fitting,
                       answered.fitting == 1 ? "fits" : "fit", others,
                       answered.verdict == show::verdict::quota ? "not be made" : "wait", end);
}

/// "2026-11-25 13:00Z" of "2026-11-25T13:00:00Z"; others as they are.
std::string moment_words(const std::string& time) {
    constexpr std::string_view pattern = "0000-00-00T00:00:00Z";
    const auto is_like = [](char letter, char of_pattern) {
        return of_pattern == '0' ? letter >= '0' && letter <= '9' : letter == of_pattern;
    };
    if (!std::ranges::equal(time, pattern, is_like)) return time;
    return fmt::format("{} {}Z", time.substr(0, 10), time.substr(11, 5));
}

/// "nvidia.com/gpu 4, cpu 48, memory 192 GiB, any node; priority 0; since 2026-11-25 13:00Z".
std::string asked_words(const pod_answer& answered) {
    std::vector<std::string> words;
    for (const auto& [resource, amount] : answered.asks) words.push_back(fmt::format("{} {}", resource, amount));
    if (answered.cpu_milli > 0) words.push_back("cpu " + show::thousandths(answered.cpu_milli));
    if (answered.memory_mib > 0) {
        words.push_back("memory " + show::host_memory_words(vgpualloc::to_bytes(vgpualloc::mib{answered.memory_mib})));
    }
    words.push_back(answered.rules.empty() ? std::string{"any node"} : vgpuformats::joined(answered.rules));
    std::string line = fmt::format("{}; priority {}", vgpuformats::joined(words), answered.priority);
    if (!answered.since.empty()) line += "; since " + moment_words(answered.since);
    return line;
}

document reasons_json(const std::vector<node_reasons>& nodes) {
    document list = document::list();
    for (const node_reasons& node : nodes) {
        document checks = document::list();
        for (const failed_check& check : node.checks) {
            checks.push_back(document::map({{"reason", to_string(check.word)},
                                            {"code", vgpualloc::to_string(check.refused.code)},
                                            {"has", check.refused.available},
                                            {"asked", check.refused.wanted},
                                            {"unit", check.refused.unit},
                                            {"text", check.text}}));
        }
        list.push_back(
            document::map({{"node", node.node}, {"reason", to_string(node.word)}, {"checks", std::move(checks)}}));
    }
    return list;
}

document asks_json(const pod_answer& answered) {
    document asks = document::map({{"cpu_milli", answered.cpu_milli}, {"memory_mib", answered.memory_mib}});
    for (const auto& [resource, amount] : answered.asks) asks[resource] = amount;
    return asks;
}

} // namespace

document changes_json(const std::vector<tried_change>& changes, const std::vector<std::string>& inputs) {
    document list = document::list();
    for (const tried_change& change : changes) {
        const std::string command = command_line(change.command, inputs);
        list.push_back(document::map({{"what", change.what},
                                      {"then", change.then.empty() ? document{} : document{change.then}},
                                      {"command", command.empty() ? document{} : document{command}},
                                      {"tried", true}}));
    }
    return list;
}

document counted_json(const std::vector<counted_pod>& counted) {
    document list = document::list();
    for (const counted_pod& entry : counted) {
        list.push_back(document::map({{"pod", entry.name}, {"amount", entry.amount}, {"state", entry.state}}));
    }
    return list;
}

std::string pod_text(const pod_answer& answered, const std::vector<std::string>& inputs) {
    if (!answered.runs_on.empty()) {
        std::string text = printable(fmt::format("{} runs on {}.", answered.name, answered.runs_on)) + "\n";
        add_last_lines(answered.warnings, {}, text);
        return show::with_short_lines(text);
    }
    if (!answered.without_verdict.empty()) {
        const std::string name = answered.kind == "Pod" ? answered.name : answered.name + " (" + answered.kind + ")";
        std::string text = printable(fmt::format("{} {}.", name, answered.without_verdict)) + "\n";
        add_last_lines(answered.warnings, {}, text);
        return show::with_short_lines(text);
    }
    if (answered.makes_no_pods) {
        const show::held_job& job = *answered.makes_no_pods;
        const std::string counted = job.shortage.resource.empty() ? "" : " (" + job.shortage.resource + ")";
        const std::string words = job.why == show::verdict::quota
                                      ? fmt::format("{} ({})", job.because, job.shortage.resource)
                                      : fmt::format("{}: {}", show::to_string(job.why), job.because);
        std::string text = printable(fmt::format("{} ({}) makes no pods, {}.", job.name, job.kind, words)) + "\n";
        add_counted(answered.counted, text);
        add_changes(answered, inputs, text);
        text += fmt::format("asks: {}{}{}\n", show::gpu_words(show::rounded(job.asked, show::tenth)),
                            job.why == show::verdict::queue ? std::string{}
                            : job.lacks > 1                 ? fmt::format(" by each of {} pods", job.lacks)
                                                            : " by each pod",
                            job.since.empty() ? "" : "; since " + printable(moment_words(job.since)));
        add_last_lines(answered.warnings, {}, text);
        return show::with_short_lines(text);
    }
    std::string text = printable(first_sentence(answered)) + "\n";
    add_counted(answered.counted, text);
    add_node_table(answered, text);
    add_changes(answered, inputs, text);
    if (answered.preempts) {
        constexpr std::size_t pieces_max = 3;
        text +=
            printable(fmt::format("kube-scheduler would preempt {} on {}",
                                  show::folded_names(answered.preempts->pods, pieces_max), answered.preempts->node)) +
            "\n";
    }
    text += printable("asks: " + asked_words(answered)) + "\n";
    if (!answered.scheduler_words.empty()) text += printable("kube-scheduler: " + answered.scheduler_words) + "\n";
    add_last_lines(answered.warnings, answered.not_looked_at, text);
    return show::with_short_lines(text);
}

std::string pod_json(const pod_answer& answered, const std::vector<std::string>& inputs) {
    const auto& held = answered.makes_no_pods;
    const bool waits = answered.runs_on.empty() && answered.without_verdict.empty() && !held;
    const auto text_or_null = [](const std::string& text) { return text.empty() ? document{} : document{text}; };
    const bool fits_in_cluster = waits && answered.file.empty() && answered.verdict == show::verdict::fits_now;
    const std::int64_t fits_now = fits_in_cluster ? 1 : answered.fitting;
    document result = document::map(
        {{"schema", "vgpualloc.why/1"},
         {"pod", answered.name},
         {"kind", answered.kind},
         {"file", text_or_null(answered.file)},
         {"pods", answered.pods},
         {"pods_fit_now", fits_now},
         {"runs_on", text_or_null(answered.runs_on)},
         {"verdict", waits  ? document{show::to_string(answered.verdict)}
                     : held ? document{show::to_string(held->why)}
                            : document{}},
         {"because", text_or_null(held                                ? held->because
                                  : !answered.without_verdict.empty() ? answered.without_verdict
                                                                      : answered.because)},
         {"since", text_or_null(held ? held->since : answered.since)},
         {"asked", held ? document{held->asked} : document{}},
         {"lacks", held ? held->lacks : 0},
         {"asks", asks_json(answered)},
         {"rules", document::list_of(answered.rules)},
         {"priority", answered.priority},
         {"reasons", reasons_json(answered.nodes)},
         {"counted", counted_json(answered.counted)},
         {"changes", changes_json(answered.changes, inputs)},
         {"preempts", answered.preempts ? document::map({{"node", answered.preempts->node},
                                                         {"pods", document::list_of(answered.preempts->pods)}})
                                        : document{}},
         {"scheduler_words", text_or_null(answered.scheduler_words)}});
    add_last_members(answered.warnings, answered.not_looked_at, result);
    return vgpuformats::print_json(result, 2) + "\n";
}

} // namespace vgpuops::why
