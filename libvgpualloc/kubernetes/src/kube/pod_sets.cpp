// Sets of pods.
#include "vgpualloc/kube/pod_sets.hpp"

#include <algorithm>
#include <utility>

#include "vgpualloc/kube/cluster_objects.hpp"

namespace vgpualloc::kube {

namespace {

bool have(const kubernetes::text_map& labels, const std::vector<label_requirement>& wanted) {
    return std::ranges::all_of(wanted, [&](const label_requirement& requirement) {
        const auto label = labels.find(requirement.key);
        return is_met(requirement, label == labels.end() ? nullptr : &label->second);
    });
}

} // namespace

pod_sets::pod_sets(const pod_sets& other)
    : namespaces_{other.namespaces_}, has_labels_{other.has_labels_}, asks_for_labels_{other.asks_for_labels_},
      numbers_{other.numbers_}, definitions_(other.definitions_.size()), by_label_{other.by_label_},
      unkeyed_{other.unkeyed_} {
    for (const auto& [wanted, number] : numbers_) definitions_[number] = &wanted;
}

void pod_sets::add_namespaces(std::span<const manifest> objects) {
    const auto add = [&](const std::string& name) -> kubernetes::text_map& {
        const auto [entry, is_new] = namespaces_.try_emplace(name);
        if (is_new) entry->second[namespace_label] = name;
        return entry->second;
    };
    for (const manifest& object : objects) {
        if (object.kind == "Namespace") {
            add(object.name).insert(object.data.begin(), object.data.end());
            has_labels_ = true;
        } else if (object.pod) {
            add(namespace_of(object));
        }
    }
}

std::set<std::string> pod_sets::namespaces_with(const std::vector<label_requirement>& labels) const {
    std::set<std::string> names;
    for (const auto& [name, own] : namespaces_) {
        if (have(own, labels)) names.insert(name);
    }
    return names;
}

pod_sets::condition pod_sets::condition_of(const std::string& own_ns, const affinity_term& term) const {
    condition result{.labels = term.pods.labels, .selects = term.pods.is_there};
    std::ranges::sort(result.labels);
    const label_selector& by_label = term.namespaces_by_label;
    if (by_label.is_there && by_label.labels.empty()) return result;
    result.namespaces.emplace(term.namespaces.begin(), term.namespaces.end());
    if (by_label.is_there) {
        result.namespaces->merge(namespaces_with(by_label.labels));
    } else if (term.namespaces.empty()) {
        result.namespaces->insert(own_ns);
    }
    return result;
}

/// As kube-scheduler counts: a pod is near for all terms of an affinity or for none, and spread leaves out pods that
/// are being deleted.
std::vector<std::pair<peer_rule, pod_sets::definition>> pod_sets::rules_of(const std::string& own_ns,
                                                                           const peer_terms& terms) const {
    std::vector<std::pair<peer_rule, definition>> result;
    for (const spread_term& term : terms.spread) {
        const bool selects = !term.pods.labels.empty(); // countPodsMatchSelector counts none for an empty selector
        condition among{.labels = term.pods.labels, .namespaces = std::set{own_ns}, .selects = selects};
        std::ranges::sort(among.labels);
        result.push_back({{.kind = peer_rule_kind::spread,
                           .topology_key = term.topology_key,
                           .max_skew = term.max_skew,
                           .min_domains = term.min_domains,
                           .allowed_only = term.honors_affinity,
                           .tolerated_only = term.honors_taints},
                          {.conditions = {std::move(among)}, .with_terminating = false}});
    }
    definition near;
    for (const affinity_term& term : terms.together) near.conditions.push_back(condition_of(own_ns, term));
    for (const affinity_term& term : terms.together) {
        result.push_back({{.kind = peer_rule_kind::together, .topology_key = term.topology_key}, near});
    }
    for (const affinity_term& term : terms.apart) {
        result.push_back({{.kind = peer_rule_kind::apart, .topology_key = term.topology_key},
                          {.conditions = {condition_of(own_ns, term)}}});
    }
    return result;
}

bool pod_sets::add_rules_of(const manifest& pod) {
    if (!pod.peers) return false;
    bool has_new = false;
    for (const auto* const terms : {&pod.peers->together, &pod.peers->apart}) {
        for (const affinity_term& term : *terms) {
            if (!term.namespaces_by_label.labels.empty()) asks_for_labels_ = true;
        }
    }
    for (auto& [rule, wanted] : rules_of(namespace_of(pod), *pod.peers)) {
        const auto number = static_cast<pod_set>(definitions_.size());
        const auto [known, is_new] = numbers_.emplace(std::move(wanted), number);
        if (!is_new) continue;
        has_new = true;
        definitions_.push_back(&known->first);
        const label_requirement* sure = nullptr;
        for (const condition& part : known->first.conditions) {
            const auto one = std::ranges::find_if(part.labels, [](const label_requirement& requirement) {
                return requirement.op == label_operator::in && requirement.values.size() == 1;
            });
            if (one != part.labels.end()) sure = &*one;
        }
        if (sure == nullptr) {
            unkeyed_.push_back(number);
        } else {
            by_label_[{sure->key, sure->values.front()}].push_back(number);
        }
    }
    return has_new;
}

bool pod_sets::meets(const pod_traits& pod, const definition& wanted) {
    if (pod.terminating && !wanted.with_terminating) return false;
    return std::ranges::all_of(wanted.conditions, [&](const condition& part) {
        const bool is_of_namespace = !part.namespaces || part.namespaces->contains(pod.ns);
        return part.selects && is_of_namespace && have(pod.labels, part.labels);
    });
}

shared_peers pod_sets::peers_of(const pod_traits& pod, std::vector<peer_rule> rules) const {
    pod_peers result{.rules = std::move(rules)};
    const auto join = [&](const std::vector<pod_set>& candidates) {
        for (const pod_set set : candidates) {
            if (meets(pod, *definitions_[set])) result.member_of.push_back(set);
        }
    };
    if (!by_label_.empty()) {
        for (const auto& label : pod.labels) {
            const auto candidates = by_label_.find(label);
            if (candidates != by_label_.end()) join(candidates->second);
        }
    }
    join(unkeyed_);
    std::ranges::sort(result.member_of);
    return shared_peers{std::move(result)};
}

std::optional<shared_peers> pod_sets::peers_of(const pod_traits& pod, const peer_terms* terms) const {
    std::vector<peer_rule> rules;
    if (terms != nullptr) {
        for (auto& [rule, wanted] : rules_of(pod.ns, *terms)) {
            const auto number = numbers_.find(wanted);
            if (number == numbers_.end()) return std::nullopt;
            rule.set = number->second;
            rules.push_back(std::move(rule));
        }
    }
    return peers_of(pod, std::move(rules));
}

} // namespace vgpualloc::kube
