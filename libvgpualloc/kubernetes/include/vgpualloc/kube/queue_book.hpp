// Which added pods the queues of Kueue and Volcano let in.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/kube/cluster_queues.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/volcano_queues.hpp"

namespace vgpualloc::kube {

/// The label by which Kueue finds the LocalQueue of a pod, or of what makes pods.
inline constexpr const char* local_queue_label = "kueue.x-k8s.io/queue-name";

struct queue_admission {
    std::int64_t pods = 0; ///< that are let in
    std::string queue{};   ///< "queue research"; empty: all are let in
    std::string because{}; ///< "nvidia.com/gpu 8 of 8 used, 2 more needed"
    host_rules rules{};    ///< which Kueue gives those that are let in: of the nodes of their flavor
};

/// Lets workloads in one after the other; what is let in is used. Kueue lets a workload in as a whole. Volcano lets a
/// job in by what its PodGroup needs at the least, and then gives to as many pods as its queue has room for, or to none
/// if these are too few to start.
class queue_book {
public:
    /// The objects outlive this. `added` has the other parts of workloads.
    queue_book(std::span<const manifest> objects, std::span<const manifest> added);

    /// Other nodes than those of the objects are asked about: what depends on all of them is not looked at.
    void forget_nodes() noexcept { volcano_.forget_nodes(); }

    /// How many of `pods` pods like that of the object are let in; all, if no queue has a say.
    [[nodiscard]] queue_admission admit(const manifest& object, std::int64_t pods);

    /// Queues that would have counted for what admit() was asked for, and are not among the objects.
    [[nodiscard]] std::vector<std::string> not_looked_at() const;

private:
    /// Of one workload: the objects that make its pods, each with their number.
    using workload = std::vector<std::pair<const manifest*, std::int64_t>>;
    /// Of a workload that was asked for: by the object's name, how many pods are let in.
    struct decision {
        std::map<std::string, std::int64_t> pods{};
        std::map<std::string, host_rules> rules{};
        std::string queue{};
        std::string because{};
    };

    [[nodiscard]] workload parts_of(const manifest& object, std::int64_t pods) const;
    [[nodiscard]] std::string volcano_queue_of(const manifest& object) const;
    /// The PodGroup that pods of the object say they are in; null: none that is known.
    [[nodiscard]] const manifest* group_of(const manifest& object) const;
    [[nodiscard]] decision ask_kueue(const manifest& object, const std::string& local_queue, const workload& parts);
    [[nodiscard]] decision ask_volcano(const std::string& name, const workload& parts);

    std::span<const manifest> added_;
    cluster_queues kueue_;
    volcano_queues volcano_;
    std::map<std::string, const manifest*> groups_{}; ///< PodGroups, by namespace and name
    std::set<std::string> groups_in_{};               ///< those of them that were let in here
    std::map<std::string, decision> decisions_{};     ///< by kind and full name of the workload
    std::set<std::string> not_looked_at_{};
};

} // namespace vgpualloc::kube
