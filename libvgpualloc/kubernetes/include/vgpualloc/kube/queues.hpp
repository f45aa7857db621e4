// What the objects of Kueue and Volcano say of who may start: quotas, what is used of them, and who is not let in.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/peer_terms.hpp"
#include "vgpualloc/model/host_rules.hpp"

namespace vgpualloc::kube {

/// Amounts of one of Kueue's flavors, as written, by resource.
struct flavor_amounts {
    std::string flavor{};
    kubernetes::text_map amounts{};

    bool operator==(const flavor_amounts&) const = default;
};

/// Of a Workload, LocalQueue, ClusterQueue, Cohort or ResourceFlavor of Kueue, of a PodGroup or Queue of Volcano.
/// manifest::queueing.
struct queue_facts {
    /// Of a Workload its LocalQueue, of a LocalQueue its ClusterQueue, of a PodGroup its Queue.
    std::string queue{};
    std::string stopped{};          ///< why a queue or a Workload lets nobody in: "Hold", "Closed", "inactive"; empty
    kubernetes::text_map amounts{}; ///< of a Queue spec.capability, of a PodGroup spec.minResources
    bool has_amounts = false;       ///< of a PodGroup: it has spec.minResources
    kubernetes::text_map used{};    ///< of a Queue status.allocated
    kubernetes::text_map guaranteed{};              ///< of a Queue: spec.guarantee.resource
    std::int64_t weight = 1;                        ///< of a Queue: of its share of the cluster
    std::vector<flavor_amounts> quota{};            ///< of a ClusterQueue or Cohort, in the order of flavors
    std::vector<flavor_amounts> borrowing_limits{}; ///< of it: what its cohort lends at most; not said: any amount
    std::vector<flavor_amounts> lending_limits{};   ///< of it: what others can have at most; not said: all of the quota
    std::vector<flavor_amounts> reserved{};         ///< of it, with what it has borrowed
    std::string cohort{};                           ///< in which a ClusterQueue or a Cohort is; empty: none
    label_selector namespaces{};                    ///< of a ClusterQueue: which it serves
    bool is_strict = false;                         ///< of it: no workload overtakes another (StrictFIFO)
    bool avoids_borrowing = false; ///< of it: a later flavor is better than borrowing (whenCanBorrow: TryNextFlavor)
    host_facts of_nodes{};         ///< of a ResourceFlavor: labels and taints of its nodes
    host_rules for_pods{};         ///< of it: what its pods get, node selector and tolerations
    bool has_quota = false;        ///< of a Workload: quota is reserved
    bool is_let_in = false;        ///< it is admitted
    bool has_ended = false;
    bool is_of_pods = false;                ///< of a Workload: pods own it, so these are there and have gates
    std::string message{};                  ///< why it has no quota or is not admitted, in Kueue's words; may be empty
    std::vector<std::string> checks_open{}; ///< admission checks that are not ready
    std::vector<manifest> pod_sets{}; ///< of one that is not let in and has not ended: templates with their number

    /// All but the pods.
    [[nodiscard]] auto facts() const {
        return std::tie(queue, stopped, amounts, has_amounts, used, guaranteed, weight, quota, borrowing_limits,
                        lending_limits, reserved, cohort, namespaces, is_strict, avoids_borrowing, of_nodes, for_pods,
                        has_quota, is_let_in, has_ended, is_of_pods, message, checks_open);
    }
};

/// Amounts by resource: whole units, of "cpu" thousandths.
using resource_amounts = std::map<std::string, std::int64_t>;

/// What a pod asks for of extended resources as the scheduler counts it: containers together, or the init container
/// that needs more, with the sidecars that were started before.
[[nodiscard]] resource_amounts extended_requests(const kubernetes::pod& pod);
/// Adds what `count` pods like that one ask for, as Kubernetes counts it, to `to`; "pods" is a resource as well.
void add_pods(const manifest& object, std::int64_t count, resource_amounts& to);

/// An amount as Kubernetes writes it, in the units of resource_amounts. Error: that of parse_quantity().
[[nodiscard]] expected<std::int64_t> amount_of(const std::string& resource, std::string_view written);
/// Amounts as they are written; what is none is left out.
[[nodiscard]] resource_amounts amounts_of(const kubernetes::text_map& written);
/// Why a Queue of Volcano that is stopped lets nobody in: "it is closed".
[[nodiscard]] std::string stopped_words(const manifest& queue);
/// The amount as people write it: "8", cpu "12.5", memory "64 GiB".
[[nodiscard]] std::string queue_amount_words(const std::string& resource, std::int64_t amount);
/// The resources, devices before CPU, memory and pods.
[[nodiscard]] std::vector<std::string> devices_first(const resource_amounts& amounts);

/// Gives a pod what Kueue gives it for its flavor: the node selector and the tolerations.
void add_flavor_rules(const host_rules& of_flavor, host_rules& to);

/// The group that a pod says it belongs to, with that namespace; empty: none.
[[nodiscard]] std::string pod_group_of(const std::string& ns, const kubernetes::pod& pod);

/// Pods of a PodGroup that its queue keeps from starting.
struct group_hold {
    std::string because{};     ///< "queue research: nvidia.com/gpu 8 of 8 used, 2 more needed"
    bool is_let_in = false;    ///< the queue has let the group in, and its capability is too little for all of its pods
    std::int64_t starting = 0; ///< how many of those that wait and have no gate it does not keep

    bool operator==(const group_hold&) const = default;
};
/// By "namespace/name": PodGroups of Volcano that wait for their queue (phase Pending, or none yet), and those of which
/// it lets some pod not start.
[[nodiscard]] std::map<std::string, group_hold> groups_held_back(std::span<const manifest> objects);

} // namespace vgpualloc::kube
