// Which jobs the Queues of Volcano let in, and how many of their pods may have devices.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/queues.hpp"

namespace vgpualloc::kube {

/// Of a job that asks to be let in.
struct volcano_job {
    std::string queue{};
    /// spec.minResources of its PodGroup; none: it is let in without being asked for any.
    std::optional<resource_amounts> least{};
    std::vector<std::pair<resource_amounts, std::int64_t>> pods{}; ///< what one needs, and how many there are like it
    std::int64_t minimum = 1;                                      ///< pods without which none starts
    bool is_in = false;                                            ///< its PodGroup has been let in before
};

struct volcano_answer {
    std::string because{};            ///< why not all pods may start: "nvidia.com/gpu 8 of 8 used, 2 more needed"
    std::vector<std::int64_t> pods{}; ///< that may, in the order of volcano_job::pods
    bool is_in = false;               ///< the job is let in, though maybe none of its pods may start
};

/// What may start of the pods of a PodGroup that wait and have no gate.
struct group_start {
    std::int64_t pods = 0;
    std::string because{}; ///< why not all; empty: all of them
};

/// What Volcano decides with the plugins of its usual configuration: action enqueue with `overcommit` and `proportion`,
/// then allocate with `proportion`. Source: pkg/scheduler/plugins/proportion and overcommit of Volcano 1.14.1. Amounts
/// are numbers with fractions, as there.
class volcano_queues {
public:
    /// The objects outlive this.
    explicit volcano_queues(std::span<const manifest> objects);

    [[nodiscard]] bool empty() const noexcept { return queues_.empty(); }
    [[nodiscard]] bool has(const std::string& name) const { return queues_.contains(name); }

    /// The nodes are other ones than those of the objects: what depends on all of them is not looked at.
    void forget_nodes() noexcept { knows_nodes_ = false; }
    [[nodiscard]] bool knows_nodes() const noexcept { return knows_nodes_; }

    /// Why a PodGroup that needs `least` at the least is not let in; empty: it is. The queue is one that has().
    [[nodiscard]] std::string why_not(const std::string& name, const resource_amounts& least) const;
    /// How many pods of a job may start; they use what they need from now on.
    [[nodiscard]] volcano_answer take(const volcano_job& job);

    /// What of a PodGroup that is let in its queue's capability lets start. What nodes and other queues have to do with
    /// it is for the nodes. The queue is one that has().
    [[nodiscard]] group_start start_of_group(const manifest& group) const;

    /// Whether a pod of a PodGroup, by "namespace/name", is on a node.
    [[nodiscard]] bool runs(const std::string& group) const;

    /// What pods of a PodGroup that wait ask for, by "namespace/name"; nothing if there are none.
    [[nodiscard]] resource_amounts waiting(const std::string& group) const;

private:
    /// In the units of resource_amounts.
    using amounts = std::map<std::string, double>;
    struct queue {
        const manifest* object = nullptr;
        amounts capability{}; ///< of resources that are limited
        amounts guarantee{};
        amounts allocated{};
        amounts reserved{};      ///< by PodGroups that are let in and do not run yet
        amounts elastic{};       ///< of `allocated`: beyond what their groups need at the least
        amounts requested{};     ///< `allocated` and what waits
        bool has_groups = false; ///< others get no share
    };
    /// Of one PodGroup.
    struct group_pods {
        amounts running{};
        amounts gated{};
        resource_amounts waiting{};
        std::map<resource_amounts, std::int64_t> waiting_alike{}; ///< how many pods without a gate need that much
        std::int64_t running_count = 0;
        std::int64_t succeeded_count = 0;
    };
    /// What may start of pods that a queue has let in.
    struct start {
        std::vector<std::int64_t> pods{}; ///< of each entry
        std::string because{};            ///< why not all of them
        amounts taken{};                  ///< by the queue then
    };

    void read_pods(std::span<const manifest> objects);
    void read_group(const manifest& group, bool counts_pods);
    [[nodiscard]] start start_of(const queue& in, const std::vector<std::pair<resource_amounts, std::int64_t>>& pods,
                                 const std::function<double(const std::string&)>& most_of) const;
    [[nodiscard]] double limit_of(const queue& of, const std::string& resource) const;
    /// What each queue with PodGroups may have, after weights and requests.
    [[nodiscard]] std::map<const queue*, amounts> shares() const;

    std::map<std::string, queue> queues_{};
    std::map<std::string, group_pods> groups_{}; ///< by namespace and name
    amounts total_{};                            ///< of all nodes
    amounts used_{};                             ///< by all pods on nodes
    amounts guaranteed_{};
    amounts reserved_{}; ///< of all queues
    bool knows_nodes_ = false;
};

} // namespace vgpualloc::kube
