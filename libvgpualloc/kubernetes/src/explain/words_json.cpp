// An explanation as JSON.
#include <utility>

#include "request_json.hpp"
#include "vgpualloc/explain/part_words.hpp"
#include "vgpualloc/explain/words.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::explaining {

using vgpuformats::document;

namespace {

document refusal_json(const refusal& from) {
    if (from.fits()) return {};
    document object = document::map({{"code", to_string(from.code)},
                                     {"wanted", from.wanted},
                                     {"available", from.available},
                                     {"unit", from.unit},
                                     {"text", words_of(from)}});
    if (!from.rule.empty()) object["rule"] = from.rule;
    if (!from.device.empty()) object["device"] = from.device;
    if (from.container) object["container"] = *from.container;
    for (const auto& [code, count] : from.devices) {
        object["devices"][code == rejection_code::none ? "fit" : std::string{to_string(code)}] = count;
    }
    return object;
}

document part_json(const explained_part& from) {
    document object = document::map(
        {{"kind", from.kind}, {"memory_mib", from.memory.count()}, {"cores", from.cores}, {"words", from.words}});
    if (!from.name.empty()) object["name"] = from.name;
    if (!from.group.empty()) object["group"] = from.group;
    if (from.start >= 0) object["start"] = from.start;
    return object;
}

document request_json(const kube::snapshot_pod& pod, std::size_t container) {
    document object = document::map({{"container", pod.container_names[container]}});
    add_request(pod.request.containers[container], object);
    return object;
}

document pod_json(const kube::snapshot_pod& pod) {
    document object = document::map({{"namespace", pod.ns},
                                     {"name", pod.name},
                                     {"place", pod.place},
                                     {"dialect", pod.dialect},
                                     {"cpu_milli", pod.request.cpu.count()},
                                     {"memory_mib", mib_up(pod.request.memory)},
                                     {"tags", document::list_of(pod.request.tags)},
                                     {"avoids", document::list_of(pod.request.avoids)},
                                     {"requests", document::list()}});
    for (std::size_t c = 0; c < pod.request.containers.size(); ++c) object["requests"].push_back(request_json(pod, c));
    return object;
}

document answer_json(const explained_answer& from) {
    document object = document::map({{"fits", from.refused.fits()}});
    if (from.refused.fits())
        object["score"] = from.score;
    else
        object["reason"] = refusal_json(from.refused);
    object["parts"] = document::list();
    for (const explained_part& part : from.parts) object["parts"].push_back(part_json(part));
    return object;
}

document device_json(const explained_device& from) {
    document object = document::map({{"index", from.index},
                                     {"uuid", from.uuid},
                                     {"model", from.model},
                                     {"family", from.family},
                                     {"mode", from.mode},
                                     {"dialect", from.dialect},
                                     {"healthy", from.healthy},
                                     {"overcommitted", from.overcommitted},
                                     {"shares_faults", from.shares_faults},
                                     {"memory_mib", from.memory.count()},
                                     {"memory_used_mib", from.memory_used.count()},
                                     {"cores", from.cores},
                                     {"cores_used", from.cores_used},
                                     {"slots", from.slots},
                                     {"slots_used", from.slots_used},
                                     {"used_milli", from.used.count()},
                                     {"containers", document::list()}});
    for (const explained_answer& answer : from.containers) object["containers"].push_back(answer_json(answer));
    return object;
}

document share_json(const explained_share& from) {
    return document::map(
        {{"container", from.container}, {"device", from.device}, {"uuid", from.uuid}, {"part", part_json(from.part)}});
}

document term_json(const score_term& from) {
    document object = document::map({{"policy", from.policy}, {"weight", from.weight}, {"score", from.score}});
    if (from.parts.empty()) return object;
    object["parts"] = document::list();
    for (const score_part& part : from.parts) {
        object["parts"].push_back(document::map(
            {{"what", part.what}, {"worth", part.worth}, {"amount", part.amount}, {"price", part.price}}));
    }
    return object;
}

document node_json(const explained_node& from) {
    document object =
        document::map({{"name", from.name}, {"fits", from.refused.fits()}, {"reason", refusal_json(from.refused)}});
    object["also"] = document::list();
    for (const refusal& further : from.also) object["also"].push_back(refusal_json(further));
    if (from.refused.fits()) {
        object["score"] = from.score;
        object["compromise"] = from.compromise;
        object["terms"] = document::list();
        for (const score_term& term : from.terms) {
            object["terms"].push_back(term_json(term));
        }
        object["shares"] = document::list();
        for (const explained_share& share : from.shares) object["shares"].push_back(share_json(share));
    }
    object["devices"] = document::list();
    for (const explained_device& device : from.devices) object["devices"].push_back(device_json(device));
    return object;
}

const char* reason_word(choice_reason reason) {
    switch (reason) {
    case choice_reason::only_one_fits:
        return "only_one_fits";
    case choice_reason::less_compromise:
        return "less_compromise";
    case choice_reason::highest_score:
        return "highest_score";
    case choice_reason::first_of_equals:
        return "first_of_equals";
    case choice_reason::drawn:
        return "drawn";
    case choice_reason::nothing_fits:
        break;
    }
    return "nothing_fits";
}

document choice_json(const explanation& explained) {
    const auto name = [&explained](const std::optional<std::size_t>& node) {
        return node ? document{explained.nodes[*node].name} : document{};
    };
    document gates = document::list();
    for (const std::string& gate : explained.pod.gates) gates.push_back(gate);
    const bool is_gated = !explained.pod.gates.empty() || explained.replicas.is_held_back();
    document object = document::map({{"node", is_gated ? document{} : name(explained.chosen)},
                                     {"reason", reason_word(explained.reason)},
                                     {"nodes_fitting", explained.fitting},
                                     {"nodes_tied", explained.tied},
                                     {"runner_up", name(explained.runner_up)},
                                     {"margin", explained.runner_up ? document{explained.margin} : document{}},
                                     {"message", scheduling_message(explained)},
                                     {"gates", gates},
                                     {"node_without_gates", name(explained.chosen)},
                                     {"shares", document::list()}});
    if (explained.chosen) {
        for (const explained_share& share : explained.nodes[*explained.chosen].shares)
            object["shares"].push_back(share_json(share));
    }
    object["annotations"] = document::map_of(explained.annotations);
    return object;
}

document replicas_json(const explanation& explained) {
    const replica_answer& answer = explained.replicas;
    document object = document::map({{"wanted", answer.one_per_node ? document{} : document{answer.wanted}},
                                     {"one_per_node", answer.one_per_node},
                                     {"min_available", answer.min_available},
                                     {"held_back", answer.held},
                                     {"quota", answer.short_of ? document{words_of(*answer.short_of)} : document{}},
                                     {"placed", answer.placed.size()},
                                     {"placements", document::list()},
                                     {"message", answer.next}});
    if (!answer.kind.empty()) object["kind"] = answer.kind;
    for (const replica& pod : answer.placed) {
        document placement = document::map({{"node", explained.nodes[pod.node].name}, {"shares", document::list()}});
        for (const explained_share& share : pod.shares) placement["shares"].push_back(share_json(share));
        object["placements"].push_back(std::move(placement));
    }
    return object;
}

document explanation_document(const explanation& explained, const explain_layout& layout) {
    document out = document::map({{"pod", pod_json(explained.pod)},
                                  {"policy", explained.policy},
                                  {"ranking", explained.policy_summary},
                                  {"choice", choice_json(explained)},
                                  {"replicas", replicas_json(explained)},
                                  {"nodes", document::list()},
                                  {"notes", document::list_of(explained.notes)},
                                  {"warnings", document::list()},
                                  {"not_considered", document::list_of(explained.not_considered)}});
    for (const explained_node& node : explained.nodes) {
        if (layout.node.empty() || node.name == layout.node) out["nodes"].push_back(node_json(node));
    }
    for (const auto& warning : layout.warnings) out["warnings"].push_back(error_json(warning));
    return out;
}

} // namespace

std::string explanation_json(const explanation& explained, const explain_layout& layout) {
    return vgpuformats::print_json(explanation_document(explained, layout), 2) + "\n";
}

std::string explanation_list::next(const explanation& explained, const explain_layout& layout) {
    std::string text = begun_ ? ",\n" : "{\n\"pods\": [\n";
    begun_ = true;
    return text + explanation_json(explained, layout);
}

std::string explanation_list::end(const std::vector<error>& warnings, const std::vector<error>& errors) {
    const auto errors_json = [](const std::vector<error>& from) {
        document list = document::list();
        for (const error& problem : from) list.push_back(error_json(problem));
        return vgpuformats::print_json(list, 2);
    };
    return "],\n\"warnings\": " + errors_json(warnings) + ",\n\"errors\": " + errors_json(errors) + "\n}\n";
}

} // namespace vgpualloc::explaining
