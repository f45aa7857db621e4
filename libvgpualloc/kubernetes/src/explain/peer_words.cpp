// Words for pod affinity, anti-affinity and topology spread.
#include "peer_words.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc::explaining {

namespace {

/// "zone" of "topology.kubernetes.io/zone".
std::string_view short_key(std::string_view key) { return key.substr(key.rfind('/') + 1); }

std::string domain_words(const std::string& key, const std::string& value) {
    return key == hostname_label ? "there" : fmt::format("in {} {}", short_key(key), value);
}

/// The first of the rules of that kind whose label the node lacks; null: it has all.
const peer_rule* without_label(const pod_request& request, peer_rule_kind kind, const host_facts& facts) {
    const auto& rules = request.peers->rules;
    const auto rule = std::ranges::find_if(rules, [&](const peer_rule& known) {
        return known.kind == kind && facts.label(known.topology_key) == nullptr;
    });
    return rule == rules.end() ? nullptr : &*rule;
}

std::string spread_words(const pod_request& request, const host_facts& facts, const rejection_detail& detail) {
    const peer_rule* const lacking = without_label(request, peer_rule_kind::spread, facts);
    if (lacking != nullptr) return fmt::format("spread: no label {}", lacking->topology_key);
    std::string keys;
    for (const peer_rule& rule : request.peers->rules) {
        if (rule.kind != peer_rule_kind::spread || rule.max_skew != detail.wanted) continue;
        keys += fmt::format("{}{}", keys.empty() ? "" : " or ", short_key(rule.topology_key));
    }
    return fmt::format("spread over {}: {} more than the fewest, at most {}", keys, detail.available, detail.wanted);
}

std::string near_words(const pod_request& request, const host_facts& facts) {
    const peer_rule* const lacking = without_label(request, peer_rule_kind::together, facts);
    if (lacking != nullptr) return fmt::format("affinity: no label {}", lacking->topology_key);
    std::string domains;
    for (const peer_rule& rule : request.peers->rules) {
        if (rule.kind != peer_rule_kind::together) continue;
        domains += fmt::format("{}{}", domains.empty() ? "" : " or ",
                               domain_words(rule.topology_key, *facts.label(rule.topology_key)));
    }
    return fmt::format("affinity: no such pod {}", domains);
}

/// Whether two nodes are in one domain of the key.
bool are_together(const host_facts& one, const host_facts& other, const std::string& key) {
    const std::string* const value = one.label(key);
    const std::string* const other_value = other.label(key);
    return value != nullptr && other_value != nullptr && *value == *other_value;
}

/// The key of a rule by which one pod keeps away from the other; null: neither does.
const std::string* dividing_key(const pod_peers& peers, const pod_peers& others, const host_facts& here,
                                const host_facts& there) {
    for (const auto& [holder, other] : {std::pair{&peers, &others}, std::pair{&others, &peers}}) {
        for (const peer_rule& rule : holder->rules) {
            if (rule.kind != peer_rule_kind::apart || !other->is_in(rule.set)) continue;
            if (are_together(here, there, rule.topology_key)) return &rule.topology_key;
        }
    }
    return nullptr;
}

std::string apart_words(const kube::snapshot& state, const pod_request& request, const host_facts& here) {
    const auto& nodes = state.nodes().nodes;
    for (std::size_t i = 0; i < state.bound.size(); ++i) {
        const booking* const held = state.book->find_booking(pod_id{i});
        if (held == nullptr || held->peers.empty()) continue;
        const std::string* const key =
            dividing_key(*request.peers, *held->peers, here, nodes[held->where.node.at()].host);
        if (key == nullptr) continue;
        return fmt::format("anti-affinity with {} {}", state.bound[i].pod.full_name(),
                           domain_words(*key, *here.label(*key)));
    }
    return "anti-affinity with a pod placed before"; // of a what-if
}

} // namespace

std::string peer_words(const kube::snapshot& state, node_index where, const pod_request& request,
                       const rejection_detail& detail) {
    if (request.peers.empty()) return {};
    const host_facts& facts = state.nodes().nodes[where.at()].host;
    switch (detail.code) {
    case rejection_code::topology_spread:
        return spread_words(request, facts, detail);
    case rejection_code::pod_affinity_differs:
        return near_words(request, facts);
    case rejection_code::pod_anti_affinity:
        return apart_words(state, request, facts);
    default:
        return {};
    }
}

} // namespace vgpualloc::explaining
