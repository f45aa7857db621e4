// Counting pods by set and domain.
#include "alloc/peer_census.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "vgpualloc/model/host_rules.hpp"

namespace vgpualloc {

void peer_census::follow() {
    const std::size_t nodes = ledger_->nodes().nodes.size();
    if (!has_counted_ || next_event_ < ledger_->first_event() || peers_version_ != ledger_->peers_version()) {
        nodes_.assign(nodes, {});
        for (std::size_t n = 0; n < nodes; ++n) count(node_index{n});
        next_event_ = ledger_->next_event();
        has_counted_ = true;
        peers_version_ = ledger_->peers_version();
        peers_ = {}; // what was counted for a request is void
        return;
    }
    if (next_event_ == ledger_->next_event()) return;
    nodes_.resize(nodes);
    std::vector<node_index> changed;
    for (; next_event_ < ledger_->next_event(); ++next_event_) {
        const ledger_event& event = ledger_->event(next_event_);
        if (is_of_booking(event.kind)) changed.push_back(ledger_->bookings()[event.subject].where.node);
        if (is_of_node(event.kind)) changed.push_back(ledger_->change(event).where);
    }
    std::ranges::sort(changed);
    changed.erase(std::ranges::unique(changed).begin(), changed.end());
    for (const node_index where : changed) {
        if (where.at() < nodes) count(where);
    }
}

void peer_census::count(node_index where) {
    node_census& census = nodes_[where.at()];
    census.members.clear();
    census.repels.clear();
    for (const std::uint32_t slot : ledger_->live_on(where)) {
        const shared_peers& peers = ledger_->bookings()[slot].peers;
        if (peers.empty()) continue;
        for (const pod_set set : peers->member_of) {
            const auto known = std::ranges::find(census.members, set, &std::pair<pod_set, std::int64_t>::first);
            if (known == census.members.end()) {
                census.members.emplace_back(set, 1);
            } else {
                ++known->second;
            }
        }
        for (const peer_rule& rule : peers->rules) {
            if (rule.kind == peer_rule_kind::apart) census.repels.emplace_back(rule.topology_key, rule.set);
        }
    }
}

std::int64_t peer_census::members_on(std::size_t position, pod_set set) const {
    const auto& members = nodes_[position].members;
    const auto known = std::ranges::find(members, set, &std::pair<pod_set, std::int64_t>::first);
    return known == members.end() ? 0 : known->second;
}

/// Whether a node counts for a rule: all keys of spread have to be there, and of the other kinds the rule's own.
bool peer_census::makes_domains(const pod_request& request, const peer_rule& rule, node_index where) const {
    const node& described = ledger_->nodes().nodes[where.at()];
    if (rule.kind != peer_rule_kind::spread) return described.host.label(rule.topology_key) != nullptr;
    for (const peer_rule& other : request.peers->rules) {
        if (other.kind != peer_rule_kind::spread) continue;
        if (described.host.label(other.topology_key) == nullptr) return false;
    }
    constexpr rejection_code none = rejection_code::none;
    if (rule.allowed_only && why_not_labels(request.rules, described.host, described.name) != none) return false;
    return !rule.tolerated_only || why_not_tolerated(request.rules, described.host) == none;
}

void peer_census::count_rule(const pod_request& request, const peer_rule& rule, rule_counts& to) const {
    const auto& nodes = ledger_->nodes().nodes;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        if (!ledger_->is_present(node_index{n}) || !makes_domains(request, rule, node_index{n})) continue;
        const std::int64_t members = members_on(n, rule.set);
        if (rule.kind != peer_rule_kind::spread && members == 0) continue;
        to.by_value[*nodes[n].host.label(rule.topology_key)] += members;
    }
    if (rule.kind != peer_rule_kind::spread) return;
    if (std::cmp_less(to.by_value.size(), rule.min_domains)) return;
    to.fewest = std::numeric_limits<std::int64_t>::max();
    for (const auto& [value, members] : to.by_value) to.fewest = std::min(to.fewest, members);
}

/// Counts what a request looks at, unless nothing has changed since the last time.
void peer_census::look(const pod_request& request) {
    follow();
    if (looked_at_ == next_event_ && peers_ == request.peers && rules_ == request.rules) return;
    looked_at_ = next_event_;
    peers_ = request.peers;
    rules_ = request.rules;
    const auto& rules = peers_->rules;
    counts_.assign(rules.size(), {});
    is_first_of_set_ = true;
    for (std::size_t r = 0; r < rules.size(); ++r) {
        count_rule(request, rules[r], counts_[r]);
        if (rules[r].kind == peer_rule_kind::together && !counts_[r].by_value.empty()) is_first_of_set_ = false;
    }
    repelled_.clear();
    const auto& nodes = ledger_->nodes().nodes;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        if (!ledger_->is_present(node_index{n})) continue;
        for (const auto& [key, set] : nodes_[n].repels) {
            const std::string* const value = peers_->is_in(set) ? nodes[n].host.label(key) : nullptr;
            if (value != nullptr) repelled_.push_back({.key = key, .value = *value});
        }
    }
    std::ranges::sort(repelled_);
    repelled_.erase(std::ranges::unique(repelled_).begin(), repelled_.end());
}

rejection_detail peer_census::why_not_spread(const host_facts& facts) const {
    const auto& rules = peers_->rules;
    for (std::size_t r = 0; r < rules.size(); ++r) {
        if (rules[r].kind != peer_rule_kind::spread) continue;
        const std::string* const value = facts.label(rules[r].topology_key);
        if (value == nullptr) return {.code = rejection_code::topology_spread};
        const auto known = counts_[r].by_value.find(*value);
        const std::int64_t there = known == counts_[r].by_value.end() ? 0 : known->second;
        const std::int64_t skew = there + (peers_->is_in(rules[r].set) ? 1 : 0) - counts_[r].fewest;
        if (skew > rules[r].max_skew) {
            return {.code = rejection_code::topology_spread, .wanted = rules[r].max_skew, .available = skew};
        }
    }
    return {};
}

/// The first pod of a set may go wherever there are the keys: nobody else could make the first step.
bool peer_census::is_together(const host_facts& facts) const {
    const auto& rules = peers_->rules;
    bool has_peers = true;
    for (std::size_t r = 0; r < rules.size(); ++r) {
        if (rules[r].kind != peer_rule_kind::together) continue;
        const std::string* const value = facts.label(rules[r].topology_key);
        if (value == nullptr) return false;
        has_peers = has_peers && counts_[r].by_value.contains(*value);
        if (!has_peers && !(is_first_of_set_ && peers_->is_in(rules[r].set))) return false;
    }
    return true;
}

bool peer_census::is_apart(const host_facts& facts) const {
    const auto& rules = peers_->rules;
    for (std::size_t r = 0; r < rules.size(); ++r) {
        if (rules[r].kind != peer_rule_kind::apart) continue;
        const std::string* const value = facts.label(rules[r].topology_key);
        if (value != nullptr && counts_[r].by_value.contains(*value)) return false;
    }
    return std::ranges::none_of(repelled_, [&](const domain& closed) {
        const std::string* const value = facts.label(closed.key);
        return value != nullptr && *value == closed.value;
    });
}

rejection_detail peer_census::why_not(const pod_request& request, node_index where) {
    if (request.peers.empty()) return {};
    look(request);
    const host_facts& facts = ledger_->nodes().nodes[where.at()].host;
    const rejection_detail uneven = why_not_spread(facts);
    if (uneven.code != rejection_code::none) return uneven;
    if (!is_together(facts)) return {.code = rejection_code::pod_affinity_differs};
    if (!is_apart(facts)) return {.code = rejection_code::pod_anti_affinity};
    return {};
}

std::map<std::string, std::int64_t> peer_census::counts_of(const pod_request& request, std::size_t rule) {
    look(request);
    std::map<std::string, std::int64_t> result;
    for (const auto& [value, members] : counts_[rule].by_value) result.emplace(value, members);
    return result;
}

} // namespace vgpualloc
