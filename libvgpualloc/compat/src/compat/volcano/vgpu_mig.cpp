#include "vgpu_mig.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "go_text.hpp"

namespace vgpualloc::compat::volcano::vgpu {

namespace {

/// A kind of a group, and which of its instances.
struct kind_slot {
    std::size_t kind = 0;
    std::int64_t slot = 0;
};

const mig_usage* usage_of(const std::vector<mig_usage>& usage, const std::string& kind) {
    const auto entry = std::ranges::find(usage, kind, &mig_usage::name);
    return entry == usage.end() ? nullptr : &*entry;
}

/// Lowest instance that is not in use; 0 if there is none.
std::int64_t lowest_free(std::int64_t count, const std::vector<std::int64_t>& used) {
    for (std::int64_t slot = 0; slot < count; ++slot) {
        if (std::ranges::find(used, slot) == used.end()) return slot;
    }
    return 0;
}

std::int64_t position_of(const mig_group& group, kind_slot at) {
    std::int64_t position = at.slot;
    for (std::size_t i = 0; i < at.kind; ++i) position += group.instances[i].count;
    return position;
}

std::optional<kind_slot> at_position(const mig_group& group, std::int64_t position) {
    std::int64_t first = 0;
    for (std::size_t i = 0; i < group.instances.size(); ++i) {
        if (position < first + group.instances[i].count) return kind_slot{.kind = i, .slot = position - first};
        first += group.instances[i].count;
    }
    return std::nullopt;
}

/// The slot of this kind that a request would get with this usage.
std::optional<std::int64_t> slot_in_kind(const mig_instance_kind& kind, const std::vector<mig_usage>& usage,
                                         std::int64_t memory, const settings& setup) {
    if (kind.memory < memory) return std::nullopt;
    if (usage.empty()) return 0;
    const mig_usage* const used = usage_of(usage, kind.name);
    if (used == nullptr) {
        // Q1b: once anything is in use upstream considers only the kinds that are.
        if (setup.has(quirk::q1b) || kind.count <= 0) return std::nullopt;
        return 0;
    }
    if (kind.count - static_cast<std::int64_t>(used->used.size()) <= 0) return std::nullopt;
    return lowest_free(kind.count, used->used);
}

/// The kinds of a group, those with less memory first.
std::vector<std::size_t> by_memory(const mig_group& group) {
    std::vector<std::size_t> order(group.instances.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&group](std::size_t i) { return group.instances[i].memory; });
    return order;
}

std::optional<std::size_t> first_group(const card_spec& card, std::string_view name) {
    if (card.groups == nullptr) return std::nullopt;
    const auto group = std::ranges::find(*card.groups, name, &mig_group::name);
    if (group == card.groups->end()) return std::nullopt;
    return static_cast<std::size_t>(group - card.groups->begin());
}

} // namespace

std::vector<mig_pick> instances_for(const card_spec& card, const card_use& use, const instance_wish& wish,
                                    std::size_t most, const settings& setup) {
    std::vector<mig_pick> picks;
    if (card.groups == nullptr) return picks;
    // Q1e off: no card has instances of two groups; one that history gave both takes no more.
    const bool mixed =
        std::ranges::any_of(use.held, [&](const held_instance& held) { return held.group != use.held.front().group; });
    if (mixed && !setup.has(quirk::q1e)) return picks;
    const std::int64_t factor = std::max<std::int64_t>(setup.config->gpu_memory_factor, 1);
    const auto& groups = *card.groups;
    static const std::vector<mig_usage> none;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (use.group >= 0 && static_cast<std::size_t>(use.group) != i) continue;
        // Q1d: a second group of one name can be picked, but its ids are read as the first group's. Off: it is not
        // offered, since no id can name its instances.
        if (!setup.has(quirk::q1d) && first_group(card, groups[i].name) != i) continue;
        for (const std::size_t kind : by_memory(groups[i])) {
            // Q27: upstream does not ask what compute an instance has.
            if (!setup.has(quirk::q27) && card.compute[i][kind] < wish.cores) continue;
            const mig_instance_kind& cut = groups[i].instances[kind];
            const auto slot = slot_in_kind(cut, use.group >= 0 ? use.usage : none, wish.need * factor, setup);
            if (!slot) continue;
            picks.push_back({.group = i,
                             .kind = kind,
                             .slot = *slot,
                             .position = position_of(groups[i], {.kind = kind, .slot = *slot}),
                             .memory = cut.memory});
            if (picks.size() == most) return picks;
        }
    }
    return picks;
}

std::string mig_id(const card_spec& card, const mig_pick& pick) {
    return card.uuid + "[" + (*card.groups)[pick.group].name + "-" + std::to_string(pick.position) + "]";
}

picked_mig described(const card_spec& card, const mig_pick& pick) {
    picked_mig result;
    result.group = (*card.groups)[pick.group].name;
    result.position = pick.position;
    result.instance_index = -1;
    const std::size_t group = first_group(card, result.group).value_or(pick.group);
    result.group_index = static_cast<std::int64_t>(group);
    if (const auto at = at_position((*card.groups)[group], pick.position)) {
        const mig_instance_kind& kind = (*card.groups)[group].instances[at->kind];
        result.instance_index = static_cast<std::int64_t>(at->kind);
        result.instance_name = kind.name;
        result.slot = at->slot;
        result.memory = kind.memory;
    }
    return result;
}

std::optional<mig_address> read_mig_id(std::string_view id, const settings& setup) {
    const auto open = id.find('[');
    const auto close = id.find(']');
    if (open == std::string_view::npos || close == std::string_view::npos || open > close) return std::nullopt;
    const std::string_view inside = id.substr(open + 1, close - open - 1);
    const auto dash = inside.rfind('-');
    // Q1c: a group name with a dash makes more than two parts, which upstream refuses. Off: the last dash counts.
    const bool two_parts = dash != std::string_view::npos && inside.find('-') == dash;
    if (dash == std::string_view::npos || (!two_parts && setup.has(quirk::q1c))) return std::nullopt;
    const auto position = go_text::atoi(inside.substr(dash + 1));
    if (!position) return std::nullopt;
    return mig_address{.group = inside.substr(0, dash), .position = *position};
}

std::optional<std::int64_t> use_instance(const card_spec& card, card_use& use, const mig_address& where) {
    const auto group = first_group(card, where.group);
    if (!group) return 0;
    const auto at = at_position((*card.groups)[*group], where.position);
    // Q1d: upstream indexes with -1 here and panics. Here the id is one that cannot be read.
    if (!at) return std::nullopt;
    use.group = static_cast<std::int64_t>(*group);
    use.settled_group = use.group;
    const mig_instance_kind& kind = (*card.groups)[*group].instances[at->kind];
    use_slot(use, kind, at->slot);
    use.held.push_back({.group = use.group, .kind = kind.name, .slot = at->slot});
    // Of a kind of this name in another group the entry keeps that one's memory.
    return usage_of(use.usage, kind.name)->memory;
}

namespace {

/// The group of a card from which a pod of `group` has gone. Q1a: that group, whatever is left. Off: a group that is
/// still in use.
std::int64_t group_left(const card_use& use, std::int64_t group, const settings& setup) {
    if (setup.has(quirk::q1a) || use.held.empty()) return group;
    const bool in_use = std::ranges::find(use.held, group, &held_instance::group) != use.held.end();
    return in_use ? group : use.held.back().group;
}

} // namespace

std::optional<std::int64_t> free_instance(const card_spec& card, card_use& use, const mig_address& where,
                                          const settings& setup) {
    const auto group = first_group(card, where.group);
    if (!group) return 0;
    const auto at = at_position((*card.groups)[*group], where.position);
    if (!at) return std::nullopt; // Q1d, as above.
    const mig_instance_kind& kind = (*card.groups)[*group].instances[at->kind];
    const held_instance gone{.group = static_cast<std::int64_t>(*group), .kind = kind.name, .slot = at->slot};
    if (const auto entry = std::ranges::find(use.held, gone); entry != use.held.end()) use.held.erase(entry);
    use.group = use.settled_group = group_left(use, gone.group, setup);
    const mig_usage* const used = usage_of(use.usage, kind.name);
    const std::int64_t memory = used == nullptr ? 0 : used->memory;
    // Q1: an instance that two pods have got is free when the first of them goes. Off: when the last does.
    const bool shared = std::ranges::any_of(
        use.held, [&](const held_instance& other) { return other.kind == gone.kind && other.slot == gone.slot; });
    if (used != nullptr && (setup.has(quirk::q1) || !shared)) free_slot(use, kind, at->slot);
    return memory;
}

void use_slot(card_use& use, const mig_instance_kind& kind, std::int64_t slot) {
    auto entry = std::ranges::find(use.usage, kind.name, &mig_usage::name);
    if (entry == use.usage.end()) {
        entry = use.usage.insert(entry, mig_usage{.name = kind.name, .memory = kind.memory, .used = {}});
    }
    const auto place = std::ranges::lower_bound(entry->used, slot);
    if (place == entry->used.end() || *place != slot) entry->used.insert(place, slot);
}

void free_slot(card_use& use, const mig_instance_kind& kind, std::int64_t slot) {
    const auto entry = std::ranges::find(use.usage, kind.name, &mig_usage::name);
    if (entry == use.usage.end()) return;
    std::erase(entry->used, slot);
    if (entry->used.empty()) use.usage.erase(entry);
}

} // namespace vgpualloc::compat::volcano::vgpu
