// Reading Kubernetes objects: what a pod requires of other pods. What the API server would refuse is a problem
// (pkg/apis/core/validation).
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "objects_parts.hpp"
#include "vgpualloc/kube/peer_terms.hpp"

namespace vgpualloc::kube {

label_selector selector_from(const object_cursor& from) {
    label_selector result{.is_there = from.present()};
    for (auto& [label, value] : from.at("matchLabels").texts())
        result.labels.push_back({.key = label, .values = {value}});
    for (const object_cursor& entry : from.at("matchExpressions").items()) {
        label_requirement requirement = requirement_from(entry);
        const bool compares = requirement.op == label_operator::greater || requirement.op == label_operator::less;
        if (compares) {
            entry.at("operator")
                .fail(error_code::unsupported, entry.at("operator").text(), "In, NotIn, Exists or DoesNotExist");
            continue;
        }
        result.labels.push_back(std::move(requirement));
    }
    return result;
}

namespace {

/// Also requires, or forbids, the values that the pod itself has of the keys in a list.
void add_own_labels(const object_cursor& keys, label_operator op, const kubernetes::text_map& own, label_selector& to) {
    for (const object_cursor& key : keys.items()) {
        const auto label = own.find(key.text());
        if (label != own.end()) to.labels.push_back({.key = label->first, .op = op, .values = {label->second}});
    }
}

std::string topology_key_from(const object_cursor& term) {
    std::string key = term.at("topologyKey").text();
    if (key.empty()) term.at("topologyKey").fail(error_code::missing, "", "the label that makes the domains");
    return key;
}

affinity_term affinity_from(const object_cursor& from, const kubernetes::text_map& own) {
    affinity_term result{.topology_key = topology_key_from(from), .pods = selector_from(from.at("labelSelector"))};
    add_own_labels(from.at("matchLabelKeys"), label_operator::in, own, result.pods);
    add_own_labels(from.at("mismatchLabelKeys"), label_operator::not_in, own, result.pods);
    for (const object_cursor& name : from.at("namespaces").items()) result.namespaces.push_back(name.text());
    result.namespaces_by_label = selector_from(from.at("namespaceSelector"));
    return result;
}

bool honors(const object_cursor& policy, bool otherwise) {
    if (!policy.present()) return otherwise;
    const std::string written = policy.text();
    if (written != "Honor" && written != "Ignore") policy.fail(error_code::malformed, written, "Honor or Ignore");
    return written == "Honor";
}

spread_term spread_from(const object_cursor& from, const kubernetes::text_map& own) {
    constexpr std::int64_t count_max = std::numeric_limits<std::int32_t>::max();
    spread_term result{.topology_key = topology_key_from(from),
                       .pods = selector_from(from.at("labelSelector")),
                       .max_skew = from.at("maxSkew").integer(1, count_max, 0),
                       .min_domains = from.at("minDomains").integer(1, count_max, 1),
                       .honors_affinity = honors(from.at("nodeAffinityPolicy"), true),
                       .honors_taints = honors(from.at("nodeTaintsPolicy"), false)};
    if (result.max_skew == 0) from.at("maxSkew").fail(error_code::missing, "", "a number of 1 or more");
    add_own_labels(from.at("matchLabelKeys"), label_operator::in, own, result.pods);
    return result;
}

} // namespace

void read_peer_terms(const object_cursor& spec, manifest& target) {
    constexpr std::string_view required = "requiredDuringSchedulingIgnoredDuringExecution";
    constexpr std::string_view preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    const auto affinity = spec.at("affinity");
    const auto spreads = spec.at("topologySpreadConstraints");
    if (!affinity.present() && !spreads.present()) return; // as of most pods, of which there are many
    const auto& own = target.pod->labels;
    peer_terms terms;
    const auto near = affinity.at("podAffinity");
    for (const auto& term : near.at(required).items()) terms.together.push_back(affinity_from(term, own));
    const auto apart = affinity.at("podAntiAffinity");
    for (const auto& term : apart.at(required).items()) terms.apart.push_back(affinity_from(term, own));
    bool has_wish = false;
    for (const object_cursor& entry : spreads.items()) {
        const auto action = entry.at("whenUnsatisfiable");
        const std::string written = action.text();
        if (written == "DoNotSchedule") {
            terms.spread.push_back(spread_from(entry, own));
        } else if (written == "ScheduleAnyway") {
            has_wish = true;
        } else {
            action.fail(written.empty() ? error_code::missing : error_code::malformed, written,
                        "DoNotSchedule or ScheduleAnyway");
        }
    }
    auto& names = target.rules_ignored;
    if (!near.at(preferred).items().empty()) names.emplace_back("preferred pod affinity (spec.affinity.podAffinity)");
    if (!apart.at(preferred).items().empty()) {
        names.emplace_back("preferred pod anti-affinity (spec.affinity.podAntiAffinity)");
    }
    if (has_wish) names.emplace_back("topology spread that may be given up (spec.topologySpreadConstraints)");
    if (!terms.empty()) target.peers = std::make_shared<const peer_terms>(std::move(terms));
}

std::vector<std::string> names_of(const peer_terms& terms) {
    std::vector<std::string> names;
    if (!terms.together.empty()) names.emplace_back("pod affinity (spec.affinity.podAffinity)");
    if (!terms.apart.empty()) names.emplace_back(anti_affinity_ignored);
    if (!terms.spread.empty()) names.emplace_back("topology spread (spec.topologySpreadConstraints)");
    return names;
}

} // namespace vgpualloc::kube
