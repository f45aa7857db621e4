// The model's answers in the shape of the recordings.
#include "recording.hpp"

namespace vgpuconformance {

namespace {

json resource_json(const volcano::npu_resource& amount) {
    return {{"core", amount.core}, {"cpu", amount.cpu}, {"dvpp", amount.dvpp}};
}

json usage_json(const volcano::mig_usage& usage) {
    return {{"name", usage.name}, {"memory", usage.memory}, {"used", usage.used}};
}

void add_fixed(json& out, const volcano::card_state& card) {
    out["uuid"] = card.uuid;
    out["memory"] = card.memory;
    out["number"] = card.number;
    out["cores"] = card.cores;
    out["type"] = card.type;
    out["health"] = card.health;
    out["mig_groups"] = card.mig_groups;
    if (card.network_id) out["network_id"] = *card.network_id;
    if (card.npu_total) out["total"] = resource_json(*card.npu_total);
}

json card_json(const volcano::card_state& card, bool fixed) {
    json out{{"i", card.index},           {"used_num", card.used_num},
             {"used_mem", card.used_mem}, {"used_core", card.used_core},
             {"pod_uids", card.pod_uids}, {"segment", card.segment},
             {"unstable", card.unstable}, {"ids", card.ids}};
    for (const auto& [uid, use] : card.pods) out["pods"][uid] = {use.first, use.second};
    if (card.mig_index) out["mig_index"] = *card.mig_index;
    for (const auto& usage : card.usage) out["mig_usage"].push_back(usage_json(usage));
    if (card.npu_used) out["used"] = resource_json(*card.npu_used);
    if (card.npu_free) out["free"] = resource_json(*card.npu_free);
    if (fixed) add_fixed(out, card);
    return out;
}

json picked_json(const volcano::picked_card& card) {
    json out{{"index", card.index}, {"uuid", card.uuid},  {"id", card.id},
             {"type", card.type},   {"mem", card.memory}, {"cores", card.cores}};
    if (card.mig) {
        out["mig"] = {{"group", card.mig->group},
                      {"group_index", card.mig->group_index},
                      {"position", card.mig->position},
                      {"instance_index", card.mig->instance_index},
                      {"instance_name", card.mig->instance_name},
                      {"slot", card.mig->slot},
                      {"memory", card.mig->memory}};
    }
    return out;
}

json answers_json(const volcano::attempt& decided) {
    json out = json::array();
    for (const volcano::node_answer& answer : decided.nodes) {
        const auto& verdict = answer.verdict;
        out.push_back({{"req", answer.requested},
                       {"fit", answer.fits()},
                       {"code", verdict.code},
                       {"msg", verdict.message},
                       {"err", verdict.error},
                       {"reason", answer.requested ? verdict.reason : "no_device_or_no_request"},
                       {"raw", answer.raw},
                       {"rounded", answer.rounded},
                       {"weighted", answer.weighted}});
    }
    return out;
}

json allocation_json(const volcano::allocate_answer& allocated) {
    json out{{"ok", allocated.ok},         {"err", allocated.error},
             {"reason", allocated.reason}, {"annotations", allocated.annotations},
             {"chips", allocated.chips},   {"template", allocated.template_name}};
    for (const auto& container : allocated.containers) {
        json cards = json::array();
        for (const auto& card : container) cards.push_back(picked_json(card));
        out["containers"].push_back(std::move(cards));
    }
    return out;
}

bool says_nothing(const json& value) {
    return value.is_null() || (value.is_boolean() && !value.get<bool>()) ||
           (value.is_number() && value.get<double>() == 0.0) ||
           ((value.is_string() || value.is_structured()) && value.empty()) ||
           (value.is_string() && value.get_ref<const std::string&>().empty());
}

} // namespace

json state_json(const volcano::ledger_state& state, std::size_t node, bool fixed) {
    json out{{"node", node},
             {"present", state.present},
             {"mode", state.mode},
             {"devices", json::array()},
             {"con_cache", state.con_cache},
             {"downgrade_cache", state.downgrade_cache},
             {"pod_allocation", state.pod_allocation},
             {"valid_vnode", state.valid_vnode},
             {"idle_npu_core", state.idle_npu_core},
             {"unhealthy_chips", state.unhealthy_chips}};
    for (const auto& card : state.devices) out["devices"].push_back(card_json(card, fixed));
    for (const auto& [rule, cards] : state.rule_gpus) out["rule_gpus"][std::to_string(rule)] = cards;
    return out;
}

json attempt_json(const volcano::scheduler& model, const volcano::attempt& decided) {
    json out{{"nodes", answers_json(decided)},
             {"chosen", decided.chosen ? static_cast<std::int64_t>(*decided.chosen) : -1}};
    if (decided.allocated) {
        out["alloc"] = allocation_json(*decided.allocated);
        out["session_state"] = state_json(model.session_state(*decided.chosen), *decided.chosen, false);
    }
    return out;
}

json compact(const json& value) {
    if (value.is_array()) {
        json out = json::array();
        for (const json& element : value) out.push_back(compact(element));
        return out;
    }
    if (!value.is_object()) return value;
    json out = json::object();
    for (const auto& [key, member] : value.items()) {
        json kept = compact(member);
        if (!says_nothing(kept)) out[key] = std::move(kept);
    }
    return out;
}

} // namespace vgpuconformance
