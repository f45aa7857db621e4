// Answers in words.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "../show/overview_tables.hpp"
#include "../show/short_lines.hpp"
#include "../why/why_words.hpp"
#include "answer_parts.hpp"
#include "placement_words.hpp"
#include "vgpuops/show/names.hpp"
#include "vgpuops/whatif/idle_words.hpp"

namespace vgpuops::whatif {

namespace {

constexpr std::size_t lines_shown = 10; ///< of never, and names of pods

/// "1 node", "2 nodes".
std::string nodes_words(std::int64_t nodes) { return show::several(nodes, "node"); }

std::string pods_words(std::int64_t pods) { return show::several(pods, "pod"); }

std::string percent(std::int64_t part, std::int64_t whole) {
    const double ratio = whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
    return fmt::format("{:.1f} %", ratio);
}

/// What the comparison has no lines for: hosts, and what is idle by cause.
void add_figures(const answer& answered, std::string& text) {
    const auto share = [&](const char* name, std::int64_t cluster_figures::* part,
                           std::int64_t cluster_figures::* whole) {
        text += before_after_line(name, percent(answered.before.*part, answered.before.*whole),
                                  percent(answered.after.*part, answered.after.*whole));
    };
    const auto count = [&](const char* name, std::int64_t cluster_figures::* figure) {
        text +=
            before_after_line(name, std::to_string(answered.before.*figure), std::to_string(answered.after.*figure));
    };
    text += "\n" + before_after_line("", "before", "after");
    count("nodes", &cluster_figures::nodes);
    count("GPUs with anything used", &cluster_figures::devices_used);
    share("GPU memory used", &cluster_figures::memory_used_mib, &cluster_figures::memory_mib);
    share("host CPU used", &cluster_figures::cpu_used_milli, &cluster_figures::cpu_milli);
    text += idle_table(answered.before.idle, answered.after.idle);
}

/// Of a name that stands for several pods, how many of them a quota holds back.
std::string held_name(const pod_answer& entry) {
    const std::string name = entry.asked.pod.full_name();
    return entry.asked.wanted() == 1 ? name : fmt::format("{} of {}", pods_words(entry.asked.held), name);
}

/// Pods of which the same is said, a line for each such sentence.
class pods_by_words {
public:
    void add(const char* label, const std::string& words, std::string name) {
        const auto [position, is_new] = positions_.try_emplace({label, words}, rows_.size());
        if (is_new) rows_.push_back({.label = label, .words = words});
        rows_[position->second].names.push_back(std::move(name));
    }

    void add_lines(bool lists_all, std::string& text) {
        constexpr std::size_t pieces_shown = 3;
        const std::size_t shown = lists_all ? rows_.size() : std::min(rows_.size(), lines_shown);
        std::size_t names_left = 0;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            row& entry = rows_[i];
            if (i >= shown) {
                names_left += entry.names.size();
                continue;
            }
            std::ranges::sort(entry.names);
            const std::size_t pieces = lists_all ? entry.names.size() : pieces_shown;
            add_line(text, fmt::format("  {:<19}  {}: {}", entry.label, show::folded_names(entry.names, pieces),
                                       entry.words));
        }
        if (names_left > 0) add_line(text, fmt::format("  and {} more like these (--all)", names_left));
    }

private:
    struct row {
        std::string label{};
        std::string words{};
        std::vector<std::string> names{};
    };
    std::map<std::pair<std::string, std::string>, std::size_t> positions_;
    std::vector<row> rows_; ///< in the order found
};

void add_kind(const answer& answered, bool lists_all, std::string& text) {
    const kind_answer& kind = *answered.kind;
    const auto names = [&](const std::vector<std::size_t>& positions) {
        const std::size_t names_shown = lists_all ? positions.size() : lines_shown;
        std::string list;
        for (std::size_t i = 0; i < std::min(positions.size(), names_shown); ++i) {
            list += (list.empty() ? "" : ", ") + answered.pods[positions[i]].asked.pod.full_name();
        }
        if (positions.size() > names_shown) list += fmt::format(" and {} more", positions.size() - names_shown);
        return list;
    };
    const auto count = [&](const std::vector<std::size_t>& positions) {
        std::int64_t pods = 0;
        for (const std::size_t i : positions) pods += answered.pods[i].asked.count;
        return pods;
    };
    const nodes_found& search = kind.found;
    if (!search.nodes) {
        add_line(text, fmt::format("no number of nodes like {} that was tried is enough", kind.kind));
    } else if (*search.nodes == 0 && search.never.empty() && search.most.empty()) {
        const auto is_held = [](const pod_answer& entry) { return entry.asked.unreadable || entry.asked.held > 0; };
        const std::ptrdiff_t held = std::ranges::count_if(answered.pods, is_held);
        const bool are_others = held < std::ssize(answered.pods);
        add_line(text, held > 0 && !are_others
                           ? fmt::format("nodes like {} help no pod: all that wait are held back", kind.kind)
                           : fmt::format("no more nodes like {} are needed: all{} fit", kind.kind,
                                         held > 0 ? " others" : ""));
    } else if (*search.nodes == 0) {
        add_line(text, fmt::format("nodes like {} help no pod that does not fit without them", kind.kind));
    } else {
        const std::string at_least = search.least > 0 ? fmt::format(", at least {}", search.least) : "";
        const std::string how =
            search.is_exact      ? "exact"
            : search.is_proved() ? "proved"
                                 : fmt::format("heuristic: one pass of {}; fewer may do{}", answered.policy, at_least);
        const std::int64_t pods = count(search.helped);
        add_line(text, fmt::format("{} like {} {} enough for the {} that {} can help, {}; {} {} not ({})",
                                   nodes_words(*search.nodes), kind.kind, *search.nodes == 1 ? "is" : "are",
                                   pods_words(pods), *search.nodes == 1 ? "it" : "they", names(search.helped),
                                   *search.nodes - 1, *search.nodes == 2 ? "is" : "are", how));
    }
    pods_by_words set_apart;
    for (std::size_t i = 0; i < kind.never.size(); ++i) {
        const pod_without_help& without_help = kind.never_words[i];
        set_apart.add(without_help.fits_alone ? "never, on this kind" : "never, as it is", without_help.words,
                      answered.pods[search.never[i]].asked.pod.full_name());
    }
    set_apart.add_lines(lists_all, text);
    if (!search.most.empty()) {
        add_line(text, fmt::format("  not with {} either   {}", search.nodes_max, names(search.most)));
    }
    pods_by_words held_back;
    std::size_t unreadable = 0;
    for (const pod_answer& entry : answered.pods) {
        if (entry.asked.unreadable) {
            held_back.add("held back", kind.held_words[unreadable++].words, entry.asked.pod.full_name());
        } else if (entry.asked.held > 0) {
            held_back.add("held back", words_of(*entry.asked.short_of), held_name(entry));
        }
    }
    held_back.add_lines(lists_all, text);
    if (lists_all) {
        text += "  tried:";
        for (const nodes_try& entry : kind.found.tries) {
            text += fmt::format(" {} ({} not placed)", entry.nodes, entry.refused);
        }
        text += "\n";
    }
    text += "\n";
}

/// What a node has and a pod wants, with the word that people have for it.
std::string refusal_words(const explaining::refusing_nodes& refused) {
    std::string words = explaining::words_of(refused.closest) + explaining::also_words(refused.also);
    constexpr std::string_view former = ", available ";
    for (std::size_t at = words.find(former); at != std::string::npos; at = words.find(former, at)) {
        words.replace(at, former.size(), ", free ");
    }
    return words;
}

std::string class_lines(const std::vector<explaining::refusing_nodes>& classes) {
    std::string lines;
    for (const explaining::refusing_nodes& refused : classes) {
        add_line(lines, fmt::format("    {} of {}: {}{}", nodes_words(refused.nodes), refused.nodes_are,
                                    refusal_words(refused),
                                    refused.nodes > 1 && refused.closest.wanted > 0
                                        ? " (" + refused.node + ", which comes closest)"
                                        : ""));
    }
    return lines;
}

/// Why pods find no place: the scheduler's words, and nodes by what they refuse for. Pods with the same answer are
/// named together.
void add_refusals(const answer& answered, std::string& text) {
    std::vector<std::pair<std::string, std::vector<std::string>>> reasons; // with the names of pods
    std::map<std::string, std::size_t> positions;
    const auto add = [&](std::string reason, std::string name) {
        const auto [position, is_new] = positions.try_emplace(reason, reasons.size());
        if (is_new) reasons.emplace_back(std::move(reason), std::vector<std::string>{});
        reasons[position->second].second.push_back(std::move(name));
    };
    for (const pod_answer& entry : answered.pods) {
        if (entry.asked.held > 0) {
            std::string reason;
            add_line(reason, fmt::format("{}: {}", holder_of(*entry.asked.short_of), words_of(*entry.asked.short_of)));
            add(std::move(reason), held_name(entry));
        }
        if (entry.refused == 0) continue;
        std::string reason;
        add_line(reason, why_words(entry));
        const std::string name = entry.asked.pod.full_name();
        add(reason + class_lines(entry.classes),
            entry.asked.wanted() == 1 ? name : fmt::format("{} of {}", pods_words(entry.refused), name));
    }
    if (!reasons.empty()) text += "\nwhy not, each at its turn:\n";
    for (const auto& [reason, names] : reasons) {
        text += "  " + printable(show::folded_names(names, names.size())) + ": " + reason;
    }
}

/// What a policy makes of the cluster if all pods that may move had just come.
void add_anew(const answer& answered, std::string& text) {
    std::vector<std::string> started;
    std::vector<std::string> elsewhere;
    std::vector<std::string> lost;
    for (const pod_answer& entry : answered.pods) {
        if (!entry.has_devices) continue;
        const std::string name = entry.asked.pod.full_name();
        const bool is_lost = fate_of_refused(entry) == pod_fate::stops && entry.refused > 0;
        if (is_lost) lost.push_back(name);
        for (const auto& where : entry.placed) {
            const pod_fate fate = fate_on(answered, entry, where.node);
            if (fate == pod_fate::starts) started.push_back(name);
            if (fate == pod_fate::moves || fate == pod_fate::restarts) elsewhere.push_back(name);
        }
    }
    constexpr std::size_t pieces_max = 10;
    const auto names = [](std::vector<std::string> all) {
        std::ranges::sort(all);
        return show::folded_names(all, pieces_max);
    };
    const auto more = std::ssize(started) - std::ssize(lost);
    std::string line =
        fmt::format("Placed anew, {} {} {}{}, {} would stand elsewhere{}", pods_words(std::abs(more)),
                    more < 0 ? "fewer" : "more", std::abs(more) == 1 ? "runs" : "run",
                    started.empty() ? "" : fmt::format(" ({}{})", lost.empty() ? "" : "new: ", names(started)),
                    elsewhere.size(), elsewhere.empty() ? "" : ": " + names(elsewhere));
    if (elsewhere.empty() && answered.kept_bare > 0) {
        line += fmt::format(" ({} that {} no controller {} where {})", pods_words(answered.kept_bare),
                            answered.kept_bare == 1 ? "has" : "have", answered.kept_bare == 1 ? "stays" : "stay",
                            answered.kept_bare == 1 ? "it is" : "they are");
    }
    if (!lost.empty()) {
        line +=
            fmt::format("; {} would lose {} place: {}", lost.size(), lost.size() == 1 ? "its" : "their", names(lost));
    }
    add_line(text, line + ".");
    const show::three_parts before = show::in_tenths(answered.view_before.seen).total;
    const show::three_parts after = show::in_tenths(answered.view_after.seen).total;
    add_line(text, fmt::format("used {} -> {} of {}.0, free {}, out of service {}. Not a plan: see vgpusim plan.",
                               show::gpus(before[0]), show::gpus(after[0]), answered.view_after.seen.gpus,
                               show::gpus(after[1]), show::gpus(after[2])));
    text += "\n";
}

} // namespace

std::string why_words(const pod_answer& entry) {
    std::string words = entry.why;
    if (entry.gang_fitting >= 0) {
        words = fmt::format("its gang {} starts together or not at all, and {} of its pods fit{}{}", entry.asked.gang,
                            entry.gang_fitting, words.empty() ? "" : ": ", words);
    }
    return words;
}

std::string answer_text(const answer& answered, bool lists_all) {
    std::string text;
    if (answered.kind) add_kind(answered, lists_all, text);
    if (answered.is_anew) add_anew(answered, text);
    add_line(text, count_line(count_fates(answered)));
    add_changes(answered, lists_all, text);
    if (!answered.not_evicted.empty()) {
        add_line(text, "  not evicted, so kubectl drain waits for ever: " + kept_words(answered.not_evicted));
    }
    add_comparison(answered, lists_all, text);
    if (lists_all) {
        add_figures(answered, text);
        add_refusals(answered, text);
        text += "\n";
        const bool is_one_policy = answered.device_policy == answered.policy;
        add_line(text, fmt::format("placed by {}{}", answered.policy,
                                   is_one_policy ? "" : ", devices by " + answered.device_policy));
    }
    why::add_last_lines(answered.warnings, answered.not_considered, text);
    return show::with_short_lines(text);
}

} // namespace vgpuops::whatif
