// Kubernetes' rules about nodes (pkg/scheduler/framework/plugins/{nodeunschedulable,nodeaffinity,tainttoleration}).
#include "vgpualloc/model/host_rules.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace vgpualloc {

namespace {

using label_list = std::vector<std::pair<std::string, std::string>>;

const std::string* value_of(const label_list& labels, const std::string& key) {
    const auto at = std::ranges::lower_bound(labels, key, {}, &label_list::value_type::first);
    return at != labels.end() && at->first == key ? &at->second : nullptr;
}

std::optional<std::int64_t> whole_number(const std::string& text) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
    return number;
}

bool compares(const std::string* value, const label_requirement& requirement) {
    if (value == nullptr || requirement.values.size() != 1) return false;
    const auto have = whole_number(*value);
    const auto bound = whole_number(requirement.values.front());
    if (!have || !bound) return false;
    return requirement.op == label_operator::greater ? *have > *bound : *have < *bound;
}

/// `value` is null where there is no such label.
bool matches(const std::string* value, const label_requirement& requirement) {
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

bool matches(const node_selector_term& term, const host_facts& facts, const std::string& node_name) {
    if (term.labels.empty() && term.names.empty()) return false;
    const auto has_label = [&](const label_requirement& requirement) {
        return matches(value_of(facts.labels, requirement.key), requirement);
    };
    const auto has_name = [&](const label_requirement& requirement) { return matches(&node_name, requirement); };
    return std::ranges::all_of(term.labels, has_label) && std::ranges::all_of(term.names, has_name);
}

bool tolerates(const host_rules& rules, const taint& repelling) {
    return std::ranges::any_of(rules.tolerations,
                               [&](const toleration& tolerated) { return tolerated.tolerates(repelling); });
}

bool is_repelled(const host_rules& rules, const taint& repelling) {
    return repelling.effect != taint_effect::prefer_no_schedule && !tolerates(rules, repelling);
}

} // namespace

rejection_code why_not_host(const host_rules& rules, const host_facts& facts, std::string_view node_name) {
    static const taint cordon{.key = "node.kubernetes.io/unschedulable"};
    static const taint not_ready{.key = "node.kubernetes.io/not-ready"};
    if (facts.unschedulable && !tolerates(rules, cordon)) return rejection_code::node_unschedulable;
    if (!facts.ready && !tolerates(rules, not_ready)) return rejection_code::node_not_ready;
    for (const auto& [label, value] : rules.node_selector) {
        const std::string* const have = value_of(facts.labels, label);
        if (have == nullptr || *have != value) return rejection_code::node_selector_differs;
    }
    if (rules.has_affinity) {
        const std::string name{node_name};
        const bool matched = std::ranges::any_of(
            rules.affinity, [&](const node_selector_term& term) { return matches(term, facts, name); });
        if (!matched) return rejection_code::node_affinity_differs;
    }
    const bool repelled =
        std::ranges::any_of(facts.taints, [&](const taint& repelling) { return is_repelled(rules, repelling); });
    return repelled ? rejection_code::taint_not_tolerated : rejection_code::none;
}

} // namespace vgpualloc
