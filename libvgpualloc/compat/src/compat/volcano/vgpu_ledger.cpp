#include "vgpu_ledger.hpp"

#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "vgpu_mig.hpp"
#include "vgpu_request.hpp"

namespace vgpualloc::compat::volcano::vgpu {

namespace {

/// The first card that an id is about. Q22: upstream asks in map order; here the lowest index is the first.
std::optional<std::size_t> card_of(const node_spec& node, const std::string& id, const settings& setup) {
    for (std::size_t i = 0; i < node.cards.size(); ++i) {
        if (is_id_of(id, node.cards[i], setup)) return i;
    }
    return std::nullopt;
}

std::vector<assigned_card> assignment_of(const pod& bound) {
    return decode_assignment(kubernetes::value_of(bound.annotations, ids_annotation));
}

std::set<std::size_t> cards_holding(const node_ledger& node, const std::string& uid) {
    std::set<std::size_t> cards;
    for (std::size_t i = 0; i < node.pods.size(); ++i) {
        if (node.pods[i].contains(uid)) cards.insert(i);
    }
    return cards;
}

void add_card(node_ledger& node, std::size_t i, const pod& bound, const assigned_card& assigned,
              const settings& setup) {
    const card_spec& card = node.spec->cards[i];
    card_use& use = node.uses[i];
    std::int64_t charged = assigned.memory;
    if (is_served_as_mig(*node.spec, card, setup)) {
        const auto address = read_mig_id(assigned.id, setup);
        if (!address) return;
        const auto memory = use_instance(card, use, *address);
        if (!memory) return;
        charged = setup.in_ledger_units(*memory);
    }
    ++use.num;
    use.memory += charged;
    use.cores += charged_cores(*node.spec, card, assigned.cores, setup);
    pod_share& share = node.pods[i][bound.uid];
    share.memory += charged;
    share.cores += assigned.cores;
    share.pod_group = pod_group_of(bound);
}

/// Takes one entry off the card; false if it cannot be read.
bool sub_card(node_ledger& node, std::size_t i, const assigned_card& assigned, const settings& setup) {
    const card_spec& card = node.spec->cards[i];
    card_use& use = node.uses[i];
    std::int64_t charged = assigned.memory;
    if (is_served_as_mig(*node.spec, card, setup)) {
        const auto address = read_mig_id(assigned.id, setup);
        if (!address) return false;
        const auto memory = free_instance(card, use, *address, setup);
        if (!memory) return false;
        charged = setup.in_ledger_units(*memory);
    }
    --use.num;
    use.memory -= charged;
    use.cores -= charged_cores(*node.spec, card, assigned.cores, setup);
    // Q1a: upstream never goes back to "no group chosen".
    if (!setup.has(quirk::q1a) && use.num == 0 && use.usage.empty()) use.group = use.settled_group = -1;
    return true;
}

} // namespace

node_ledger make_ledger(node_spec registered) {
    node_ledger result;
    result.uses.resize(registered.cards.size());
    result.pods.resize(registered.cards.size());
    result.spec = std::make_shared<const node_spec>(std::move(registered));
    return result;
}

void add_pod(node_ledger& node, const pod& bound, const settings& setup) {
    const std::set<std::size_t> known = cards_holding(node, bound.uid);
    for (const assigned_card& assigned : assignment_of(bound)) {
        const auto i = card_of(*node.spec, assigned.id, setup);
        if (!i) continue;
        // Q2: a pod counts once per card, with the first of its containers there. Off: once per AddResource.
        if (setup.has(quirk::q2) ? node.pods[*i].contains(bound.uid) : known.contains(*i)) continue;
        add_card(node, *i, bound, assigned, setup);
    }
}

void sub_pod(node_ledger& node, const pod& bound, const settings& setup) {
    std::set<std::size_t> freed;
    for (const assigned_card& assigned : assignment_of(bound)) {
        const auto i = card_of(*node.spec, assigned.id, setup);
        if (!i || !node.pods[*i].contains(bound.uid)) continue;
        if (!sub_card(node, *i, assigned, setup)) continue;
        // Q2: the first entry of a card takes the pod off it, and the others find nothing.
        if (setup.has(quirk::q2)) {
            node.pods[*i].erase(bound.uid);
        } else {
            freed.insert(*i);
        }
    }
    for (const std::size_t i : freed) node.pods[i].erase(bound.uid);
}

void add_to_pod_maps(node_ledger& node, const pod& pending, std::string_view annotation, const settings& setup) {
    for (const assigned_card& assigned : decode_assignment(annotation)) {
        for (std::size_t i = 0; i < node.spec->cards.size(); ++i) {
            // Q22: every card whose uuid is part of the id gets an entry, not only the first.
            if (!is_id_of(assigned.id, node.spec->cards[i], setup)) continue;
            pod_share& share = node.pods[i][pending.uid];
            share.memory += assigned.memory;
            share.cores += assigned.cores;
            share.pod_group = pod_group_of(pending);
        }
    }
}

} // namespace vgpualloc::compat::volcano::vgpu
