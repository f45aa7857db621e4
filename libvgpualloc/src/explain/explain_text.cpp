// An explanation as plain text.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "request_words.hpp"
#include "text_table.hpp"
#include "vgpualloc/explain/explain.hpp"

namespace vgpualloc::explaining {

namespace {

/// Nodes that get rows: the first ones, the chosen one and the runner-up.
std::vector<std::size_t> shown_nodes(const explanation& of, const explain_layout& layout) {
    std::set<std::size_t> shown;
    for (std::size_t n = 0; n < of.nodes.size(); ++n) {
        if (layout.node.empty() ? n < layout.nodes_max : of.nodes[n].name == layout.node) shown.insert(n);
    }
    if (layout.node.empty() && of.chosen) shown.insert(*of.chosen);
    if (layout.node.empty() && of.runner_up) shown.insert(*of.runner_up);
    return {shown.begin(), shown.end()};
}

std::string container_name(const explanation& of, std::size_t container) {
    const std::string& name = of.pod.container_names[container];
    return name.empty() ? "the pod" : name;
}

std::string refusal_words(const explanation& of, const refusal& why) {
    std::string text = why.text();
    if (!why.device.empty() && (why.wanted != 0 || why.available != 0)) text += fmt::format(" ({})", why.device);
    const bool several = of.pod.request.containers.size() > 1;
    if (why.container && several) {
        text += fmt::format(", container {}{}", container_name(of, *why.container),
                            *why.container > 0 ? ", those before it placed" : "");
    }
    if (why.devices.size() < 2) return text;
    std::string others; // the node's own reason is only the most frequent one
    for (const auto& [code, count] : why.devices) {
        const bool fits = code == rejection_code::none;
        others += fmt::format("{}{} {}", others.empty() ? "" : ", ", count, fits ? "fit" : to_string(code));
    }
    return text + fmt::format("; devices: {}", others);
}

std::string shares_words(const explanation& of, const explained_node& node) {
    std::string text;
    for (const explained_share& each : node.shares) {
        const bool several = of.pod.request.containers.size() > 1;
        text += (text.empty() ? "" : "; ") + (several ? container_name(of, each.container) + ": " : "");
        text += fmt::format("{}: {}", each.uuid, each.part.words);
    }
    return text;
}

std::string score_words(double score) { return fmt::format("{:.6g}", score == 0.0 ? 0.0 : score); }

std::string header(const explanation& of) {
    std::string text = fmt::format("pod {} ({})\n  host: {} mCPU, {} MiB of memory\n", of.pod.full_name(), of.pod.place,
                                   of.pod.request.cpu.count(), of.pod.request.memory.count());
    for (std::size_t c = 0; c < of.pod.request.containers.size(); ++c) {
        const std::string& name = of.pod.container_names[c];
        text += fmt::format("  {}: {} (dialect {})\n", name.empty() ? "the pod as a whole" : "container " + name,
                            request_words(of.pod.request.containers[c]), of.pod.dialect);
    }
    if (of.pod.request.containers.empty()) text += "  no device\n";
    return text + fmt::format("policy {}: {}\n", of.policy, of.policy_summary);
}

std::string choice_words(const explanation& of) {
    if (!of.chosen) return of.message + "\n";
    const std::string& node = of.nodes[*of.chosen].name;
    std::string text = fmt::format("chosen: {}, ", node);
    switch (of.reason) {
    case choice_reason::only_one_fits:
        text += "the only node that fits";
        break;
    case choice_reason::less_compromise:
        text += "because the others fall shorter of what was asked";
        break;
    case choice_reason::first_of_equals:
        text += fmt::format("the first of {} nodes with the highest score", of.tied);
        break;
    case choice_reason::drawn:
        text += fmt::format("drawn among {} nodes", of.tied);
        break;
    case choice_reason::nothing_fits:
    case choice_reason::highest_score:
        text += "the highest score";
        break;
    }
    if (of.runner_up) {
        text += fmt::format("; next {}, {} {}", of.nodes[*of.runner_up].name, score_words(std::abs(of.margin)),
                            of.margin < 0.0 ? "more" : "less");
    }
    text += fmt::format(" ({} of {} nodes fit)\n", of.fitting, of.nodes.size());
    for (const explained_share& each : of.nodes[*of.chosen].shares) {
        text += fmt::format("  {} gets of device {} ({}): {}\n", container_name(of, each.container), each.device,
                            each.uuid, each.part.words);
    }
    for (const auto& [key, value] : of.annotations) text += fmt::format("  annotation {}: {}\n", key, value);
    return text;
}

std::string node_table(const explanation& of, const std::vector<std::size_t>& shown) {
    text_table table{{"NODE", "ANSWER", "SCORE", "DEVICES OR REASON"}};
    for (const std::size_t n : shown) {
        const explained_node& node = of.nodes[n];
        if (node.refused.fits()) {
            table.add({node.name, of.chosen == n ? "chosen" : "fits", score_words(node.score), shares_words(of, node)});
        } else {
            table.add({node.name, "no", "", refusal_words(of, node.refused)});
        }
    }
    return table.text();
}

/// How the scores add up. A policy with one term has its score in the table of nodes already.
std::string term_table(const explanation& of, const std::vector<std::size_t>& shown) {
    std::vector<std::string> headings{"NODE"};
    for (const std::size_t n : shown) {
        if (of.nodes[n].terms.size() < 2) continue;
        for (const score_term& each : of.nodes[n].terms)
            headings.push_back(fmt::format("{} x {}", each.weight, each.policy));
        break;
    }
    if (headings.size() == 1) return {};
    headings.emplace_back("SUM");
    text_table table{std::move(headings)};
    for (const std::size_t n : shown) {
        const explained_node& node = of.nodes[n];
        if (!node.refused.fits()) continue;
        std::vector<std::string> row{node.name};
        for (const score_term& each : node.terms) {
            row.push_back(fmt::format("{} x {} = {}", each.weight, score_words(each.score),
                                      score_words(each.weight * each.score)));
        }
        row.push_back(score_words(node.score));
        table.add(std::move(row));
    }
    return "\n" + table.text();
}

std::string used_words(const explained_device& of) {
    std::string text = fmt::format("{} of {} MiB, cores {} of {}, {} of {} slots", of.memory_used.count(),
                                   of.memory.count(), of.cores_used, of.cores, of.slots_used, of.slots);
    if (!of.healthy) text += ", not healthy";
    if (of.overcommitted) text += ", overcommitted";
    return text;
}

std::string parts_words(const explained_answer& of) {
    constexpr std::size_t parts_max = 3; // the rest is in the JSON
    std::string text;
    for (std::size_t i = 0; i < std::min(of.parts.size(), parts_max); ++i) {
        text += (i == 0 ? "" : "; or ") + of.parts[i].words;
    }
    if (of.parts.size() > parts_max) text += fmt::format("; or {} more", of.parts.size() - parts_max);
    return text;
}

std::string device_table(const explanation& of, const std::vector<std::size_t>& shown) {
    const bool several = of.pod.request.containers.size() > 1;
    std::vector<std::string> headings{"NODE", "DEVICE", "MODEL", "MODE", "USED"};
    if (several) headings.emplace_back("CONTAINER");
    headings.insert(headings.end(), {"ANSWER", "SCORE", "PART OR REASON"});
    text_table table{std::move(headings)};
    for (const std::size_t n : shown) {
        for (const explained_device& device : of.nodes[n].devices) {
            for (std::size_t c = 0; c < device.containers.size(); ++c) {
                const explained_answer& answer = device.containers[c];
                std::vector<std::string> row{of.nodes[n].name, device.uuid, device.model, device.mode,
                                             used_words(device)};
                if (several) row.push_back(container_name(of, c));
                const bool fits = answer.refused.fits();
                row.insert(row.end(), {fits ? "fits" : "no", fits ? score_words(answer.score) : "",
                                       fits ? parts_words(answer) : refusal_words(of, answer.refused)});
                table.add(std::move(row));
            }
        }
    }
    return table.empty() ? "" : "\n" + table.text();
}

} // namespace

std::string explanation_text(const explanation& of, const explain_layout& layout) {
    const auto shown = shown_nodes(of, layout);
    std::string text = header(of);
    for (const std::string& each : of.notes) text += "note: " + each + "\n";
    for (const auto& each : layout.warnings) text += "warning: " + each.message() + "\n";
    text += "\n" + choice_words(of) + "\n" + node_table(of, shown);
    if (layout.node.empty() && shown.size() < of.nodes.size()) {
        text += fmt::format("… and {} more nodes (--all shows them, --node one)\n", of.nodes.size() - shown.size());
    }
    return text + term_table(of, shown) + device_table(of, shown);
}

} // namespace vgpualloc::explaining
