// Following a ledger through its log.
#include "alloc/mirror.hpp"

#include <algorithm>
#include <utility>

namespace vgpualloc {

namespace {

std::vector<std::uint32_t> kinds_of(const node& described) {
    std::vector<std::uint32_t> kinds;
    for (const device& registered : described.devices) kinds.push_back(registered.kind);
    std::ranges::sort(kinds);
    const auto repeated = std::ranges::unique(kinds);
    kinds.erase(repeated.begin(), repeated.end());
    return kinds;
}

} // namespace

cluster_mirror::cluster_mirror(const ledger& book, mirror_limits limits)
    : ledger_{&book}, limits_{limits}, states_{book.nodes()} {
    read_all_nodes();
}

/// The groups and places of all nodes, from the ledger alone.
void cluster_mirror::read_all_nodes() {
    places_.assign(ledger_->nodes().nodes.size(), {});
    for (node_group& group : groups_) {
        group.slots.clear();
        group.facts.clear();
        group.holes = 0;
        group.newest = no_slot;
        group.renumbered = ++group.changes;
    }
    std::vector<node_index> by_rank;
    for (std::size_t i = 0; i < places_.size(); ++i) {
        if (ledger_->is_present(node_index{i})) by_rank.emplace_back(i);
    }
    const auto rank_of = [this](node_index where) { return ledger_->rank_of(where); };
    if (!std::ranges::is_sorted(by_rank, {}, rank_of)) std::ranges::sort(by_rank, {}, rank_of);
    for (const node_index where : by_rank) {
        slot_place& place = places_[where.at()];
        place.count = static_cast<std::uint32_t>(ledger_->devices(where).size());
        enter_group(where, place);
    }
    sort_hosts();
    intern_all();
}

void cluster_mirror::intern_all() {
    ++id_generation_;
    crowded_ = false;
    states_.clear();
    devices_.clear();
    devices_unused_ = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
        slot_place& place = places_[i];
        if (place.group == no_slot) {
            place.first = 0;
            place.count = 0;
            continue;
        }
        const node_index where{i};
        place.first = devices_.size();
        devices_.resize(devices_.size() + place.count);
        const auto& registered = ledger_->nodes().nodes[i].devices;
        const auto use = ledger_->devices(where);
        const auto services = ledger_->services(where);
        for (std::size_t d = 0; d < place.count; ++d) {
            devices_[place.first + d] = &states_.device(registered[d].kind, use[d], services[d]);
        }
        read_host(where);
        node_slot& slot = groups_[place.group].slots[place.slot];
        slot.config = &states_.config(devices(where));
        slot.config_id = slot.config->id;
    }
    devices_max_ = std::max(limits_.devices_max, 4 * states_.device_count());
    configs_max_ = std::max(limits_.configs_max, 4 * states_.config_count());
}

void cluster_mirror::read_log(const policy_pair& policies) {
    if (next_event_ < ledger_->first_event()) {
        next_event_ = ledger_->next_event();
        read_all_nodes();
        crowded_ = true; // what was kept by id is void
        return;
    }
    for (; next_event_ < ledger_->next_event(); ++next_event_) read_event(ledger_->event(next_event_), policies);
}

void cluster_mirror::read_event(const ledger_event& event, const policy_pair& policies) {
    const bool changes_use = is_of_booking(event.kind) && event.kind != ledger_event_kind::commit;
    if (changes_use) take_over(ledger_->bookings()[event.subject]);
    if (is_of_node(event.kind)) read_node(ledger_->change(event).where);
    tell_policies(*ledger_, event, policies);
}

/// Takes over what the ledger says of a node's host part.
void cluster_mirror::read_host(node_index where) {
    const node& described = ledger_->nodes().nodes[where.at()];
    const host_use& used = ledger_->host(where);
    const slot_place& place = places_[where.at()];
    node_group& group = groups_[place.group];
    node_slot& slot = group.slots[place.slot];
    slot.cpu_left = described.cpu - used.cpu;
    slot.is_full = used.pods >= described.pods_max;
    slot.needs_look = slot.is_full || !described.host.is_open();
    group.facts[place.slot].memory_left = described.memory - used.memory;
    group.facts[place.slot].cpu_capacity = described.cpu;
}

/// After a booking was made or taken back. It may be an old one of a node that has changed since.
void cluster_mirror::take_over(const booking& entry) {
    const node_index where = entry.where.node;
    const bool known = where.at() < places_.size() && where.at() < ledger_->nodes().nodes.size() &&
                       places_[where.at()].version == ledger_->version_of(where);
    if (!known) {
        read_node(where);
        return;
    }
    const slot_place& place = places_[where.at()];
    if (place.group == no_slot) return;
    read_host(where);
    node_slot& slot = groups_[place.group].slots[place.slot];
    const auto use = ledger_->devices(where);
    const bool several = entry.where.shares.size() > 1; // configurations in between would never be seen
    for (const device_share& share : entry.where.shares) {
        if (share.device.at() >= use.size()) continue; // an index from before the node changed
        const device_view*& current = devices_[place.first + share.device.at()];
        const device_view& now = states_.device(*current, use[share.device.at()]);
        if (&now == current) continue;
        if (!several) slot.config = &states_.replace(*slot.config, *current, now);
        current = &now;
    }
    if (several) slot.config = &states_.config(devices(where));
    slot.config_id = slot.config->id;
    mark_changed(groups_[place.group], place.slot);
}

/// After a node came, changed or went: everything of it is read again.
void cluster_mirror::read_node(node_index where) {
    const std::size_t nodes = ledger_->nodes().nodes.size();
    while (places_.size() > nodes) { // a trial that added nodes was undone
        leave_group(places_.back());
        devices_unused_ += places_.back().count;
        places_.pop_back();
    }
    places_.resize(nodes);
    if (where.at() >= nodes) return;
    slot_place& place = places_[where.at()];
    place.version = ledger_->version_of(where);
    const auto& registered = ledger_->nodes().nodes[where.at()].devices;
    const bool stays = place.group != no_slot && ledger_->is_present(where) &&
                       groups_[place.group].facts[place.slot].rank == ledger_->rank_of(where) &&
                       groups_[place.group].kinds == kinds_of(ledger_->nodes().nodes[where.at()]);
    if (!stays) leave_group(place);
    if (!ledger_->is_present(where)) return;
    if (place.count != registered.size()) {
        devices_unused_ += place.count;
        place.first = devices_.size();
        place.count = static_cast<std::uint32_t>(registered.size());
        devices_.resize(devices_.size() + place.count);
    }
    if (!stays) enter_group(where, place);
    const auto use = ledger_->devices(where);
    const auto services = ledger_->services(where);
    for (std::size_t d = 0; d < place.count; ++d) {
        devices_[place.first + d] = &states_.device(registered[d].kind, use[d], services[d]);
    }
    read_host(where);
    sort_host(where);
    node_slot& slot = groups_[place.group].slots[place.slot];
    slot.config = &states_.config(devices(where));
    slot.config_id = slot.config->id;
    mark_changed(groups_[place.group], place.slot);
    if (devices_unused_ > devices_.size() / 2 + 1024) pack_devices();
}

/// Drops the entries that no node has any more. Ids stay what they are.
void cluster_mirror::pack_devices() {
    std::vector<const device_view*> packed;
    packed.reserve(devices_.size() - devices_unused_);
    for (slot_place& place : places_) {
        if (place.group == no_slot) place.count = 0;
        const auto begin = devices_.begin() + static_cast<std::ptrdiff_t>(place.first);
        place.first = packed.size();
        packed.insert(packed.end(), begin, begin + static_cast<std::ptrdiff_t>(place.count));
    }
    devices_ = std::move(packed);
    devices_unused_ = 0;
}

/// A node is in the class of what it is described as now.
void cluster_mirror::sort_host(node_index where) {
    const slot_place& place = places_[where.at()];
    std::uint32_t& number = groups_[place.group].facts[place.slot].host_class;
    const std::uint32_t former = std::exchange(number, hosts_.join(ledger_->nodes().nodes[where.at()]));
    if (former != host_classes::none) hosts_.leave(former);
    if (hosts_.is_crowded()) sort_hosts();
}

void cluster_mirror::sort_hosts() {
    hosts_.start_over();
    for (std::size_t i = 0; i < places_.size(); ++i) {
        const slot_place& place = places_[i];
        if (place.group == no_slot) continue;
        groups_[place.group].facts[place.slot].host_class = hosts_.join(ledger_->nodes().nodes[i]);
    }
}

void cluster_mirror::leave_group(slot_place& place) {
    if (place.group == no_slot) return;
    node_group& group = groups_[place.group];
    hosts_.leave(std::exchange(group.facts[place.slot].host_class, host_classes::none));
    group.slots[place.slot].config = nullptr;
    group.slots[place.slot].needs_look = true;
    mark_changed(group, place.slot);
    ++group.holes;
    place.group = no_slot;
    if (group.holes > 64 && group.holes * 2 > group.slots.size()) renumber(group);
}

/// Puts a node into its group: mostly at the end or back where it was before.
void cluster_mirror::enter_group(node_index where, slot_place& place) {
    auto kinds = kinds_of(ledger_->nodes().nodes[where.at()]);
    const auto [at, added] = group_numbers_.emplace(std::move(kinds), static_cast<std::uint32_t>(groups_.size()));
    if (added) groups_.emplace_back().kinds = at->first;
    node_group& group = groups_[at->second];
    const node_facts facts{.memory_left = {}, .cpu_capacity = {}, .node = where, .rank = ledger_->rank_of(where)};
    const auto after = std::ranges::lower_bound(group.facts, facts.rank, {}, &node_facts::rank);
    const auto position = static_cast<std::size_t>(after - group.facts.begin());
    place.group = at->second;
    place.version = ledger_->version_of(where);
    place.slot = static_cast<std::uint32_t>(position);
    if (after == group.facts.end()) {
        group.slots.emplace_back();
        group.facts.push_back(facts);
    } else if (after->rank == facts.rank) { // the hole that it left
        --group.holes;
    } else {
        put_between(group, facts, position);
    }
}

/// Ranks rise, so this happens only where several changes of nodes are read at once.
void cluster_mirror::put_between(node_group& group, const node_facts& facts, std::size_t position) {
    group.slots.insert(group.slots.begin() + static_cast<std::ptrdiff_t>(position), node_slot{});
    group.facts.insert(group.facts.begin() + static_cast<std::ptrdiff_t>(position), facts);
    for (std::size_t i = position + 1; i < group.slots.size(); ++i) {
        if (group.slots[i].config != nullptr) places_[group.facts[i].node.at()].slot = static_cast<std::uint32_t>(i);
    }
    forget_changes(group);
}

/// Closes the holes.
void cluster_mirror::renumber(node_group& group) {
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < group.slots.size(); ++i) {
        if (group.slots[i].config == nullptr) continue;
        group.slots[kept] = group.slots[i];
        group.facts[kept] = group.facts[i];
        places_[group.facts[i].node.at()].slot = kept;
        ++kept;
    }
    group.slots.resize(kept);
    group.facts.resize(kept);
    group.holes = 0;
    forget_changes(group);
}

/// Every index of the group is built anew, as its slots have new numbers.
void cluster_mirror::forget_changes(node_group& group) {
    group.newest = no_slot;
    for (node_slot& slot : group.slots) {
        slot.newer = no_slot;
        slot.older = no_slot;
    }
    group.renumbered = ++group.changes;
}

/// Moves a slot to the front of the group's list of latest changes, so that an index that fell behind meets every
/// changed node once, however often it changed.
void cluster_mirror::mark_changed(node_group& group, std::uint32_t slot) {
    node_slot& changed = group.slots[slot];
    changed.changed = ++group.changes;
    if (group.newest == slot) return;
    if (changed.newer != no_slot) group.slots[changed.newer].older = changed.older;
    if (changed.older != no_slot) group.slots[changed.older].newer = changed.newer;
    changed.newer = no_slot;
    changed.older = group.newest;
    if (group.newest != no_slot) group.slots[group.newest].newer = slot;
    group.newest = slot;
}

node_view cluster_mirror::view_of(node_index where) const noexcept {
    const slot_place& place = places_[where.at()];
    const node_group& group = groups_[place.group];
    return {.node = where,
            .cpu_capacity = group.facts[place.slot].cpu_capacity,
            .cpu_left = group.slots[place.slot].cpu_left,
            .config = group.slots[place.slot].config};
}

} // namespace vgpualloc
