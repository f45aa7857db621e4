// Answers as documents.
#include <cstddef>
#include <map>
#include <utility>

#include "answer_parts.hpp"
#include "placement_words.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuops/whatif/idle_words.hpp"

namespace vgpuops::whatif {

namespace {

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

/// How many of its pods have which fate.
document fates_json(const answer& answered, const pod_answer& entry) {
    std::map<pod_fate, std::int64_t> pods;
    for (const explaining::named_place& where : entry.placed) ++pods[fate_on(answered, entry, where.node)];
    const std::int64_t without_place = entry.refused + entry.asked.held;
    if (without_place > 0) pods[fate_of_refused(entry)] += without_place;
    document result = document::map({});
    for (const auto& [fate, count] : pods) result[std::string{to_string(fate)}] = count;
    return result;
}

/// Why nothing, or no more, of an entry starts.
document verdict_json(const pod_answer& entry) {
    if (entry.refused > 0) return document{show::to_string(entry.waits_for)};
    return entry.asked.held > 0 ? document{show::to_string(held_verdict(entry))} : document{};
}

document quota_json(const std::optional<kube::quota_shortage>& shortage) {
    if (!shortage) return {};
    const auto or_null = [](const std::string& text) { return text.empty() ? document{} : document{text}; };
    return document::map({{"quota", or_null(shortage->quota)},
                          {"queue", or_null(shortage->queue)},
                          {"resource", or_null(shortage->resource)},
                          {"hard", or_null(shortage->hard)},
                          {"used", or_null(shortage->used)},
                          {"needed", or_null(shortage->needed)},
                          {"container", or_null(shortage->container)},
                          {"text", words_of(*shortage)}});
}

document pod_json(const answer& answered, const pod_answer& entry) {
    const auto& asked = entry.asked;
    document result =
        document::map({{"namespace", asked.pod.ns},
                       {"name", asked.pod.name},
                       {"origin", to_string(asked.origin)},
                       {"from", asked.from.empty() ? document{} : document{asked.from}},
                       {"dialect", asked.pod.dialect},
                       {"priority", asked.priority},
                       {"gang", asked.gang.empty() ? document{} : document{asked.gang}},
                       {"wanted", asked.one_per_node ? document{} : document{asked.wanted()}},
                       {"placed", document::list()},
                       {"refused", entry.refused},
                       {"held_back", asked.held},
                       {"quota", quota_json(asked.short_of)},
                       {"gang_fitting", entry.gang_fitting < 0 ? document{} : document{entry.gang_fitting}},
                       {"why", why_words(entry)},
                       {"has_devices", entry.has_devices},
                       {"verdict", verdict_json(entry)},
                       {"fates", fates_json(answered, entry)},
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
                                     {"is_exact", kind.found.is_exact},
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

/// Pods by fate, and those that wait by verdict.
document counts_json(const fate_counts& counts) {
    document fates = document::map({});
    for (std::size_t i = 0; i < counts.pods.size(); ++i) {
        fates[std::string{to_string(static_cast<pod_fate>(i))}] = counts.pods[i];
    }
    document verdicts = document::map({});
    for (std::size_t i = 0; i < counts.waiting.size(); ++i) {
        verdicts[std::string{show::to_string(static_cast<show::verdict>(i))}] = counts.waiting[i];
    }
    fates["waiting"] = std::move(verdicts);
    return fates;
}

} // namespace

std::string answer_json(const answer& answered) {
    document result = document::map({{"policy", answered.policy},
                                     {"device_policy", answered.device_policy},
                                     {"seed", answered.seed},
                                     {"anew", answered.is_anew},
                                     {"kept_bare", answered.kept_bare},
                                     {"placed", answered.placed},
                                     {"refused", answered.refused},
                                     {"held_back", answered.held_back},
                                     {"find_nodes", answered.kind ? kind_json(answered) : document{}},
                                     {"before", figures_json(answered.before)},
                                     {"after", figures_json(answered.after)},
                                     {"counts", counts_json(count_fates(answered))},
                                     {"comparison", comparison_json(answered)},
                                     {"nodes", document::list()},
                                     {"ended", document::list()},
                                     {"not_evicted", kept_json(answered.not_evicted)},
                                     {"layouts", document::list()},
                                     {"pods", document::list()},
                                     {"warnings", document::list()}});
    for (const node_change& change : answered.nodes) {
        result["nodes"].push_back(document::map({{"mark", std::string(1, change.mark)},
                                                 {"nodes", document::list_of(change.nodes)},
                                                 {"change", change.words}}));
    }
    for (const ended_pod& pod : answered.ended) {
        result["ended"].push_back(document::map({{"pod", pod.name}, {"node", pod.node}}));
    }
    for (const layout_change& change : answered.layouts) {
        result["layouts"].push_back(
            document::map({{"node", change.node},
                           {"before", change.before},
                           {"after", change.after},
                           {"gpus", change.gpus},
                           {"cut_us", change.cut_time ? document{change.cut_time->count()} : document{}}}));
    }
    for (const pod_answer& entry : answered.pods) result["pods"].push_back(pod_json(answered, entry));
    for (const auto& problem : answered.warnings) result["warnings"].push_back(problem.message());
    result["not_considered"] = document::list_of(answered.not_considered);
    return vgpuformats::print_json(result, 2) + "\n";
}

} // namespace vgpuops::whatif
