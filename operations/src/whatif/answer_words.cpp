// Answers in words.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "../show/overview_tables.hpp"
#include "placement_words.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuops/show/names.hpp"
#include "vgpuops/whatif/answer.hpp"
#include "vgpuops/whatif/idle_words.hpp"

namespace vgpuops::whatif {

namespace {

/// "1 node", "2 nodes".
std::string nodes_words(std::int64_t nodes) { return fmt::format("{} {}", nodes, nodes == 1 ? "node" : "nodes"); }

std::string pods_words(std::int64_t pods) { return fmt::format("{} {}", pods, pods == 1 ? "pod" : "pods"); }

std::string percent(std::int64_t part, std::int64_t whole) {
    const double ratio = whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
    return fmt::format("{:.1f} %", ratio);
}

/// Whether a pod stands on the node again that it was on.
bool is_back(const pod_answer& entry) {
    return entry.asked.origin == pod_origin::evicted && entry.placed.size() == 1 &&
           entry.placed.front().node == entry.asked.from;
}

std::string name_of(const pod_answer& entry, std::size_t replica) {
    const auto& asked = entry.asked;
    const bool is_one = asked.count == 1 && !asked.one_per_node;
    return asked.pod.full_name() + (is_one ? "" : fmt::format(" #{}", replica + 1));
}

std::string why_words(const pod_answer& entry) {
    std::string words = entry.why;
    if (entry.gang_fitting >= 0) {
        words = fmt::format("its gang {} starts together or not at all, and {} of its pods fit{}{}", entry.asked.gang,
                            entry.gang_fitting, words.empty() ? "" : ": ", words);
    }
    return words;
}

void add_figures(const answer& answered, std::string& text) {
    const auto row = [&text](const char* name, const std::string& before, const std::string& after) {
        text += before_after_line(name, before, after);
    };
    const auto count = [&](const char* name, std::int64_t cluster_figures::* figure) {
        row(name, std::to_string(answered.before.*figure), std::to_string(answered.after.*figure));
    };
    const auto share = [&](const char* name, auto part, auto whole) {
        row(name, percent(part(answered.before), whole(answered.before)),
            percent(part(answered.after), whole(answered.after)));
    };
    text += "\n";
    row("", "before", "after");
    count("nodes", &cluster_figures::nodes);
    count("devices", &cluster_figures::devices);
    count("  out of service", &cluster_figures::out_of_service);
    const auto count_if_any = [&](const char* name, std::int64_t cluster_figures::* figure) {
        if (answered.before.*figure > 0 || answered.after.*figure > 0) count(name, figure);
    };
    count_if_any("    on nodes not ready", &cluster_figures::on_nodes_not_ready);
    count_if_any("    on cordoned nodes", &cluster_figures::on_cordoned_nodes);
    count("  with anything used", &cluster_figures::devices_used);
    count("pods that run", &cluster_figures::pods);
    using figures = cluster_figures;
    share(
        "devices allocated", [](const figures& of) { return of.allocated_milli; },
        [](const figures& of) { return of.total_milli(); });
    share(
        "device memory allocated", [](const figures& of) { return of.memory_used_mib; },
        [](const figures& of) { return of.memory_mib; });
    share(
        "host CPU allocated", [](const figures& of) { return of.cpu_used_milli; },
        [](const figures& of) { return of.cpu_milli; });
    share(
        "fragmentation of idle", [](const figures& of) { return of.fragmentation_milli; },
        [](const figures& of) { return of.idle_milli(); });
    share(
        "  for want of host CPU", [](const figures& of) { return of.stranded_milli; },
        [](const figures& of) { return of.idle_milli(); });
    text += idle_table(answered.before.idle, answered.after.idle);
}

void add_kind(const answer& answered, std::string& text) {
    const kind_answer& kind = *answered.kind;
    const auto names = [&](const std::vector<std::size_t>& positions) {
        constexpr std::size_t names_shown = 10;
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
    text += "\n";
    if (!search.nodes) {
        add_line(text, fmt::format("no number of nodes like {} that was tried is enough", kind.kind));
    } else if (*search.nodes == 0 && search.never.empty() && search.most.empty()) {
        add_line(text, fmt::format("no more nodes like {} are needed: all fit", kind.kind));
    } else if (*search.nodes == 0) {
        add_line(text, fmt::format("nodes like {} help no pod that does not fit without them", kind.kind));
    } else {
        const std::string at_least = search.least > 0 ? fmt::format(", at least {}", search.least) : "";
        const std::string how =
            search.is_proved() ? "proved"
                               : fmt::format("heuristic: one pass of {}; fewer may do{}", answered.policy, at_least);
        const std::int64_t pods = count(search.helped);
        add_line(text, fmt::format("{} like {} {} enough for the {} that {} can help, {}; {} {} not ({})",
                                   nodes_words(*search.nodes), kind.kind, *search.nodes == 1 ? "is" : "are",
                                   pods_words(pods), *search.nodes == 1 ? "it" : "they", names(search.helped),
                                   *search.nodes - 1, *search.nodes == 2 ? "is" : "are", how));
    }
    constexpr std::size_t lines_shown = 10;
    for (std::size_t i = 0; i < std::min(kind.never.size(), lines_shown); ++i) {
        add_line(text, fmt::format("  never, on this kind  {}: {}",
                                   answered.pods[search.never[i]].asked.pod.full_name(), kind.never[i]));
    }
    if (kind.never.size() > lines_shown) {
        add_line(text, fmt::format("  and {} more never, on this kind (--json)", kind.never.size() - lines_shown));
    }
    if (!search.most.empty()) {
        add_line(text, fmt::format("  not with {} either   {}", search.nodes_max, names(search.most)));
    }
    for (const pod_answer& entry : answered.pods) {
        if (entry.asked.unreadable) {
            add_line(text, fmt::format("  held back            {}: {}", entry.asked.pod.full_name(), entry.why));
        }
    }
    text += "  tried:";
    for (const nodes_try& entry : kind.found.tries) {
        text += fmt::format(" {} ({} not placed)", entry.nodes, entry.refused);
    }
    text += "\n";
}

std::string class_lines(const std::vector<explaining::refusing_nodes>& classes) {
    std::string lines;
    for (const explaining::refusing_nodes& refused : classes) {
        add_line(lines, fmt::format("    {} of {}: {}{}", nodes_words(refused.nodes), refused.nodes_are,
                                    explaining::words_of(refused.closest) + explaining::also_words(refused.also),
                                    refused.nodes > 1 && refused.closest.wanted > 0
                                        ? " (" + refused.node + ", which comes closest)"
                                        : ""));
    }
    return lines;
}

/// The pods to whose refusals a line refers, by these.
using told_refusals = std::map<std::string, std::string>;

void add_pods(const answer& answered, pod_origin origin, const char* title, told_refusals& told, std::string& text) {
    const auto is_of = [origin](const pod_answer& entry) { return entry.asked.origin == origin; };
    const auto is_listed = [&](const pod_answer& entry) {
        return is_of(entry) && !(answered.is_anew && is_back(entry));
    };
    if (std::ranges::none_of(answered.pods, is_listed)) return;
    text += "\n";
    add_line(text, title);
    for (const pod_answer& entry : answered.pods) {
        if (!is_listed(entry)) continue;
        const std::string from = entry.asked.from.empty() ? "" : entry.asked.from + " ";
        for (std::size_t i = 0; i < entry.placed.size(); ++i) {
            add_line(text, fmt::format("  {}: {}-> {}: {}", name_of(entry, i), from, entry.placed[i].node,
                                       share_words(entry.placed[i].shares)));
        }
        if (entry.refused == 0) continue;
        const std::string which = entry.refused == 1 && entry.asked.count == 1
                                      ? entry.asked.pod.full_name()
                                      : fmt::format("{} of {}", pods_words(entry.refused), entry.asked.pod.full_name());
        add_line(text, fmt::format("  {}: {}-> nowhere: {}", which, from, why_words(entry)));
        const auto [first, is_new] = told.try_emplace(class_lines(entry.classes), entry.asked.pod.full_name());
        if (is_new) text += first->first;
        if (!is_new && !first->first.empty()) add_line(text, "    as for " + first->second);
    }
}

void add_layouts(const answer& answered, std::string& text) {
    if (answered.layouts.empty()) return;
    text += "\n";
    add_line(text, "cut anew:");
    for (const layout_change& change : answered.layouts) {
        std::string time;
        if (change.cut_time) {
            time = fmt::format("; at least {:.1f} s for its GPUs one after the other", seconds_of(*change.cut_time));
        }
        add_line(text, fmt::format("  {}: {} -> {}{}", change.node, change.before, change.after, time));
    }
}

/// What a policy makes of the cluster if all pods that may move had just come.
void add_anew(const answer& answered, std::string& text) {
    if (!answered.is_anew) return;
    std::vector<std::string> started;
    std::vector<std::string> elsewhere;
    std::vector<std::string> lost;
    for (const pod_answer& entry : answered.pods) {
        const std::string name = entry.asked.pod.full_name();
        if (entry.asked.origin != pod_origin::evicted) {
            started.insert(started.end(), entry.placed.size(), name);
        } else if (entry.refused > 0) {
            lost.push_back(name);
        } else if (!is_back(entry)) {
            elsewhere.push_back(name);
        }
    }
    const auto folded = [](std::vector<std::string> names) {
        constexpr std::size_t pieces_max = 10;
        std::ranges::sort(names);
        return names.empty() ? "" : " (" + show::folded_names(names, pieces_max) + ")";
    };
    text += "\n";
    add_line(text, fmt::format("Placed anew: {} more {}{}, {} would stand elsewhere{}, {} would lose their place{}.",
                               pods_words(std::ssize(started)), started.size() == 1 ? "runs" : "run", folded(started),
                               elsewhere.size(), folded(elsewhere), lost.size(), folded(lost)));
    const auto tenths = [](std::int64_t milli) { return show::gpus(show::rounded(milli, show::tenth)); };
    add_line(text, fmt::format("used {} -> {} of {} GPUs. Not a plan: see vgpusim plan.",
                               tenths(answered.before.allocated_milli), tenths(answered.after.allocated_milli),
                               answered.after.devices));
}

document figures_json(const cluster_figures& of) {
    return document::map({{"nodes", of.nodes},
                          {"devices", of.devices},
                          {"devices_out_of_service", of.out_of_service},
                          {"devices_on_nodes_not_ready", of.on_nodes_not_ready},
                          {"devices_on_cordoned_nodes", of.on_cordoned_nodes},
                          {"devices_used", of.devices_used},
                          {"pods", of.pods},
                          {"total_milli", of.total_milli()},
                          {"allocated_milli", of.allocated_milli},
                          {"free_milli", of.idle_milli()},
                          {"memory_mib", of.memory_mib},
                          {"memory_used_mib", of.memory_used_mib},
                          {"cpu_milli", of.cpu_milli},
                          {"cpu_used_milli", of.cpu_used_milli},
                          {"fragmentation_milli", of.fragmentation_milli},
                          {"stranded_milli", of.stranded_milli},
                          {"idle", idle_json(of.idle)}});
}

document also_json(const std::vector<explaining::refusal>& also) {
    document list = document::list();
    for (const explaining::refusal& further : also) {
        list.push_back(document::map({{"code", vgpualloc::to_string(further.code)},
                                      {"wanted", further.wanted},
                                      {"available", further.available},
                                      {"unit", further.unit},
                                      {"text", explaining::words_of(further)}}));
    }
    return list;
}

document pod_json(const pod_answer& entry) {
    const auto& asked = entry.asked;
    document result =
        document::map({{"namespace", asked.pod.ns},
                       {"name", asked.pod.name},
                       {"origin", to_string(asked.origin)},
                       {"from", asked.from.empty() ? document{} : document{asked.from}},
                       {"dialect", asked.pod.dialect},
                       {"priority", asked.priority},
                       {"gang", asked.gang.empty() ? document{} : document{asked.gang}},
                       {"wanted", asked.one_per_node ? document{} : document{asked.count}},
                       {"placed", document::list()},
                       {"refused", entry.refused},
                       {"gang_fitting", entry.gang_fitting < 0 ? document{} : document{entry.gang_fitting}},
                       {"why", why_words(entry)},
                       {"refusals", document::list()}});
    for (const explaining::named_place& where : entry.placed) {
        result["placed"].push_back(explaining::place_json(where));
    }
    for (const explaining::refusing_nodes& refused : entry.classes) {
        result["refusals"].push_back(document::map({{"nodes_are", refused.nodes_are},
                                                    {"nodes", refused.nodes},
                                                    {"code", vgpualloc::to_string(refused.closest.code)},
                                                    {"closest", refused.node},
                                                    {"wanted", refused.closest.wanted},
                                                    {"available", refused.closest.available},
                                                    {"unit", refused.closest.unit},
                                                    {"text", explaining::words_of(refused.closest)},
                                                    {"also", also_json(refused.also)}}));
    }
    return result;
}

document kind_json(const answer& answered) {
    const kind_answer& kind = *answered.kind;
    const auto pods = [&](const std::vector<std::size_t>& positions) {
        document list = document::list();
        for (const std::size_t i : positions) list.push_back(answered.pods[i].asked.pod.full_name());
        return list;
    };
    document result = document::map({{"kind", kind.kind},
                                     {"nodes", kind.found.nodes ? document{*kind.found.nodes} : document{}},
                                     {"nodes_max", kind.found.nodes_max},
                                     {"tries", document::list()},
                                     {"least", kind.found.least},
                                     {"is_proved", kind.found.is_proved()},
                                     {"helped", pods(kind.found.helped)},
                                     {"refused_with_one_less", pods(kind.found.one_less)},
                                     {"refused_with_most", pods(kind.found.most)},
                                     {"never", document::list()}});
    for (const nodes_try& entry : kind.found.tries) {
        result["tries"].push_back(document::map({{"nodes", entry.nodes}, {"refused", entry.refused}}));
    }
    for (std::size_t i = 0; i < kind.never.size(); ++i) {
        result["never"].push_back(
            document::map({{"pod", answered.pods[kind.found.never[i]].asked.pod.full_name()}, {"why", kind.never[i]}}));
    }
    return result;
}

} // namespace

std::string answer_text(const answer& answered) {
    std::string text;
    const std::string devices = answered.device_policy == answered.policy ? "" : ", devices " + answered.device_policy;
    add_line(text,
             fmt::format("policy {}{}: of {} that wait, move or are added, {} run and {} do not", answered.policy,
                         devices, pods_words(answered.placed + answered.refused), answered.placed, answered.refused));
    told_refusals told{{"", ""}};
    if (answered.kind) add_kind(answered, text);
    add_layouts(answered, text);
    add_anew(answered, text);
    add_pods(answered, pod_origin::evicted, "moved:", told, text);
    add_pods(answered, pod_origin::waits, "waiting:", told, text);
    add_pods(answered, pod_origin::added, "added:", told, text);
    add_figures(answered, text);
    add_warnings(answered.warnings, text);
    add_not_considered(answered.not_considered, text);
    return text;
}

std::string answer_json(const answer& answered) {
    document result = document::map({{"policy", answered.policy},
                                     {"device_policy", answered.device_policy},
                                     {"seed", answered.seed},
                                     {"anew", answered.is_anew},
                                     {"placed", answered.placed},
                                     {"refused", answered.refused},
                                     {"find_nodes", answered.kind ? kind_json(answered) : document{}},
                                     {"before", figures_json(answered.before)},
                                     {"after", figures_json(answered.after)},
                                     {"layouts", document::list()},
                                     {"pods", document::list()},
                                     {"warnings", document::list()}});
    for (const layout_change& change : answered.layouts) {
        result["layouts"].push_back(
            document::map({{"node", change.node},
                           {"before", change.before},
                           {"after", change.after},
                           {"cut_us", change.cut_time ? document{change.cut_time->count()} : document{}}}));
    }
    for (const pod_answer& entry : answered.pods) result["pods"].push_back(pod_json(entry));
    for (const auto& problem : answered.warnings) result["warnings"].push_back(problem.message());
    result["not_considered"] = document::list_of(answered.not_considered);
    return vgpuformats::print_json(result, 2) + "\n";
}

} // namespace vgpuops::whatif
