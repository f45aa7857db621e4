// Pods of one owner, as text and as a document.
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "../show/overview_tables.hpp"
#include "../show/short_lines.hpp"
#include "../show/text_columns.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuops/show/names.hpp"
#include "vgpuops/why/owner.hpp"
#include "why_words.hpp"

namespace vgpuops::why {

namespace {

constexpr std::size_t owner_rows_max = 10; // rows of pods that wait
constexpr std::size_t nodes_named = 3;

/// "4 pods run, 1 waits: all used."
std::string owner_sentence(const owner_answer& answered) {
    const std::size_t run = answered.running.names.size();
    const std::int64_t wait = answered.waiting.pods;
    std::string words =
        fmt::format("{} ({}): {} {}", answered.name, answered.kind,
                    show::several(std::ssize(answered.running.names), "pod"), run == 1 ? "runs" : "run");
    std::string not_made;
    if (answered.not_made) {
        const show::held_job& held = *answered.not_made;
        const std::string counted = held.shortage.resource.empty() ? "" : fmt::format(" ({})", held.shortage.resource);
        const std::string never = held.why == show::verdict::never ? "never: " : "";
        not_made = fmt::format(" {} more {} not made: {}{}{}.", held.lacks, held.lacks == 1 ? "is" : "are", never,
                               held.because, counted);
    }
    if (wait == 0) return words + ", none waits." + not_made;
    words += fmt::format(", {} {}", wait, wait == 1 ? "waits" : "wait");
    std::map<show::verdict, std::int64_t> pods;
    for (const waiting_group& group : answered.waiting.groups) pods[group.verdict] += std::ssize(group.names);
    std::string verdicts;
    for (const auto& [verdict, count] : pods) {
        verdicts += verdicts.empty() ? ": " : ", ";
        verdicts += pods.size() == 1 ? std::string{show::to_string(verdict)}
                                     : fmt::format("{} {}", count, show::to_string(verdict));
    }
    return words + verdicts + "." + not_made;
}

} // namespace

std::string owner_text(const owner_answer& answered, const std::vector<std::string>& inputs) {
    std::string text = printable(owner_sentence(answered)) + "\n";
    add_counted(answered.counted, text);
    const waiting_answer& waiting = answered.waiting;
    std::vector<std::int64_t> milli{answered.running.used_milli};
    for (const waiting_group& group : waiting.groups) milli.push_back(group.asked_milli);
    const std::vector<std::int64_t> tenths = in_tenths(std::move(milli));
    show::text_columns table{{{"VERDICT"}, {"PODS", true}, {"GPUS", true, true}, {"WHO"}, {"BECAUSE"}, {"SINCE"}}};
    if (!answered.running.names.empty()) {
        table.add({"runs", std::to_string(answered.running.names.size()), tenths_of_gpu(tenths.front()),
                   show::folded_names(answered.running.names, 1),
                   "on " + show::folded_names(answered.running.nodes, nodes_named), ""});
    }
    const std::size_t rows = std::min(waiting.groups.size(), owner_rows_max);
    std::int64_t pods_more = waiting.pods;
    std::int64_t asked_more = tenths.back() - tenths.front();
    for (std::size_t i = 0; i < rows; ++i) {
        const waiting_group& group = waiting.groups[i];
        table.add({std::string{show::to_string(group.verdict)}, std::to_string(group.names.size()),
                   tenths_of_gpu(tenths[i + 1]), show::folded_names(group.names, 1), group.because,
                   since_words(group.since)});
        pods_more -= std::ssize(group.names);
        asked_more -= tenths[i + 1];
    }
    if (rows < waiting.groups.size()) {
        table.add({fmt::format("{} more", waiting.groups.size() - rows), std::to_string(pods_more),
                   tenths_of_gpu(asked_more), "", "", ""});
    }
    const std::int64_t pods = std::ssize(answered.running.names) + waiting.pods;
    table.add({"TOTAL", std::to_string(pods), tenths_of_gpu(tenths.back()), "", "", ""});
    text += table.text();
    const auto waits = std::ranges::find_if(
        waiting.groups, [](const waiting_group& group) { return group.verdict != show::verdict::fits_now; });
    if (waits != waiting.groups.end()) {
        text += printable("would fit if: " + command_line({"why", "--pod", waits->names.front()}, inputs)) + "\n";
    }
    if (!answered.changes.empty()) {
        text += "one more would be made if (each alone, each was tried)\n";
        add_change_lines(answered.changes, inputs, text);
    }
    add_last_lines(waiting.warnings, waiting.not_looked_at, text);
    return show::with_short_lines(text);
}

std::string owner_json(const owner_answer& answered) {
    const auto& held = answered.not_made;
    document result = document::map({{"schema", "vgpualloc.why/1"},
                                     {"owner", answered.name},
                                     {"kind", answered.kind},
                                     {"running", document::map({{"pods", document::list_of(answered.running.names)},
                                                                {"nodes", document::list_of(answered.running.nodes)},
                                                                {"used", answered.running.used_milli}})},
                                     {"pods_wait", answered.waiting.pods},
                                     {"pods_fit_now", answered.waiting.fitting},
                                     {"groups", groups_json(answered.waiting.groups)},
                                     {"not_made", held ? document::map({{"pods", held->lacks},
                                                                        {"verdict", show::to_string(held->why)},
                                                                        {"because", held->because},
                                                                        {"asked", held->asked}})
                                                       : document{}},
                                     {"counted", counted_json(answered.counted)},
                                     {"changes", changes_json(answered.changes, {})}});
    add_last_members(answered.waiting.warnings, answered.waiting.not_looked_at, result);
    return vgpuformats::print_json(result, 2) + "\n";
}

} // namespace vgpuops::why
