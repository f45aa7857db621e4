// Kubernetes' rules about nodes (pkg/scheduler/framework/plugins/{nodeunschedulable,tainttoleration,nodeaffinity,
// noderesources}).
#include "vgpualloc/model/host_rules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace vgpualloc {

namespace {

/// `value` is null where there is no such label.
bool compares(const std::string_view* value, const label_requirement& requirement) noexcept {
    if (value == nullptr || requirement.values.size() != 1) return false;
    const auto have = whole_number(*value);
    const auto bound = whole_number(requirement.values.front());
    if (!have || !bound) return false;
    return requirement.op == label_operator::greater ? *have > *bound : *have < *bound;
}

/// `value` is null where there is no such label.
bool matches(const std::string_view* value, const label_requirement& requirement) noexcept {
    const auto is_listed = [&] { return std::ranges::find(requirement.values, *value) != requirement.values.end(); };
    switch (requirement.op) {
    case label_operator::in:
        return value != nullptr && is_listed();
    case label_operator::not_in:
        return value == nullptr || !is_listed();
    case label_operator::exists:
        return value != nullptr;
    case label_operator::does_not_exist:
        return value == nullptr;
    case label_operator::greater:
    case label_operator::less:
        return compares(value, requirement);
    }
    return false;
}

bool matches(const node_selector_term& term, const host_facts& facts, std::string_view node_name) noexcept {
    if (term.labels.empty() && term.names.empty()) return false;
    return unmet_requirement(term, facts, node_name) == nullptr;
}

bool tolerates(const host_rules& rules, const taint& repelling) noexcept {
    return std::ranges::any_of(rules.tolerations,
                               [&](const toleration& tolerated) { return tolerated.tolerates(repelling); });
}

/// The taints by which Kubernetes keeps pods off a node that is cordoned or not ready.
const taint& cordon() {
    static const taint result{.key = "node.kubernetes.io/unschedulable"};
    return result;
}
const taint& absence(bool unreachable) {
    static const taint not_ready{.key = "node.kubernetes.io/not-ready"};
    static const taint not_heard_of{.key = "node.kubernetes.io/unreachable"};
    return unreachable ? not_heard_of : not_ready;
}

} // namespace

bool is_state_taint(std::string_view key) noexcept {
    constexpr std::array<std::string_view, 10> state_taints{"node.kubernetes.io/unschedulable",
                                                            "node.kubernetes.io/not-ready",
                                                            "node.kubernetes.io/unreachable",
                                                            "node.kubernetes.io/memory-pressure",
                                                            "node.kubernetes.io/disk-pressure",
                                                            "node.kubernetes.io/pid-pressure",
                                                            "node.kubernetes.io/out-of-service",
                                                            "node.kubernetes.io/network-unavailable",
                                                            "node.cloudprovider.kubernetes.io/uninitialized",
                                                            "node.cloudprovider.kubernetes.io/shutdown"};
    return std::ranges::find(state_taints, key) != state_taints.end();
}

std::optional<std::int64_t> whole_number(std::string_view text) noexcept {
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1); // from_chars takes '-' but no '+'
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
    return number;
}

const std::string* host_facts::label(std::string_view key) const noexcept {
    const auto at =
        std::ranges::lower_bound(labels, key, {}, [](const auto& entry) { return std::string_view{entry.first}; });
    return at != labels.end() && at->first == key ? &at->second : nullptr;
}

const taint* repelling_taint(const host_rules& rules, const host_facts& facts) noexcept {
    for (const taint& repelling : facts.taints) {
        if (repelling.effect != taint_effect::prefer_no_schedule && !tolerates(rules, repelling)) return &repelling;
    }
    return nullptr;
}

const std::pair<std::string, std::string>* differing_label(const host_rules& rules, const host_facts& facts) noexcept {
    for (const auto& entry : rules.node_selector) {
        const std::string* const value = facts.label(entry.first);
        if (value == nullptr || *value != entry.second) return &entry;
    }
    return nullptr;
}

bool is_met(const label_requirement& requirement, const std::string* value) noexcept {
    const std::string_view text = value == nullptr ? std::string_view{} : *value;
    return matches(value == nullptr ? nullptr : &text, requirement);
}

const label_requirement* unmet_requirement(const node_selector_term& term, const host_facts& facts,
                                           std::string_view node_name) noexcept {
    for (const label_requirement& requirement : term.labels) {
        if (!is_met(requirement, facts.label(requirement.key))) return &requirement;
    }
    for (const label_requirement& requirement : term.names) {
        if (!matches(&node_name, requirement)) return &requirement;
    }
    return nullptr;
}

const std::string* missing_resource(const host_rules& rules, const host_facts& facts) noexcept {
    for (const std::string& resource : rules.resources) {
        if (!std::ranges::binary_search(facts.resources, resource)) return &resource;
    }
    return nullptr;
}

rejection_code why_not_labels(const host_rules& rules, const host_facts& facts, std::string_view node_name) {
    if (differing_label(rules, facts) != nullptr) return rejection_code::node_selector_differs;
    const bool matched =
        !rules.has_affinity || std::ranges::any_of(rules.affinity, [&](const node_selector_term& term) {
            return matches(term, facts, node_name);
        });
    return matched ? rejection_code::none : rejection_code::node_affinity_differs;
}

rejection_code why_not_tolerated(const host_rules& rules, const host_facts& facts) {
    if (facts.unschedulable && !tolerates(rules, cordon())) return rejection_code::node_unschedulable;
    if (!facts.ready && !tolerates(rules, absence(facts.unreachable))) return rejection_code::node_not_ready;
    return repelling_taint(rules, facts) == nullptr ? rejection_code::none : rejection_code::taint_not_tolerated;
}

rejection_code why_not_host(const host_rules& rules, const host_facts& facts, std::string_view node_name) {
    if (!facts.unreadable.empty()) return rejection_code::node_unschedulable;
    for (const rejection_code code : {why_not_tolerated(rules, facts), why_not_labels(rules, facts, node_name)}) {
        if (code != rejection_code::none) return code;
    }
    return missing_resource(rules, facts) == nullptr ? rejection_code::none : rejection_code::resource_not_offered;
}

} // namespace vgpualloc
