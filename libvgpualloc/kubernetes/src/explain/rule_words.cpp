// Host rules in words.
#include "rule_words.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace vgpualloc::explaining {

namespace {

/// As kubectl prints it.
std::string taint_words(const taint& repelling) {
    std::string text = repelling.key;
    if (!repelling.value.empty()) text += "=" + repelling.value;
    switch (repelling.effect) {
    case taint_effect::no_schedule:
        return text + ":NoSchedule";
    case taint_effect::prefer_no_schedule:
        return text + ":PreferNoSchedule";
    case taint_effect::no_execute:
        return text + ":NoExecute";
    }
    return text;
}

std::string list_of(const std::vector<std::string>& values) {
    constexpr std::size_t values_max = 5; // the rest is in the pod's object
    std::string list;
    for (std::size_t i = 0; i < std::min(values.size(), values_max); ++i) list += (i == 0 ? "" : ", ") + values[i];
    if (values.size() > values_max) list += fmt::format(", and {} more", values.size() - values_max);
    return "(" + list + ")";
}

std::string requirement_words(const label_requirement& requirement) {
    const std::string& key = requirement.key;
    const std::string bound = requirement.values.size() == 1 ? requirement.values[0] : list_of(requirement.values);
    switch (requirement.op) {
    case label_operator::in:
        return fmt::format("{} in {}", key, list_of(requirement.values));
    case label_operator::not_in:
        return fmt::format("{} not in {}", key, list_of(requirement.values));
    case label_operator::exists:
        return key;
    case label_operator::does_not_exist:
        return "no " + key;
    case label_operator::greater:
        return fmt::format("{} > {}", key, bound);
    case label_operator::less:
        return fmt::format("{} < {}", key, bound);
    }
    return key;
}

std::string label_words(const host_facts& facts, const std::string& key) {
    const std::string* const value = facts.label(key);
    return value == nullptr ? "the node has no such label" : fmt::format("the node has {}={}", key, *value);
}

std::string term_words(const node_selector_term& term, const host_facts& facts, std::string_view node_name) {
    const label_requirement* const unmet = unmet_requirement(term, facts, node_name);
    if (unmet == nullptr) return "a term without requirements matches no node";
    const bool is_of_name = std::ranges::any_of(term.names, [&](const auto& own) { return &own == unmet; });
    return fmt::format("wants {}, {}", requirement_words(*unmet),
                       is_of_name ? fmt::format("the node is {}", node_name) : label_words(facts, unmet->key));
}

std::string affinity_words(const host_rules& rules, const host_facts& facts, std::string_view node_name) {
    constexpr std::size_t terms_max = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(rules.affinity.size(), terms_max); ++i) {
        text += (i == 0 ? "" : "; or ") + term_words(rules.affinity[i], facts, node_name);
    }
    if (rules.affinity.size() > terms_max) text += fmt::format("; or {} more terms", rules.affinity.size() - terms_max);
    return text.empty() ? "no terms, which match no node" : text;
}

std::string resource_words(const std::string& wanted, const host_facts& facts) {
    if (facts.allocatable.empty()) return fmt::format("wants {}, the node offers no extended resource", wanted);
    const std::string offers = list_of(facts.allocatable);
    return fmt::format("wants {}, the node offers none of it, only {}", wanted, offers.substr(1, offers.size() - 2));
}

} // namespace

std::string rule_words(rejection_code code, const host_rules& rules, const host_facts& facts,
                       std::string_view node_name) {
    switch (code) {
    case rejection_code::node_unschedulable:
        if (facts.unreadable.empty()) return "the node is cordoned";
        return facts.unreadable + " of the node cannot be read, so no pod is let in";
    case rejection_code::node_not_ready:
        return facts.unreachable ? "condition Ready is Unknown" : "condition Ready is False";
    case rejection_code::taint_not_tolerated:
        return taint_words(*repelling_taint(rules, facts));
    case rejection_code::node_selector_differs: {
        const auto& [label, value] = *differing_label(rules, facts);
        return fmt::format("wants {}={}, {}", label, value, label_words(facts, label));
    }
    case rejection_code::node_affinity_differs:
        return affinity_words(rules, facts, node_name);
    case rejection_code::resource_not_offered:
        return resource_words(*missing_resource(rules, facts), facts);
    default:
        return {};
    }
}

} // namespace vgpualloc::explaining
