// Which pods the API server lets nobody evict, because of a PodDisruptionBudget.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"

namespace vgpualloc::kube {

/// A pod that somebody wants to evict, and a budget keeps.
struct kept_pod {
    std::string name{}; ///< with its namespace
    std::string node{};
    std::string why{}; ///< disruption_budgets::why_kept()
};

/// The budgets of a cluster. Evictions come one after the other, and the pod that takes the place of one that was
/// evicted runs before the next: a budget that allows one allows them all. Sources: pkg/controller/disruption and
/// pkg/registry/core/pod/storage/eviction.go.
class disruption_budgets {
public:
    /// The objects outlive this.
    explicit disruption_budgets(std::span<const manifest> objects);

    /// Why the pod of that name, with its namespace, cannot be evicted: "PodDisruptionBudget db allows no disruption",
    /// or that it has several, which the Eviction API refuses. Empty: it can be, or is none of the objects.
    [[nodiscard]] std::string why_kept(const std::string& full_name) const;

private:
    struct known_budget {
        const manifest* object = nullptr;
        std::int64_t allowed = 0;
        std::int64_t healthy = 0;
        std::int64_t healthy_min = 0;
    };

    [[nodiscard]] known_budget budget_from(const manifest& object, std::span<const manifest* const> selected) const;
    [[nodiscard]] std::int64_t pods_expected(std::span<const manifest* const> selected) const;

    std::map<std::string, const manifest*> controllers_;          ///< by kind, namespace and name
    std::map<std::string, std::vector<known_budget>> budgets_of_; ///< by pod
    std::map<std::string, const manifest*> pods_;                 ///< with a budget, by full name
};

} // namespace vgpualloc::kube
