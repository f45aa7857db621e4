// What the API server decides by when a pod is made or evicted, as written: quotas, limit ranges, disruption budgets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/kube/peer_terms.hpp"

namespace vgpualloc::kube {

/// What a pod says of itself beside its containers (spec.resources, spec.overhead).
struct pod_level_resources {
    kubernetes::host_resource cpu{};
    kubernetes::host_resource memory{};
    std::int64_t overhead_cpu_milli = 0;
    std::int64_t overhead_memory_bytes = 0;

    bool operator==(const pod_level_resources&) const = default;
};

/// Which pods a ResourceQuota counts; all of its scopes have to hold. spec.scopes are those that have to exist.
struct quota_scope {
    std::string name; ///< "BestEffort", "PriorityClass", …
    label_operator op = label_operator::exists;
    std::vector<std::string> values{};

    bool operator==(const quota_scope&) const = default;
};

/// A number of pods, or a share of them in per cent.
struct pods_or_percent {
    std::int64_t amount = 0;
    bool is_percent = false;

    bool operator==(const pods_or_percent&) const = default;
};

/// A PodDisruptionBudget. What its status does not say is none.
struct disruption_budget {
    label_selector pods{}; ///< of its namespace
    std::optional<pods_or_percent> min_available{};
    std::optional<pods_or_percent> max_unavailable{};
    bool evicts_unready = false; ///< unhealthyPodEvictionPolicy is AlwaysAllow
    std::optional<std::int64_t> allowed{};
    std::optional<std::int64_t> healthy{};
    std::optional<std::int64_t> healthy_min{}; ///< status.desiredHealthy

    bool operator==(const disruption_budget&) const = default;
};

/// One entry of a LimitRange: quantities by resource, with the defaults that the API server sets in it.
struct limit_range_item {
    std::string type; ///< "Container", "Pod", …
    kubernetes::text_map min{};
    kubernetes::text_map max{};
    kubernetes::text_map default_limits{};
    kubernetes::text_map default_requests{};
    kubernetes::text_map max_ratio{}; ///< of limit to request: maxLimitRequestRatio

    bool operator==(const limit_range_item&) const = default;
};

/// What a ResourceQuota, a LimitRange, a PodDisruptionBudget or a PriorityClass says beside its amounts.
struct cluster_policy {
    std::vector<quota_scope> scopes{};
    std::vector<limit_range_item> limits{};
    std::optional<disruption_budget> budget{};
    bool is_default = false; ///< a PriorityClass that pods without one have

    bool operator==(const cluster_policy&) const = default;
};

} // namespace vgpualloc::kube
