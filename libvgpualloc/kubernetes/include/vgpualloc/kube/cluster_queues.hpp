// What the ClusterQueues of Kueue leave to workloads, with what their cohorts lend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/queues.hpp"
#include "vgpualloc/kube/quota_tree.hpp"

namespace vgpualloc::kube {

/// Pods of one kind of a workload: what all of them need, and where each may go.
struct queued_pods {
    resource_amounts requests{};
    host_rules rules{};
};

/// Of a workload that asks to be let in.
struct queued_workload {
    std::string ns{};
    std::string local_queue{};
    std::vector<queued_pods> pod_sets{};
    std::int64_t priority = 0;
    std::string name{};    ///< of the Workload object, if there is one
    std::string created{}; ///< of that object; empty: it comes after all others
};

struct queue_answer {
    std::string because{};           ///< why it is not let in, much in Kueue's words; empty: it is
    bool waits_in_line = false;      ///< so that a strict queue lets nobody pass
    std::vector<host_rules> rules{}; ///< of one that is let in, for each pod set: what its flavors give its pods
};

/// Quota by ClusterQueue, flavor and resource. Source: pkg/cache/scheduler and pkg/scheduler/flavorassigner of Kueue.
/// Preemption and fair sharing are left out.
class cluster_queues {
public:
    /// The objects outlive this.
    explicit cluster_queues(std::span<const manifest> objects);

    /// Whether there are any queues of Kueue.
    [[nodiscard]] bool empty() const noexcept { return local_.empty() && queues_.empty(); }

    /// Whether a workload is let in. A pod set takes one flavor for all resources of a group.
    [[nodiscard]] queue_answer ask(const queued_workload& asking) const;
    /// The same, and what it needs is used from now on. What a strict queue refuses stands in the way of the next.
    [[nodiscard]] queue_answer take(const queued_workload& asking);
    /// The ClusterQueue of a LocalQueue; empty: it is not known.
    [[nodiscard]] std::string cluster_queue_of(const std::string& ns, const std::string& local_queue) const;
    /// What of a LocalQueue's ClusterQueue the objects do not tell.
    [[nodiscard]] std::vector<std::string> not_told(const std::string& ns, const std::string& local_queue) const;

private:
    /// Flavors for the same resources, in the order in which they are tried.
    struct resource_group {
        std::vector<std::string> resources{};
        std::vector<std::string> flavors{};
        std::set<std::string> labels{}; ///< that some flavor's nodes have: others do not tell flavors apart
    };
    struct queue {
        const manifest* object = nullptr;
        std::vector<resource_group> groups{};
        std::size_t place = 0; ///< in the tree
        bool is_in_circle = false;
    };
    /// A workload that waits for quota.
    struct waiting {
        std::int64_t priority = 0;
        std::string created{};
        std::string name{};
    };
    void read_queues(std::span<const manifest> objects);
    void read_waiting(std::span<const manifest> objects);
    void read_usage();
    [[nodiscard]] std::vector<resource_group> groups_of(const queue_facts& facts) const;
    [[nodiscard]] bool serves(const queue& of, const std::string& ns) const;
    /// Why nobody gets in, whatever is asked for.
    [[nodiscard]] std::string closed(const queue& of) const;
    [[nodiscard]] queue_answer assign(const queued_workload& asking, quota_tree& tree) const;
    /// Why there is nothing for the pods; empty: it is used, and they have the rules of the flavors.
    [[nodiscard]] std::string assign_pods(const queue& of, const queued_pods& pods, quota_tree& tree,
                                          host_rules& rules) const;
    [[nodiscard]] std::string assign_group(const queue& of, const resource_group& group, const queued_pods& pods,
                                           quota_tree& tree, host_rules& rules) const;
    /// Why pods may not have a flavor; empty: they may.
    [[nodiscard]] std::string mismatch(const resource_group& group, const std::string& flavor,
                                       const host_rules& rules) const;

    std::map<std::string, const manifest*> local_{}; ///< by namespace and name
    std::map<std::string, const manifest*> flavors_{};
    std::map<std::string, kubernetes::text_map> namespaces_{}; ///< their labels
    std::map<std::string, queue> queues_{};
    std::map<std::string, std::vector<waiting>> lines_{}; ///< of strict queues
    quota_tree tree_{};
};

} // namespace vgpualloc::kube
