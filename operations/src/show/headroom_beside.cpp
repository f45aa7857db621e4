// How many more pods there is room for where rules about other pods count: each pod that is placed may close other
// nodes.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "overview_parts.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/model/peer_rules.hpp"
#include "vgpualloc/model/trial.hpp"
#include "vgpuops/show/headroom.hpp"

namespace vgpuops::show {

namespace {

using vgpualloc::peer_rule;
using vgpualloc::peer_rule_kind;

/// Used on a node, added up over its devices. Milli-GPU.
std::int64_t used_on(const kube::snapshot& state, node_index where) {
    std::int64_t sum = 0;
    const auto states = state.book->devices(where);
    for (std::size_t d = 0; d < states.size(); ++d) {
        const vgpualloc::device_spec& spec = state.nodes().spec_of(where, device_index{d});
        sum += spec.mode->used(spec, states[d]).count();
    }
    return sum;
}

vgpualloc::pod_request with_rules(const vgpualloc::pod_request& request, std::vector<peer_rule> rules) {
    vgpualloc::pod_request result = request;
    result.peers =
        vgpualloc::shared_peers{vgpualloc::pod_peers{.member_of = request.peers->member_of, .rules = std::move(rules)}};
    return result;
}

/// How many more pods a domain may take, by its value; a domain without an entry takes any number.
using domain_limits = std::map<std::string, std::int64_t>;

/// Of pods that keep apart from each other.
domain_limits limits_apart(const std::map<std::string, std::int64_t>& room_by_value) {
    domain_limits result;
    for (const auto& [value, most] : room_by_value) result[value] = 1;
    return result;
}

/// Of pods that are spread among themselves. The domain that is full with the fewest sets the level for all.
domain_limits limits_of_spread(const peer_rule& rule, const std::map<std::string, std::int64_t>& counts,
                               const std::map<std::string, std::int64_t>& room_by_value) {
    const auto room_in = [&](const std::string& value) {
        const auto known = room_by_value.find(value);
        return known == room_by_value.end() ? 0 : known->second;
    };
    std::int64_t level = 0;
    const bool has_all_domains = std::cmp_greater_equal(counts.size(), rule.min_domains);
    if (has_all_domains && !counts.empty()) {
        const auto full = std::ranges::min_element(
            counts, {}, [&](const auto& domain) { return domain.second + room_in(domain.first); });
        level = full->second + room_in(full->first);
    }
    domain_limits result;
    for (const auto& [value, pods] : counts) {
        result[value] = std::max<std::int64_t>(level + rule.max_skew - pods, 0);
    }
    return result;
}

} // namespace

headroom::placed_pods headroom::placed_on(node_index where, const vgpualloc::pod_request& request, std::int64_t most) {
    const auto interned = decider_.intern(request);
    VGA_ASSERT(interned.has_value(), "what a dialect reads is within the core's limits");
    const std::int64_t used_before = used_on(*state_, where);
    vgpualloc::trial scope{*state_->book};
    placed_pods result;
    while (result.pods < most) {
        const auto place = decider_.try_node(where, *interned);
        if (!place) break;
        const pod_id id{first_id_ + static_cast<std::size_t>(result.pods)};
        const auto reserved = state_->book->reserve(vgpualloc::booking_for(id, request, *place));
        VGA_ASSERT(reserved.has_value(), "the ledger accepts what the allocator decides");
        ++result.pods;
    }
    result.milli = used_on(*state_, where) - used_before;
    return result;
}

/// By node, what pods find there that have no rules about others.
std::vector<headroom::placed_pods> headroom::placed_on_nodes(const vgpualloc::pod_request& alone,
                                                             const stop_signal& stop) {
    std::vector<placed_pods> result(alike_.size());
    std::map<std::uint32_t, placed_pods> known;
    stop_signal end = stop;
    for (std::size_t n = 0; n < alike_.size() && !end.poll(); ++n) {
        const vgpualloc::node& node = state_->nodes().nodes[n];
        if (node.devices.empty() || !state_->book->is_present(node_index{n})) continue;
        if (vgpualloc::why_not_host(alone.rules, node.host, node.name) != rejection_code::none) continue;
        const auto entry = known.find(alike_[n]);
        if (entry != known.end() && !alone.names_devices()) {
            result[n] = entry->second;
            continue;
        }
        result[n] = placed_on(node_index{n}, alone, no_limit);
        known.emplace(alike_[n], result[n]);
    }
    return result;
}

headroom::room_alone& headroom::alone(const vgpualloc::pod_request& request, const vgpualloc::idle_splitter& splitter,
                                      const stop_signal& stop) {
    vgpualloc::pod_request without_rules = request;
    without_rules.peers = {};
    const auto [entry, is_new] = alone_.try_emplace(std::move(without_rules));
    if (is_new) {
        entry->second.idle = splitter.of(entry->first);
        entry->second.more = more_of(entry->first, stop);
    }
    if (!request.peers.empty() && entry->second.more > 0 && entry->second.by_node.empty()) {
        entry->second.by_node = placed_on_nodes(entry->first, stop);
    }
    return entry->second;
}

headroom::placed_pods headroom::placed_fewer(node_index where, const vgpualloc::pod_request& request, std::int64_t most,
                                             room_alone& without_rules) {
    if (most == 0) return {};
    const auto [entry, is_new] = without_rules.fewer.try_emplace({alike_[where.at()], most});
    if (!is_new && !request.names_devices()) return entry->second;
    vgpualloc::pod_request unruled = request;
    unruled.peers = {};
    entry->second = placed_on(where, unruled, most);
    return entry->second;
}

/// Pods that one rule of theirs limits by domain, and that are otherwise as many as nodes have room for.
headroom::placed_pods headroom::placed_by_domain(const vgpualloc::pod_request& request, std::size_t rule,
                                                 const std::vector<placed_pods>& by_node, room_alone& without_rules) {
    const peer_rule& limiting = request.peers->rules[rule];
    const auto value_of = [&](std::size_t n) { return state_->nodes().nodes[n].host.label(limiting.topology_key); };
    std::map<std::string, std::int64_t> room_by_value;
    for (std::size_t n = 0; n < by_node.size(); ++n) {
        if (by_node[n].pods > 0 && value_of(n) != nullptr) room_by_value[*value_of(n)] += by_node[n].pods;
    }
    domain_limits limits = limiting.kind == peer_rule_kind::apart
                               ? limits_apart(room_by_value)
                               : limits_of_spread(limiting, decider_.count_peers(request, rule), room_by_value);
    placed_pods sum;
    for (std::size_t n = 0; n < by_node.size(); ++n) {
        if (by_node[n].pods == 0) continue;
        const std::string* const value = value_of(n);
        if (value == nullptr && limiting.kind == peer_rule_kind::spread) continue;
        const auto limit = value == nullptr ? limits.end() : limits.find(*value);
        placed_pods placed = by_node[n];
        if (limit != limits.end()) {
            if (limit->second < placed.pods) {
                placed = placed_fewer(node_index{n}, request, limit->second, without_rules);
            }
            limit->second -= placed.pods;
        }
        sum.pods += placed.pods;
        sum.milli += placed.milli;
    }
    return sum;
}

headroom::placed_pods headroom::placed_one_by_one(const vgpualloc::pod_request& request, const stop_signal& stop) {
    const auto interned = decider_.intern(request);
    VGA_ASSERT(interned.has_value(), "what a dialect reads is within the core's limits");
    stop_signal end = stop;
    const std::int64_t idle_before = vgpualloc::idle_splitter{*state_->book}.idle();
    vgpualloc::trial scope{*state_->book};
    placed_pods result;
    while (!end.poll()) {
        const pod_id id{first_id_ + static_cast<std::size_t>(result.pods)};
        if (!decider_.place(*state_->book, id, *interned)) break;
        ++result.pods;
    }
    result.milli = idle_before - vgpualloc::idle_splitter{*state_->book}.idle();
    return result;
}

/// Rules about sets that the pod is not in close the same nodes however many such pods are placed, and so does a wish
/// for pods of its own set once there are some. One more rule about its own set is counted by domain; several are
/// tried.
headroom::placed_pods headroom::placed_beside_peers(const vgpualloc::pod_request& request, room_alone& without_rules,
                                                    const stop_signal& stop) {
    const auto& rules = request.peers->rules;
    std::vector<std::size_t> own; // positions of rules that each pod that is placed changes
    std::vector<peer_rule> fixed;
    for (std::size_t r = 0; r < rules.size(); ++r) {
        const bool is_own = request.peers->is_in(rules[r].set);
        if (is_own && rules[r].kind == peer_rule_kind::together && decider_.count_peers(request, r).empty()) {
            return placed_one_by_one(request, stop);
        }
        const bool is_limit = is_own && rules[r].kind != peer_rule_kind::together;
        if (is_limit) own.push_back(r);
        // What keeps apart now keeps apart later; what spreads now may allow more later.
        if (!is_limit || rules[r].kind == peer_rule_kind::apart) fixed.push_back(rules[r]);
    }
    if (own.size() > 1) return placed_one_by_one(request, stop);
    const vgpualloc::pod_request with_fixed = with_rules(request, std::move(fixed));
    std::vector<placed_pods> by_node = without_rules.by_node;
    for (std::size_t n = 0; n < by_node.size(); ++n) {
        const bool has_room = by_node[n].pods > 0;
        if (has_room && decider_.ask_peers(node_index{n}, with_fixed).code != rejection_code::none) by_node[n] = {};
    }
    if (!own.empty()) return placed_by_domain(request, own.front(), by_node, without_rules);
    placed_pods sum;
    for (const placed_pods& placed : by_node) {
        sum.pods += placed.pods;
        sum.milli += placed.milli;
    }
    return sum;
}

headroom::filling headroom::filled_with(const vgpualloc::pod_request& request, const vgpualloc::idle_splitter& splitter,
                                        const stop_signal& stop) {
    const auto part = [](vgpualloc::idle_parts& parts, vgpualloc::idle_cause cause) -> std::int64_t& {
        return parts[static_cast<std::size_t>(cause)];
    };
    room_alone& without_rules = alone(request, splitter, stop);
    filling result{.more = without_rules.more, .more_alone = without_rules.more, .idle = without_rules.idle};
    if (request.peers.empty() || result.more_alone == 0) return result;
    const placed_pods placed = placed_beside_peers(request, without_rules, stop);
    result.more = placed.pods;
    if (result.more >= result.more_alone) return result;
    std::int64_t& of_use = part(result.idle, vgpualloc::idle_cause::of_use);
    result.kept_idle = std::max<std::int64_t>(of_use - placed.milli, 0);
    of_use -= result.kept_idle;
    part(result.idle, vgpualloc::idle_cause::wrong_kind) += result.kept_idle;
    return result;
}

void idle_mean::add(const vgpualloc::pod_request& request, std::int64_t pods, std::int64_t kept_idle) {
    vgpualloc::pod_request alone = request; // the splitter looks at no rules about other pods
    alone.peers = {};
    counts_[std::move(alone)] += pods;
    kept_idle_ += kept_idle * pods;
    pods_ += pods;
}

vgpualloc::idle_parts idle_mean::over(const vgpualloc::idle_splitter& splitter, const stop_signal& stop) const {
    std::vector<vgpualloc::counted_request> counted;
    for (const auto& [request, pods] : counts_) counted.push_back({.request = request, .pods = pods});
    vgpualloc::idle_parts result = splitter.mean_over(counted, stop);
    if (kept_idle_ == 0) return result;
    std::int64_t& of_use = result[static_cast<std::size_t>(vgpualloc::idle_cause::of_use)];
    const std::int64_t kept_mean = std::min((kept_idle_ + pods_ / 2) / pods_, of_use);
    of_use -= kept_mean;
    result[static_cast<std::size_t>(vgpualloc::idle_cause::wrong_kind)] += kept_mean;
    return result;
}

vgpualloc::idle_parts mean_idle(kube::snapshot& state, const std::vector<vgpualloc::counted_request>& requests,
                                const stop_signal& stop) {
    headroom spare{state};
    const vgpualloc::idle_splitter splitter{*state.book};
    idle_mean mean;
    stop_signal end = stop;
    for (const auto& [request, pods] : requests) {
        if (end.poll()) return {};
        const auto asks = [](const vgpualloc::device_request& container) { return container.count > 0; };
        if (std::ranges::none_of(request.containers, asks)) continue;
        mean.add(request, pods, request.peers.empty() ? 0 : spare.filled_with(request, splitter, stop).kept_idle);
    }
    return mean.over(splitter, stop);
}

} // namespace vgpuops::show
