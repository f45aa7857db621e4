// Replays of decision logs in words.
#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "vgpualloc/version.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/decisions/answer.hpp"

namespace vgpuops::decisions {

namespace {

constexpr std::size_t differences_shown_max = 20;

/// Names and texts are somebody else's: each line is made one that a terminal may show.
void add_line(std::string& text, std::string_view line) { text += printable(line) + "\n"; }

std::string count_of(std::int64_t count, std::string_view one, std::string_view several) {
    return fmt::format("{} {}", count, count == 1 ? one : several);
}

/// "hami_core 12, mig 3".
std::string list_of(const std::map<std::string, std::int64_t>& counts) {
    const auto counted = [](const auto& entry) {
        return fmt::format("{} {}", entry.first.empty() ? "(no name)" : entry.first, entry.second);
    };
    return counts.empty() ? "none" : vgpuformats::joined(counts, counted);
}

std::string words_of(const difference& entry) {
    constexpr std::size_t value_shown_max = 200;
    const auto shown = [](const std::string& value) {
        const std::string_view beginning = vgpualloc::beginning_of(value, value_shown_max);
        return fmt::format("{}{}", beginning, beginning.size() < value.size() ? "…" : "");
    };
    return fmt::format("line {}{}{}: {}{}{}: logged {}, replayed {}", entry.line, entry.pod.empty() ? "" : ", pod ",
                       entry.pod, to_string(entry.kind), entry.annotation.empty() ? "" : " ", entry.annotation,
                       shown(entry.logged), shown(entry.replayed));
}

void add_log(const replay_answer& answered, std::string& text) {
    const log_figures& figures = answered.figures;
    add_line(text, fmt::format("{}: {}, {}", answered.log, count_of(figures.events, "event", "events"),
                               count_of(figures.starts, "start", "starts")));
    add_line(text, fmt::format("  {}, {} with several nodes equally good, {} without devices; {}",
                               count_of(figures.decisions, "decision", "decisions"), figures.ties,
                               figures.without_devices, count_of(figures.refusals, "refusal", "refusals")));
    add_line(text, "  decisions by dialect: " + list_of(figures.dialects));
    add_line(text, "  parts by mode: " + list_of(figures.modes));
    add_line(text, "  parts by model: " + list_of(figures.models));
    for (const std::string& note : answered.notes) add_line(text, "  note: " + note);
}

void add_differences(const replay_answer& answered, std::string& text) {
    const auto& all = answered.differences;
    for (std::size_t i = 0; i < std::min(all.size(), differences_shown_max); ++i) {
        add_line(text, "  " + words_of(all[i]));
    }
    if (all.size() > differences_shown_max) {
        add_line(text, fmt::format("  … and {} more", all.size() - differences_shown_max));
    }
    add_line(text, count_of(static_cast<std::int64_t>(all.size()), "difference", "differences"));
}

std::string share_words(double part, std::int64_t whole) {
    return fmt::format("{:.0f} milli-GPU ({:.1f} %)", part,
                       whole == 0 ? 0.0 : 100.0 * part / static_cast<double>(whole));
}

void add_what_if(const what_if_answer& answered, std::string& text) {
    const auto row = [&text](const char* name, const std::string& live, const std::string& replay) {
        add_line(text, fmt::format("  {:<26}{:>26}{:>26}", name, live, replay));
    };
    const auto number_row = [&](const char* name, std::int64_t live, std::int64_t replay) {
        row(name, std::to_string(live), std::to_string(replay));
    };
    const side& live = answered.live;
    const side& replay = answered.replay;
    const auto policy = [](const side& of) {
        return of.device_policy.empty() ? of.policy : of.policy + " / " + of.device_policy;
    };
    row("", "live", "replay");
    row("policy", policy(live), policy(replay));
    number_row("pods placed", live.placed, replay.placed);
    number_row("pods that waited", live.waited, replay.waited);
    number_row("pods waiting at the end", live.waiting, replay.waiting);
    number_row("pods running at the end", live.at_end.pods, replay.at_end.pods);
    const auto allocated = [](const side& of) {
        return share_words(static_cast<double>(of.at_end.allocated_milli), of.at_end.total_milli());
    };
    row("allocated at the end", allocated(live), allocated(replay));
    const auto unusable = [](const side& of) {
        if (!of.at_end.unusable_milli) return std::string{"not known"};
        return share_words(*of.at_end.unusable_milli, of.at_end.idle_milli());
    };
    row("of idle unusable", unusable(live), unusable(replay));
    number_row("devices overcommitted", live.at_end.overcommitted, replay.at_end.overcommitted);
    add_line(text, fmt::format("{} on another node than live", count_of(answered.on_another_node, "pod", "pods")));
}

document difference_document(const difference& entry) {
    document result = document::map({{"line", entry.line}, {"pod", entry.pod}, {"what", to_string(entry.kind)}});
    if (!entry.annotation.empty()) result["annotation"] = entry.annotation;
    result["logged"] = entry.logged;
    result["replayed"] = entry.replayed;
    return result;
}

document side_document(const side& entry) {
    const cluster_figures& figures = entry.at_end;
    document at_end = document::map({{"nodes", figures.nodes},
                                     {"devices", figures.devices},
                                     {"pods", figures.pods},
                                     {"total_milli", figures.total_milli()},
                                     {"allocated_milli", figures.allocated_milli},
                                     {"unusable_milli", document{}},
                                     {"overcommitted_devices", figures.overcommitted}});
    if (figures.unusable_milli) at_end["unusable_milli"] = *figures.unusable_milli;
    const std::string& device_policy = entry.device_policy.empty() ? entry.policy : entry.device_policy;
    return document::map({{"policy", entry.policy},
                          {"device_policy", device_policy},
                          {"pods_placed", entry.placed},
                          {"pods_waited", entry.waited},
                          {"pods_waiting", entry.waiting},
                          {"at_end", std::move(at_end)}});
}

document fate_document(const pod_fate& fate) {
    return document::map(
        {{"uid", fate.uid},
         {"pod", fate.pod},
         {"live",
          document::map({{"node", fate.live_node}, {"waited", fate.live_waited}, {"waiting", fate.live_waiting}})},
         {"replay", document::map({{"node", fate.node},
                                   {"waited", fate.waited},
                                   {"waiting", fate.waiting},
                                   {"annotations", document::map_of(fate.annotations)}})}});
}

} // namespace

std::string answer_text(const replay_answer& answered) {
    std::string text;
    add_log(answered, text);
    if (answered.what_if) {
        add_what_if(*answered.what_if, text);
    } else {
        add_differences(answered, text);
    }
    return text;
}

std::string answer_json(const replay_answer& answered) {
    const log_figures& figures = answered.figures;
    document root = document::map({{"version", vgpualloc::version},
                                   {"log", answered.log},
                                   {"mode", answered.what_if ? "what_if" : "verify"},
                                   {"events", figures.events},
                                   {"starts", figures.starts},
                                   {"decisions", figures.decisions},
                                   {"ties", figures.ties},
                                   {"without_devices", figures.without_devices},
                                   {"refusals", figures.refusals},
                                   {"dialects", document::map_of(figures.dialects)},
                                   {"modes", document::map_of(figures.modes)},
                                   {"models", document::map_of(figures.models)},
                                   {"notes", document::list_of(answered.notes)}});
    document differences = document::list();
    for (const difference& entry : answered.differences) differences.push_back(difference_document(entry));
    root["differences"] = std::move(differences);
    if (answered.what_if) {
        root["live"] = side_document(answered.what_if->live);
        root["replay"] = side_document(answered.what_if->replay);
        root["on_another_node"] = answered.what_if->on_another_node;
    }
    return vgpuformats::print_json(root, 2) + "\n";
}

std::string differences_jsonl(const replay_answer& answered) {
    std::string text;
    for (const difference& entry : answered.differences) {
        text += vgpuformats::print_json(difference_document(entry)) + "\n";
    }
    return text;
}

std::string pods_jsonl(const what_if_answer& answered) {
    std::string text;
    for (const pod_fate& fate : answered.pods) text += vgpuformats::print_json(fate_document(fate)) + "\n";
    return text;
}

} // namespace vgpuops::decisions
