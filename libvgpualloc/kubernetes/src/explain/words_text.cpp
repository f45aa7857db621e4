// An explanation as plain text.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "request_words.hpp"
#include "text_table.hpp"
#include "vgpualloc/core/printable.hpp"
#include "vgpualloc/explain/part_words.hpp"
#include "vgpualloc/explain/words.hpp"

namespace vgpualloc::explaining {

namespace {

using kube::snapshot_pod;

/// Nodes that get rows in the table of nodes.
std::vector<std::size_t> nodes_in_rows(const explanation& explained, const explain_layout& layout) {
    std::set<std::size_t> shown;
    std::size_t fitting = 0;
    for (std::size_t n = 0; n < explained.nodes.size(); ++n) {
        const explained_node& node = explained.nodes[n];
        if (!layout.node.empty()) {
            if (node.name == layout.node) shown.insert(n);
        } else if (layout.all_nodes || (node.refused.fits() && fitting++ < layout.nodes_max)) {
            shown.insert(n);
        }
    }
    if (layout.node.empty() && explained.chosen) shown.insert(*explained.chosen);
    if (layout.node.empty() && explained.runner_up) shown.insert(*explained.runner_up);
    return {shown.begin(), shown.end()};
}

/// Whether such a node could not serve the pod if it were empty, or is not meant to.
bool is_of_another_kind(rejection_code code) {
    return code <= rejection_code::resource_not_offered || code == rejection_code::too_few_devices ||
           (code >= rejection_code::family_not_offered && code <= rejection_code::mode_not_offered) ||
           code == rejection_code::request_not_valid;
}

/// Of nodes that all refuse, the one that lacks the least: none of the kind where others are, then few reasons, then a
/// check that comes late, then much of the amount that is wanted.
std::optional<std::size_t> closest_node(const explanation& explained) {
    const auto distance = [&](std::size_t n) {
        const explained_node& node = explained.nodes[n];
        int others = is_of_another_kind(node.refused.code) ? 1 : 0;
        for (const refusal& further : node.also) others += is_of_another_kind(further.code) ? 1 : 0;
        const double wanted = std::max(1.0, static_cast<double>(node.refused.wanted));
        return std::tuple{others, node.also.size(), -static_cast<int>(node.refused.code),
                          -static_cast<double>(node.refused.available) / wanted};
    };
    std::optional<std::size_t> closest;
    for (std::size_t n = 0; n < explained.nodes.size(); ++n) {
        if (explained.nodes[n].devices.empty()) continue;
        if (!closest || distance(n) < distance(*closest)) closest = n;
    }
    return closest;
}

/// Nodes whose devices get rows: those between which was chosen or, where nothing fits, the one that comes closest.
std::vector<std::size_t> nodes_with_devices(const explanation& explained, const explain_layout& layout) {
    if (layout.all_nodes || !layout.node.empty()) return nodes_in_rows(explained, layout);
    std::set<std::size_t> shown;
    if (explained.chosen) shown.insert(*explained.chosen);
    if (explained.runner_up) shown.insert(*explained.runner_up);
    if (!explained.chosen) {
        if (const auto closest = closest_node(explained)) shown.insert(*closest);
    }
    return {shown.begin(), shown.end()};
}

std::string container_name(const explanation& explained, std::size_t container) {
    const std::string& name = explained.pod.container_names[container];
    return name.empty() ? "the pod" : printable(name);
}

/// Whether an entry of the request is a further unit of what the entry before it asks for.
bool is_further_unit(const explanation& explained, std::size_t entry) {
    const auto& entries = explained.pod.request.containers;
    const auto& names = explained.pod.container_names;
    return entry > 0 && entries[entry].units > 1 && entries[entry] == entries[entry - 1] &&
           names[entry] == names[entry - 1];
}

/// Whether entries of the request need the name of their container.
bool has_several_entries(const explanation& explained) {
    const auto& entries = explained.pod.request.containers;
    std::size_t count = 0;
    for (std::size_t c = 0; c < entries.size(); ++c) {
        if (!is_further_unit(explained, c)) ++count;
    }
    return count > 1;
}

std::string refusal_words(const explanation& explained, const refusal& why) {
    std::string text = words_of(why);
    if (!why.device.empty() && (why.wanted != 0 || why.available != 0)) text += fmt::format(" ({})", why.device);
    if (why.container && has_several_entries(explained)) {
        text += fmt::format(", container {}{}", container_name(explained, *why.container),
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

std::string shares_words(const explanation& explained, const explained_node& node) {
    std::string text;
    const bool several = has_several_entries(explained);
    for (const counted_share& alike : count_alike(node.shares, explained.pod.container_names)) {
        text += (text.empty() ? "" : "; ") + (several ? container_name(explained, alike.share->container) + ": " : "");
        text += fmt::format("{}: {}", alike.share->uuid, words_of(alike));
    }
    return text;
}

std::string score_words(double score) {
    constexpr double nothing = 1e-9; // what only tells equal devices apart
    return fmt::format("{:.6g}", std::abs(score) < nothing ? 0.0 : score);
}

std::string header(const explanation& explained) {
    std::string text = fmt::format("pod {} ({})\n  host: {} mCPU, {} MiB of memory\n",
                                   printable(explained.pod.full_name()), printable(explained.pod.place),
                                   explained.pod.request.cpu.count(), mib_up(explained.pod.request.memory));
    const snapshot_pod& pod = explained.pod;
    const kube::own_request* last = nullptr;
    for (const kube::own_request& own : pod.own_requests) {
        const bool is_further = last != nullptr && own.request.units > 1 && own.request == last->request &&
                                own.container == last->container;
        last = &own;
        if (is_further) continue;
        text += fmt::format("  {}: {} (dialect {})\n", printable(own.container), printable(request_words(own.request)),
                            pod.dialect);
    }
    const bool is_told = !pod.own_requests.empty() && !pod.counts_at_once;
    if (!is_told && !pod.own_requests.empty())
        text += "  counted, because init containers end before the others run:\n";
    for (std::size_t c = 0; c < pod.request.containers.size() && !is_told; ++c) {
        if (is_further_unit(explained, c)) continue;
        const std::string& name = pod.container_names[c];
        text += pod.own_requests.empty() ? "  the pod as a whole: "
                : name.empty()           ? "    at init, beyond that: "
                                         : "    " + printable(name) + ": ";
        text += printable(request_words(pod.request.containers[c]));
        text += pod.own_requests.empty() ? fmt::format(" (dialect {})\n", pod.dialect) : "\n";
    }
    if (explained.pod.request.containers.empty()) text += "  no device\n";
    return text + fmt::format("policy {}: {}\n", printable(explained.policy), explained.policy_summary);
}

/// Of a pod that a gate holds back: no scheduler looks at it. What follows says what would be without the gate.
std::string gate_words(const explanation& explained) {
    const auto& gates = explained.pod.gates;
    std::string names;
    for (const std::string& gate : gates) names += (names.empty() ? "" : ", ") + printable(gate);
    return fmt::format("held back by {} {}: no scheduler looks at the pod; without {} it {}\n",
                       gates.size() == 1 ? "scheduling gate" : "scheduling gates", names,
                       gates.size() == 1 ? "it" : "them", explained.chosen ? "fits" : "does not fit either");
}

/// "leftovers are worth 0.52 less; less room for 8 whole GPUs: 0.5, at 1.5 GPUs each": what the score
/// of a node is made of. Empty where the policy says no more than the sum.
std::string parts_of_score(const explained_node& node) {
    constexpr std::size_t slots_max = 3;   // the rest is in the JSON
    if (node.terms.size() != 1) return {}; // the table of terms has the sum
    std::string text;
    std::vector<const score_part*> priced;
    for (const score_part& part : node.terms[0].parts) {
        if (part.price != 0.0) {
            priced.push_back(&part);
            continue;
        }
        const std::string change = part.worth == 0.0 ? "as much as before"
                                                     : fmt::format("{} {}", score_words(std::abs(part.worth)),
                                                                   part.worth < 0.0 ? "less" : "more");
        text += fmt::format("{}{} are worth {}", text.empty() ? "" : "; ", part.what, change);
    }
    std::ranges::stable_sort(priced, std::ranges::less{}, [](const score_part* part) { return part->worth; });
    for (std::size_t i = 0; i < std::min(priced.size(), slots_max); ++i) {
        const score_part& part = *priced[i];
        text += fmt::format("; {} {}: {}, at {} GPUs each", part.amount > 0.0 ? "less" : "more", printable(part.what),
                            score_words(std::abs(part.amount)), score_words(part.price));
    }
    if (priced.size() > slots_max) text += fmt::format("; and {} more kinds of pods", priced.size() - slots_max);
    return text;
}

/// Why the score of the chosen node is what it is, and that of the next.
std::string score_reasons(const explanation& explained) {
    std::string text;
    for (const auto& which : {explained.chosen, explained.runner_up}) {
        if (!which) continue;
        const std::string parts = parts_of_score(explained.nodes[*which]);
        if (!parts.empty()) text += fmt::format("  on {}: {}\n", printable(explained.nodes[*which].name), parts);
    }
    return text;
}

std::string choice_words(const explanation& explained) {
    const bool is_gated = !explained.pod.gates.empty();
    std::string text = is_gated ? gate_words(explained) : "";
    if (!explained.chosen) return text + scheduling_message(explained) + "\n";
    const std::string node = printable(explained.nodes[*explained.chosen].name);
    text += fmt::format("{}: {}, ", is_gated ? "would be chosen" : "chosen", node);
    switch (explained.reason) {
    case choice_reason::only_one_fits:
        text += "the only node that fits";
        break;
    case choice_reason::less_compromise:
        text += "because the others fall shorter of what was asked";
        break;
    case choice_reason::first_of_equals:
        text += fmt::format("the first of {} nodes with the highest score", explained.tied);
        break;
    case choice_reason::drawn:
        text += fmt::format("drawn among {} nodes", explained.tied);
        break;
    case choice_reason::nothing_fits:
    case choice_reason::highest_score:
        text += "the highest score";
        break;
    }
    if (explained.runner_up) {
        text += fmt::format("; next {}, {} {}", printable(explained.nodes[*explained.runner_up].name),
                            score_words(std::abs(explained.margin)), explained.margin < 0.0 ? "more" : "less");
    }
    const bool only_one = explained.nodes.size() == 1;
    text += fmt::format(" ({} of {} {} {})\n", explained.fitting, explained.nodes.size(), only_one ? "node" : "nodes",
                        only_one ? "fits" : "fit");
    text += score_reasons(explained);
    const auto& shares = explained.nodes[*explained.chosen].shares;
    for (const counted_share& alike : count_alike(shares, explained.pod.container_names)) {
        const explained_share& share = *alike.share;
        text += fmt::format("  {} gets of device {} ({}): {}\n", container_name(explained, share.container),
                            share.device, printable(share.uuid), words_of(alike));
    }
    for (const auto& [key, value] : explained.annotations)
        text += fmt::format("  annotation {}: {}\n", key, printable(value));
    return text;
}

std::string all_words(const explanation& explained, const refusal& first, const std::vector<refusal>& also) {
    return refusal_words(explained, first) + also_words(also);
}

std::string node_table(const explanation& explained, const std::vector<std::size_t>& shown) {
    if (shown.empty()) return {};
    text_table table{{"NODE", "ANSWER", "SCORE", "DEVICES OR REASON"}};
    for (const std::size_t n : shown) {
        const explained_node& node = explained.nodes[n];
        if (node.refused.fits()) {
            table.add({node.name, explained.chosen == n && explained.pod.gates.empty() ? "chosen" : "fits",
                       score_words(node.score), shares_words(explained, node)});
        } else {
            table.add({node.name, "no", "", all_words(explained, node.refused, node.also)});
        }
    }
    return "\n" + table.text();
}

/// Nodes that refuse, those that are alike and refuse for one reason in one line.
std::string refusing_words(const explanation& explained, const explain_layout& layout) {
    const auto groups = groups_of_refusals(explained);
    if (groups.empty()) return {};
    std::string text = "\nnodes that do not fit, alike and for one reason in a line:\n";
    std::size_t left = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const refusing_nodes& group = groups[i];
        const auto nodes = static_cast<std::size_t>(group.nodes);
        if (i >= layout.nodes_max) {
            left += nodes;
            continue;
        }
        const std::string which = nodes == 1                 ? group.node
                                  : group.closest.wanted > 0 ? group.node + " comes closest"
                                                             : "such as " + group.node;
        text += printable(fmt::format("  {} {} of {} ({}): {}", nodes, nodes == 1 ? "node" : "nodes", group.nodes_are,
                                      which, all_words(explained, group.closest, group.also))) +
                "\n";
    }
    if (left > 0) {
        text += fmt::format("  … and {} more {} (--all shows them, --node one)\n", left, left == 1 ? "node" : "nodes");
    }
    return text;
}

/// How the scores add up. A policy with one term has its score in the table of nodes already.
std::string term_table(const explanation& explained, const std::vector<std::size_t>& shown) {
    std::vector<std::string> headings{"NODE"};
    for (const std::size_t n : shown) {
        if (explained.nodes[n].terms.size() < 2) continue;
        for (const score_term& term : explained.nodes[n].terms)
            headings.push_back(fmt::format("{} x {}", term.weight, term.policy));
        break;
    }
    if (headings.size() == 1) return {};
    headings.emplace_back("SUM");
    text_table table{std::move(headings)};
    for (const std::size_t n : shown) {
        const explained_node& node = explained.nodes[n];
        if (!node.refused.fits()) continue;
        std::vector<std::string> row{node.name};
        for (const score_term& term : node.terms) {
            row.push_back(fmt::format("{} x {} = {}", term.weight, score_words(term.score),
                                      score_words(term.weight * term.score)));
        }
        row.push_back(score_words(node.score));
        table.add(std::move(row));
    }
    return "\n" + table.text();
}

std::string used_words(const explained_device& device) {
    std::string text =
        fmt::format("{} of {} MiB, cores {} of {}, {} of {} slots", device.memory_used.count(), device.memory.count(),
                    device.cores_used, device.cores, device.slots_used, device.slots);
    if (!device.healthy) text += ", not healthy";
    if (device.overcommitted) text += ", overcommitted";
    return text;
}

std::string parts_words(const explained_answer& answer) {
    constexpr std::size_t parts_max = 3; // the rest is in the JSON
    std::string text;
    for (std::size_t i = 0; i < std::min(answer.parts.size(), parts_max); ++i) {
        text += (i == 0 ? "" : "; or ") + answer.parts[i].words;
    }
    if (answer.parts.size() > parts_max) text += fmt::format("; or {} more", answer.parts.size() - parts_max);
    return text;
}

std::string device_table(const explanation& explained, const std::vector<std::size_t>& shown) {
    const bool several = has_several_entries(explained);
    std::vector<std::string> headings{"NODE", "DEVICE", "MODEL", "MODE", "USED"};
    if (several) headings.emplace_back("CONTAINER");
    headings.insert(headings.end(), {"ANSWER", "SCORE", "PART OR REASON"});
    text_table table{std::move(headings)};
    for (const std::size_t n : shown) {
        for (const explained_device& device : explained.nodes[n].devices) {
            for (std::size_t c = 0; c < device.containers.size(); ++c) {
                if (is_further_unit(explained, c)) continue;
                const explained_answer& answer = device.containers[c];
                const std::string model = device.model.empty() ? "unknown" : device.model;
                std::vector<std::string> row{explained.nodes[n].name, device.uuid, model, device.mode,
                                             used_words(device)};
                if (several) row.push_back(container_name(explained, c));
                const bool fits = answer.refused.fits();
                row.insert(row.end(), {fits ? "fits" : "no", fits ? score_words(answer.score) : "",
                                       fits ? parts_words(answer) : refusal_words(explained, answer.refused)});
                table.add(std::move(row));
            }
        }
    }
    return table.empty() ? "" : "\n" + table.text();
}

/// The node, how many pods it gets and on which devices.
std::string node_of_replicas(const std::string& name, std::size_t pods,
                             const std::map<std::string, std::size_t>& parts_by_device) {
    constexpr std::size_t devices_max = 20;
    std::string text = fmt::format("  {}: {} {}", printable(name), pods, pods == 1 ? "pod" : "pods");
    std::size_t listed = 0;
    for (const auto& [uuid, parts] : parts_by_device) {
        if (listed++ == devices_max) break;
        text += fmt::format("{}{}{}", listed == 1 ? ", on " : ", ", printable(uuid),
                            parts == 1 ? "" : fmt::format(" ({} parts)", parts));
    }
    if (parts_by_device.size() > devices_max) text += fmt::format(" and {} more", parts_by_device.size() - devices_max);
    return text + "\n";
}

/// "3 of 5 pods are held back by quota gpus: …".
std::string held_words(const replica_answer& answer) {
    if (!answer.short_of) return {};
    return fmt::format("{} of {} {} held back by {}: {}\n", answer.held, answer.held + answer.admitted.value_or(0),
                       answer.held == 1 ? "pod is" : "pods are", printable(holder_of(*answer.short_of)),
                       printable(words_of(*answer.short_of)));
}

/// "10 of 10 pods fit", and how many on which node.
std::string replica_words(const explanation& explained) {
    const replica_answer& answer = explained.replicas;
    const std::string held = held_words(answer);
    if (answer.is_held_back()) return held + "of one that is made it would be said:\n";
    if (answer.wanted == 1 && !answer.one_per_node) return {};
    if (answer.wanted == 0 && !answer.one_per_node) return "no pod is wanted (0 replicas); of one it would be said:\n";
    constexpr std::size_t nodes_max = 20; // the rest is in the JSON
    const std::string wanted =
        answer.one_per_node ? fmt::format("{} nodes", explained.nodes.size()) : fmt::format("{} pods", answer.wanted);
    std::string text = answer.one_per_node
                           ? fmt::format("{} of {} take a pod", answer.placed.size(), wanted)
                           : fmt::format("{} of {} fit, one after the other", answer.placed.size(), wanted);
    if (answer.min_available > 0) {
        text += fmt::format(" (of the job, {} have to start together)", answer.min_available);
    }
    text += answer.placed.empty() ? "\n" : ":\n";
    std::map<std::size_t, std::pair<std::size_t, std::map<std::string, std::size_t>>> by_node; // pods; parts by device
    for (const replica& pod : answer.placed) {
        auto& [pods, devices] = by_node[pod.node];
        ++pods;
        for (const explained_share& share : pod.shares) ++devices[share.uuid];
    }
    std::size_t shown = 0;
    for (const auto& [node, use] : by_node) {
        if (shown++ == nodes_max) break;
        text += node_of_replicas(explained.nodes[node].name, use.first, use.second);
    }
    if (by_node.size() > nodes_max)
        text += fmt::format("  … and {} more nodes (--json has all)\n", by_node.size() - nodes_max);
    if (!answer.next.empty())
        text += fmt::format("  pod {} does not: {}\n", answer.placed.size() + 1, printable(answer.next));
    return held + text + "the first of them:\n";
}

} // namespace

std::string explanation_text(const explanation& explained, const explain_layout& layout) {
    const auto shown = nodes_in_rows(explained, layout);
    const auto with_devices = nodes_with_devices(explained, layout);
    std::string text = header(explained);
    for (const std::string& note : explained.notes) text += "note: " + printable(note) + "\n";
    text += "\n" + replica_words(explained) + choice_words(explained) + node_table(explained, shown);
    if (layout.node.empty() && !layout.all_nodes) {
        if (shown.size() < explained.fitting) {
            const std::size_t more = explained.fitting - shown.size();
            text += fmt::format("… and {} more {} that {} (--all shows them, --node one)\n", more,
                                more == 1 ? "node" : "nodes", more == 1 ? "fits" : "fit");
        }
        text += refusing_words(explained, layout);
    }
    text += term_table(explained, shown) + device_table(explained, with_devices);
    if (!layout.warnings.empty()) text += "\n";
    for (const std::string& line : warning_lines(layout.warnings)) text += "warning: " + line + "\n";
    if (!explained.not_considered.empty()) text += "\nnot considered, although it is there:\n";
    for (const std::string& rule : explained.not_considered) text += "  " + rule + "\n";
    return text;
}

} // namespace vgpualloc::explaining
