// What the ClusterQueues of Kueue leave to workloads, with what their cohorts lend.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/queues.hpp"

namespace vgpualloc::kube {

/// Quota by ClusterQueue, flavor and resource. Source: pkg/cache/resource_node.go and
/// pkg/scheduler/flavorassigner of Kueue. Cohorts of cohorts, preemption and fair sharing are left out.
class cluster_queues {
public:
    /// The objects outlive this.
    explicit cluster_queues(std::span<const manifest> objects);

    /// Whether there are any queues of Kueue.
    [[nodiscard]] bool empty() const noexcept { return local_.empty() && queues_.empty(); }

    /// Why a LocalQueue does not let a workload in that needs so much for each of its pod sets, in Kueue's words;
    /// empty: its ClusterQueue has the quota. A pod set takes one flavor for all resources of a group.
    [[nodiscard]] std::string shortage_of(const std::string& ns, const std::string& local_queue,
                                          const std::vector<resource_amounts>& pod_sets) const;
    /// The same, and what it needs is used from now on.
    [[nodiscard]] std::string take(const std::string& ns, const std::string& local_queue,
                                   const std::vector<resource_amounts>& pod_sets);
    /// The ClusterQueue of a LocalQueue; empty: it is not known.
    [[nodiscard]] std::string cluster_queue_of(const std::string& ns, const std::string& local_queue) const;

private:
    /// Flavor and resource.
    using quota_name = std::pair<std::string, std::string>;
    struct quota {
        std::int64_t nominal = 0;
        std::optional<std::int64_t> borrowing{}; ///< at most so much of others
        std::optional<std::int64_t> lending{};   ///< at most so much to others
    };
    /// Flavors for the same resources, in the order in which they are tried.
    struct resource_group {
        std::vector<std::string> resources{};
        std::vector<std::string> flavors{};
    };
    struct queue {
        const manifest* object = nullptr;
        std::vector<resource_group> groups{};
        std::map<quota_name, quota> quotas{};
    };
    /// By ClusterQueue.
    using usage = std::map<std::string, std::map<quota_name, std::int64_t>>;

    static queue read(const manifest& object);
    [[nodiscard]] std::int64_t available(const queue& of, const quota_name& name, const usage& used) const;
    [[nodiscard]] std::int64_t capacity(const queue& of, const quota_name& name) const;
    /// What the cohort shares of a flavor's resource: quota, and what of it is used.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> shared(const queue& of, const quota_name& name,
                                                               const usage& used) const;
    [[nodiscard]] std::string assign(const std::string& ns, const std::string& local_queue,
                                     const std::vector<resource_amounts>& pod_sets, usage& used) const;
    [[nodiscard]] std::string assign_group(const queue& of, const resource_group& group,
                                           const resource_amounts& requests, usage& used) const;

    std::map<std::string, const manifest*> local_{}; ///< by namespace and name
    std::map<std::string, queue> queues_{};
    usage used_{};
};

} // namespace vgpualloc::kube
