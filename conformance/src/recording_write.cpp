// The model's answers in the shape of the recordings.
#include "recording.hpp"

#include <algorithm>
#include <utility>

namespace vgpuconformance {

namespace {

document resource_document(const volcano::npu_resource& amount) {
    return document::map({{"core", amount.core}, {"cpu", amount.cpu}, {"dvpp", amount.dvpp}});
}

document usage_document(const volcano::mig_usage& usage) {
    return document::map({{"name", usage.name}, {"memory", usage.memory}, {"used", document::list_of(usage.used)}});
}

void add_fixed(document& out, const volcano::card_state& card) {
    out["uuid"] = card.uuid;
    out["memory"] = card.memory;
    out["number"] = card.number;
    out["cores"] = card.cores;
    out["type"] = card.type;
    out["health"] = card.health;
    out["mig_groups"] = document::list_of(card.mig_groups);
    if (card.network_id) out["network_id"] = *card.network_id;
    if (card.npu_total) out["total"] = resource_document(*card.npu_total);
}

document card_document(const volcano::card_state& card, bool fixed) {
    document out = document::map({{"i", card.index},
                                  {"used_num", card.used_num},
                                  {"used_mem", card.used_mem},
                                  {"used_core", card.used_core},
                                  {"pod_uids", document::list_of(card.pod_uids)},
                                  {"segment", card.segment},
                                  {"unstable", card.unstable},
                                  {"ids", document::list_of(card.ids)}});
    for (const auto& [uid, use] : card.pods) out["pods"][uid] = document::list({use.first, use.second});
    if (card.mig_index) out["mig_index"] = *card.mig_index;
    for (const auto& usage : card.usage) out["mig_usage"].push_back(usage_document(usage));
    if (card.npu_used) out["used"] = resource_document(*card.npu_used);
    if (card.npu_free) out["free"] = resource_document(*card.npu_free);
    if (fixed) add_fixed(out, card);
    return out;
}

document picked_document(const volcano::picked_card& card) {
    document out = document::map({{"index", card.index},
                                  {"uuid", card.uuid},
                                  {"id", card.id},
                                  {"type", card.type},
                                  {"mem", card.memory},
                                  {"cores", card.cores}});
    if (card.mig) {
        out["mig"] = document::map({{"group", card.mig->group},
                                    {"group_index", card.mig->group_index},
                                    {"position", card.mig->position},
                                    {"instance_index", card.mig->instance_index},
                                    {"instance_name", card.mig->instance_name},
                                    {"slot", card.mig->slot},
                                    {"memory", card.mig->memory}});
    }
    return out;
}

document answers_document(const volcano::attempt& attempt) {
    document out = document::list();
    for (const volcano::node_answer& answer : attempt.nodes) {
        const auto& verdict = answer.verdict;
        out.push_back(document::map({{"req", answer.requested},
                                     {"fit", answer.fits()},
                                     {"code", verdict.code},
                                     {"msg", verdict.message},
                                     {"err", verdict.error},
                                     {"reason", answer.requested ? verdict.reason : "no_device_or_no_request"},
                                     {"raw", answer.raw},
                                     {"rounded", answer.rounded},
                                     {"weighted", answer.weighted}}));
    }
    return out;
}

document allocation_document(const volcano::allocate_answer& allocated) {
    document out = document::map({{"ok", allocated.ok},
                                  {"err", allocated.error},
                                  {"reason", allocated.reason},
                                  {"annotations", document::map_of(allocated.annotations)},
                                  {"chips", document::list_of(allocated.chips)},
                                  {"template", allocated.template_name}});
    for (const auto& container : allocated.containers) {
        document cards = document::list();
        for (const auto& card : container) cards.push_back(picked_document(card));
        out["containers"].push_back(std::move(cards));
    }
    return out;
}

} // namespace

document state_document(const volcano::ledger_state& state, std::size_t node, bool fixed) {
    document con_cache = document::map();
    for (const auto& [name, pod_uids] : state.con_cache) con_cache[name] = document::list_of(pod_uids);
    document out = document::map({{"node", node},
                                  {"present", state.present},
                                  {"mode", state.mode},
                                  {"devices", document::list()},
                                  {"con_cache", con_cache},
                                  {"downgrade_cache", document::list_of(state.downgrade_cache)},
                                  {"pod_allocation", document::map_of(state.pod_allocation)},
                                  {"valid_vnode", state.valid_vnode},
                                  {"idle_npu_core", state.idle_npu_core},
                                  {"unhealthy_chips", document::list_of(state.unhealthy_chips)}});
    for (const auto& card : state.devices) out["devices"].push_back(card_document(card, fixed));
    for (const auto& [rule, cards] : state.rule_gpus) out["rule_gpus"][std::to_string(rule)] = document::list_of(cards);
    return out;
}

document attempt_document(const volcano::scheduler& model, const volcano::attempt& attempt) {
    document out = document::map({{"nodes", answers_document(attempt)},
                                  {"chosen", attempt.chosen ? static_cast<std::int64_t>(*attempt.chosen) : -1}});
    if (attempt.allocated) {
        out["alloc"] = allocation_document(*attempt.allocated);
        out["session_state"] = state_document(model.session_state(*attempt.chosen), *attempt.chosen, false);
    }
    return out;
}

bool says_nothing(const document& value) {
    switch (value.kind) {
    case vgpuformats::value_kind::null:
        return true;
    case vgpuformats::value_kind::boolean:
        return value.text == "false";
    case vgpuformats::value_kind::number:
        return value.real() == 0.0;
    case vgpuformats::value_kind::text:
        return value.text.empty();
    case vgpuformats::value_kind::list:
        return value.items.empty();
    case vgpuformats::value_kind::map:
        return std::ranges::all_of(value.members, says_nothing, &document::member::second);
    }
    return false;
}

document compact(const document& value) {
    document result = value;
    for (document& item : result.items) item = compact(item);
    std::erase_if(result.members, [](const document::member& member) { return says_nothing(member.second); });
    for (auto& member : result.members) member.second = compact(member.second);
    return result;
}

void sort_members(document& value) {
    for (document& item : value.items) sort_members(item);
    for (auto& member : value.members) sort_members(member.second);
    std::ranges::sort(value.members, {}, &document::member::first);
}

} // namespace vgpuconformance
