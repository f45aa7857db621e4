// An explanation as JSON.
#include <utility>

#include <nlohmann/json.hpp>

#include "request_json.hpp"
#include "vgpualloc/explain/explain.hpp"

namespace vgpualloc::explaining {

namespace {

using json = nlohmann::ordered_json;

json refusal_json(const refusal& from) {
    if (from.fits()) return nullptr;
    json made{{"code", to_string(from.code)},
              {"wanted", from.wanted},
              {"available", from.available},
              {"unit", from.unit},
              {"text", from.text()}};
    if (!from.device.empty()) made["device"] = from.device;
    if (from.container) made["container"] = *from.container;
    for (const auto& [code, count] : from.devices) {
        made["devices"][code == rejection_code::none ? "fit" : std::string{to_string(code)}] = count;
    }
    return made;
}

json part_json(const explained_part& from) {
    json made{{"kind", from.kind}, {"memory_mib", from.memory.count()}, {"cores", from.cores}, {"words", from.words}};
    if (!from.name.empty()) made["name"] = from.name;
    if (!from.group.empty()) made["group"] = from.group;
    if (from.start >= 0) made["start"] = from.start;
    return made;
}

json request_json(const kube::snapshot_pod& pod, std::size_t container) {
    json made{{"container", pod.container_names[container]}};
    add_request(pod.request.containers[container], made);
    return made;
}

json pod_json(const kube::snapshot_pod& pod) {
    json made{{"namespace", pod.ns},
              {"name", pod.name},
              {"place", pod.place},
              {"dialect", pod.dialect},
              {"cpu_milli", pod.request.cpu.count()},
              {"memory_mib", pod.request.memory.count()},
              {"tags", pod.request.tags},
              {"avoids", pod.request.avoids},
              {"requests", json::array()}};
    for (std::size_t c = 0; c < pod.request.containers.size(); ++c) made["requests"].push_back(request_json(pod, c));
    return made;
}

json answer_json(const explained_answer& from) {
    json made{{"fits", from.refused.fits()}};
    if (from.refused.fits())
        made["score"] = from.score;
    else
        made["reason"] = refusal_json(from.refused);
    made["parts"] = json::array();
    for (const explained_part& each : from.parts) made["parts"].push_back(part_json(each));
    return made;
}

json device_json(const explained_device& from) {
    json made{{"index", from.index},
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
              {"containers", json::array()}};
    for (const explained_answer& each : from.containers) made["containers"].push_back(answer_json(each));
    return made;
}

json share_json(const explained_share& from) {
    return {
        {"container", from.container}, {"device", from.device}, {"uuid", from.uuid}, {"part", part_json(from.part)}};
}

json node_json(const explained_node& from) {
    json made{{"name", from.name}, {"fits", from.refused.fits()}, {"reason", refusal_json(from.refused)}};
    if (from.refused.fits()) {
        made["score"] = from.score;
        made["compromise"] = from.compromise;
        made["terms"] = json::array();
        for (const score_term& each : from.terms) {
            made["terms"].push_back({{"policy", each.policy}, {"weight", each.weight}, {"score", each.score}});
        }
        made["shares"] = json::array();
        for (const explained_share& each : from.shares) made["shares"].push_back(share_json(each));
    }
    made["devices"] = json::array();
    for (const explained_device& each : from.devices) made["devices"].push_back(device_json(each));
    return made;
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

json choice_json(const explanation& of) {
    const auto name = [&of](const std::optional<std::size_t>& node) {
        return node ? json(of.nodes[*node].name) : json(nullptr);
    };
    json made{{"node", name(of.chosen)},         {"reason", reason_word(of.reason)},
              {"nodes_fitting", of.fitting},     {"nodes_tied", of.tied},
              {"runner_up", name(of.runner_up)}, {"margin", of.runner_up ? json(of.margin) : json(nullptr)},
              {"message", of.message},           {"shares", json::array()}};
    if (of.chosen) {
        for (const explained_share& each : of.nodes[*of.chosen].shares) made["shares"].push_back(share_json(each));
    }
    made["annotations"] = json::object();
    for (const auto& [key, value] : of.annotations) made["annotations"][key] = value;
    return made;
}

} // namespace

std::string explanation_json(const explanation& of, const explain_layout& layout) {
    json out{{"pod", pod_json(of.pod)}, {"policy", of.policy}, {"choice", choice_json(of)},
             {"nodes", json::array()},  {"notes", of.notes},   {"warnings", json::array()}};
    for (const explained_node& each : of.nodes) {
        if (layout.node.empty() || each.name == layout.node) out["nodes"].push_back(node_json(each));
    }
    for (const auto& each : layout.warnings) out["warnings"].push_back(error_json(each));
    return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace vgpualloc::explaining
