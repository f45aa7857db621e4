// What a pod's specification requires of other pods, as written.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/model/host_rules.hpp"

namespace vgpualloc::kube {

/// Selects by labels. One that is absent selects nothing, an empty one everything.
struct label_selector {
    bool is_there = false;
    std::vector<label_requirement> labels{};

    auto operator<=>(const label_selector&) const = default;
};

/// One required term of podAffinity or podAntiAffinity. matchLabelKeys and mismatchLabelKeys are among the labels, as
/// the API server puts them there.
struct affinity_term {
    std::string topology_key;
    label_selector pods{};
    std::vector<std::string> namespaces{};
    label_selector namespaces_by_label{}; ///< neither: the pod's own namespace

    auto operator<=>(const affinity_term&) const = default;
};

/// One of topologySpreadConstraints with whenUnsatisfiable: DoNotSchedule.
struct spread_term {
    std::string topology_key;
    label_selector pods{}; ///< of the pod's own namespace
    std::int64_t max_skew = 1;
    std::int64_t min_domains = 1;
    bool honors_affinity = true; ///< nodeAffinityPolicy
    bool honors_taints = false;  ///< nodeTaintsPolicy

    auto operator<=>(const spread_term&) const = default;
};

struct peer_terms {
    std::vector<spread_term> spread{};
    std::vector<affinity_term> together{};
    std::vector<affinity_term> apart{};

    [[nodiscard]] bool empty() const noexcept { return spread.empty() && together.empty() && apart.empty(); }
    auto operator<=>(const peer_terms&) const = default;
};

/// The kinds of terms that there are, for who looks at none of them: "pod affinity (spec.affinity.podAffinity)".
[[nodiscard]] std::vector<std::string> names_of(const peer_terms& terms);

} // namespace vgpualloc::kube
