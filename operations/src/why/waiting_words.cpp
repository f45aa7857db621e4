// Pods that wait, as text and as a document.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "../show/short_lines.hpp"
#include "vgpualloc/explain/words.hpp"
#include "vgpualloc/metrics/round_to_total.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/names.hpp"
#include "vgpuops/show/rounding.hpp"
#include "vgpuops/why/waiting.hpp"
#include "why_words.hpp"

namespace vgpuops::why {

namespace {

/// "4 pods wait, none fits now."
std::string first_sentence(const waiting_answer& answered) {
    const std::string unread = show::unread_words(answered.unread);
    if (answered.pods == 0) return unread.empty() ? "No pod waits." : "No pod waits for GPUs." + unread;
    return show::waiting_words(answered.pods, answered.fitting) + "." + unread;
}

/// What makes no pods counts in no sum of pods.
void add_held_rows(const std::vector<show::held_job>& jobs, std::size_t rows_max, show::printed_table& table) {
    const std::size_t rows = std::min(jobs.size(), rows_max);
    for (std::size_t i = 0; i < rows; ++i) {
        const show::held_job& job = jobs[i];
        table.rows.push_back(
            {.cells = {std::string{show::to_string(job.why)}, "-", tenths_of_gpu(show::rounded(job.asked, show::tenth)),
                       job.name + " " + job.kind, because_words(job), since_words(job.since)}});
    }
    if (rows == jobs.size()) return;
    std::int64_t asked = 0;
    for (std::size_t i = rows; i < jobs.size(); ++i) asked += jobs[i].asked;
    table.rows.push_back({.cells = {fmt::format("{} more", jobs.size() - rows), "-",
                                    tenths_of_gpu(show::rounded(asked, show::tenth)), "make no pods", "", ""}});
}

/// What all groups ask for, in tenths that add up to the last one.
std::vector<std::int64_t> asked_in_tenths(const waiting_answer& answered) {
    std::vector<std::int64_t> asked;
    for (const waiting_group& group : answered.groups) asked.push_back(group.asked_milli);
    return in_tenths(std::move(asked));
}

document held_rows_json(const std::vector<show::held_job>& jobs) {
    document list = document::list();
    for (const show::held_job& job : jobs) {
        list.push_back(document::map({{"name", job.name},
                                      {"kind", job.kind},
                                      {"verdict", show::to_string(job.why)},
                                      {"asked", job.asked},
                                      {"pods", job.pods},
                                      {"lacks", job.lacks},
                                      {"because", because_words(job)},
                                      {"since", job.since.empty() ? document{} : document{job.since}}}));
    }
    return list;
}

} // namespace

std::string since_words(const std::string& moment) {
    if (moment.empty()) return "-";
    const bool is_utc = moment.size() == 20 && moment[4] == '-' && moment[10] == 'T' && moment.back() == 'Z';
    return is_utc ? moment.substr(5, 5) + " " + moment.substr(11, 5) + "Z" : moment;
}

std::string command_line(const std::vector<std::string>& command, const std::vector<std::string>& inputs) {
    if (command.empty()) return {};
    std::string result = "vgpusim " + command.front();
    for (const std::string& input : inputs) result += " " + vgpuformats::shell_word(input);
    for (std::size_t i = 1; i < command.size(); ++i) result += " " + vgpuformats::shell_word(command[i]);
    return result;
}

std::vector<std::int64_t> in_tenths(std::vector<std::int64_t> milli) {
    const std::int64_t total = show::rounded(std::accumulate(milli.begin(), milli.end(), std::int64_t{0}), show::tenth);
    vgpualloc::round_to_total(std::span<const std::int64_t>{milli}, show::tenth, total, milli);
    milli.push_back(total);
    return milli;
}

std::string tenths_of_gpu(std::int64_t milli) { return fmt::format("{}.{}", milli / 1000, milli % 1000 / show::tenth); }

void add_last_lines(const std::vector<error>& warnings, const std::vector<std::string>& not_looked_at,
                    std::string& text) {
    for (const std::string& line : explaining::warning_lines(warnings)) text += "warning: " + line + "\n";
    std::string rules;
    for (const std::string& rule : not_looked_at) rules += (rules.empty() ? "" : "; ") + rule;
    if (!rules.empty()) text += "not looked at: " + printable(rules) + "\n";
}

void add_last_members(const std::vector<error>& warnings, const std::vector<std::string>& not_looked_at, document& to) {
    to["not_looked_at"] = document::list_of(not_looked_at);
    document problems = document::list();
    for (const error& problem : warnings) problems.push_back(problem.message());
    to["warnings"] = std::move(problems);
}

std::string waiting_sentence(const waiting_answer& answered) {
    std::string text = first_sentence(answered);
    if (!answered.makes_no_pods.empty()) text += fmt::format(" {}.", show::held_words(answered.makes_no_pods));
    return text;
}

show::printed_table waiting_table(const waiting_answer& answered, const waiting_options& options) {
    if (answered.pods == 0 && answered.makes_no_pods.empty()) return {};
    const std::vector<std::int64_t> asked = asked_in_tenths(answered);
    show::printed_table table{
        .columns = {{"VERDICT"}, {"PODS", true}, {"GPUS", true, true}, {"WHO"}, {"BECAUSE"}, {"SINCE"}}};
    std::int64_t pods_more = answered.pods;
    std::int64_t asked_more = asked.back();
    const std::size_t rows = std::min(answered.groups.size(), options.rows_max);
    for (std::size_t i = 0; i < rows; ++i) {
        const waiting_group& group = answered.groups[i];
        const std::int64_t pods = std::ssize(group.names);
        table.rows.push_back(
            {.cells = {std::string{show::to_string(group.verdict)}, std::to_string(pods), tenths_of_gpu(asked[i]),
                       show::folded_names(group.names, options.names_max), group.because, since_words(group.since)}});
        pods_more -= pods;
        asked_more -= asked[i];
    }
    if (rows < answered.groups.size()) {
        table.rows.push_back({.cells = {fmt::format("{} more", answered.groups.size() - rows),
                                        std::to_string(pods_more), tenths_of_gpu(asked_more), "", "", ""}});
    }
    table.rows.push_back(
        {.cells = {"TOTAL", std::to_string(answered.pods), tenths_of_gpu(asked.back()), "", "", ""}, .is_sum = true});
    add_held_rows(answered.makes_no_pods, options.rows_max, table);
    return table;
}

std::string waiting_text(const waiting_answer& answered, bool lists_all) {
    std::string text = waiting_sentence(answered) + "\n";
    constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
    const show::printed_table table = waiting_table(
        answered, lists_all ? waiting_options{.rows_max = no_limit, .names_max = no_limit} : waiting_options{});
    if (!table.rows.empty()) text += show::text_of(table);
    add_last_lines(answered.warnings, answered.not_looked_at, text);
    return show::with_short_lines(text);
}

document groups_json(const std::vector<waiting_group>& groups) {
    document list = document::list();
    for (const waiting_group& group : groups) {
        list.push_back(document::map({{"verdict", show::to_string(group.verdict)},
                                      {"pods", document::list_of(group.names)},
                                      {"asked", group.asked_milli},
                                      {"because", group.because},
                                      {"since", group.since.empty() ? document{} : document{group.since}}}));
    }
    return list;
}

std::string waiting_json(const waiting_answer& answered) {
    document result = document::map({{"schema", "vgpualloc.why/1"},
                                     {"pods_wait", answered.pods},
                                     {"pods_fit_now", answered.fitting},
                                     {"pods_wait_unread", answered.unread},
                                     {"groups", groups_json(answered.groups)},
                                     {"makes_no_pods", held_rows_json(answered.makes_no_pods)}});
    add_last_members(answered.warnings, answered.not_looked_at, result);
    return vgpuformats::print_json(result, 2) + "\n";
}

} // namespace vgpuops::why
