#include "vgpu_exclusive.hpp"

#include <algorithm>
#include <utility>

#include "vgpu_annotation.hpp"

namespace vgpualloc::compat::volcano {

std::shared_ptr<exclusive_memory> make_exclusive_memory() { return std::make_shared<exclusive_memory>(); }

namespace vgpu {

namespace {

std::string key_of(const pod& named) { return named.ns + "/" + named.name; }

/// Indexes of the cards whose pod map has the pod.
std::set<std::int64_t> cards_with(const node_ledger& node, const std::string& uid) {
    std::set<std::int64_t> cards;
    for (std::size_t i = 0; i < node.pods.size(); ++i) {
        if (node.pods[i].contains(uid)) cards.insert(node.spec->cards[i].index);
    }
    return cards;
}

/// Indexes of the cards that the pod's annotation names, with exactly their uuid.
std::set<std::int64_t> annotated_cards(const node_ledger& node, const pod& bound) {
    std::set<std::int64_t> cards;
    for (const assigned_card& assigned : decode_assignment(kubernetes::value_of(bound.annotations, ids_annotation))) {
        // Of cards with the same uuid the last one, as in an index by uuid.
        const auto& all = node.spec->cards;
        const auto card =
            std::find_if(all.rbegin(), all.rend(), [&](const card_spec& c) { return c.uuid == assigned.id; });
        if (card != all.rend()) cards.insert(card->index);
    }
    return cards;
}

} // namespace

exclusive_rules::exclusive_rules(std::vector<kubernetes::text_map> rules, const node_ledger& node,
                                 std::span<const pod* const> on_node, std::shared_ptr<exclusive_memory> memory,
                                 const settings& setup)
    : rules_{std::move(rules)}, memory_{std::move(memory)}, q20_{setup.has(quirk::q20)} {
    // A rule without labels would match every pod; upstream drops it before it numbers them.
    std::erase_if(rules_, [](const kubernetes::text_map& rule) { return rule.empty(); });

    auto& remembered = memory_->by_node[node.spec->name];
    for (const pod* const bound : on_node) {
        const std::string key = key_of(*bound);
        uids_[key] = bound->uid;
        const auto matched = rules_of(*bound);
        if (matched.empty()) continue;
        tracked_[key] = matched;
        if (const auto cards = cards_with(node, bound->uid); !cards.empty()) {
            reserve(matched, cards);
            continue;
        }
        // In no pod map: what its annotation says, and what its Allocate left, with the rules that it matched then.
        reserve(matched, annotated_cards(node, *bound));
        if (const auto reservation = remembered.find(key); reservation != remembered.end()) {
            reserve(reservation->second.rules, reservation->second.cards);
        }
    }
    std::erase_if(remembered, [this](const auto& entry) { return !uids_.contains(entry.first); });
}

std::set<std::size_t> exclusive_rules::rules_of(const pod& pending) const {
    std::set<std::size_t> matched;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        const bool all = std::ranges::all_of(rules_[i], [&pending](const auto& label) {
            const auto value = pending.labels.find(label.first);
            return value != pending.labels.end() && value->second == label.second;
        });
        if (all) matched.insert(i);
    }
    return matched;
}

void exclusive_rules::reserve(const std::set<std::size_t>& rules, const std::set<std::int64_t>& cards) {
    if (cards.empty()) return;
    for (const std::size_t rule : rules) reserved_[rule].insert(cards.begin(), cards.end());
}

std::set<std::int64_t> exclusive_rules::blocked_for(const pod& pending) const {
    std::set<std::int64_t> blocked;
    for (const std::size_t rule : rules_of(pending)) {
        if (const auto reservation = reserved_.find(rule); reservation != reserved_.end()) {
            blocked.insert(reservation->second.begin(), reservation->second.end());
        }
    }
    return blocked;
}

void exclusive_rules::track(const pod& added, const node_ledger& node) {
    const std::string key = key_of(added);
    uids_[key] = added.uid;
    const auto matched = rules_of(added);
    if (matched.empty()) return;
    tracked_[key] = matched;
    reserve(matched, cards_with(node, added.uid));
}

void exclusive_rules::track_allocated(const pod& pending, const node_ledger& node) {
    const auto matched = rules_of(pending);
    if (matched.empty()) return;
    track(pending, node);
    memory_->by_node[node.spec->name][key_of(pending)] = {.cards = cards_with(node, pending.uid), .rules = matched};
}

bool exclusive_rules::holds_tracked_pod(const pod_map& on_card, const std::string& but_uid, std::size_t rule) const {
    return std::ranges::any_of(tracked_, [&](const auto& entry) {
        // Q20: a pod that is tracked for any rule keeps the card reserved for this one.
        if (!q20_ && !entry.second.contains(rule)) return false;
        const auto uid = uids_.find(entry.first);
        return uid != uids_.end() && uid->second != but_uid && on_card.contains(uid->second);
    });
}

void exclusive_rules::untrack(const pod& leaving, const node_ledger& node) {
    const std::string key = key_of(leaving);
    const auto tracked = tracked_.find(key);
    if (tracked != tracked_.end()) {
        const auto left = std::move(tracked->second);
        tracked_.erase(tracked);
        for (const std::size_t rule : left) {
            for (std::size_t i = 0; i < node.pods.size(); ++i) {
                if (!holds_tracked_pod(node.pods[i], leaving.uid, rule)) {
                    reserved_[rule].erase(node.spec->cards[i].index);
                }
            }
            if (reserved_[rule].empty()) reserved_.erase(rule);
        }
    }
    uids_.erase(key);
}

std::map<std::int64_t, std::vector<std::int64_t>> exclusive_rules::reserved() const {
    std::map<std::int64_t, std::vector<std::int64_t>> result;
    for (const auto& [rule, cards] : reserved_) {
        result[static_cast<std::int64_t>(rule)].assign(cards.begin(), cards.end());
    }
    return result;
}

} // namespace vgpu
} // namespace vgpualloc::compat::volcano
