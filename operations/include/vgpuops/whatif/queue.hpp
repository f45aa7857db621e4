// The pods that a what-if places, in the order in which it does, and the attempt to place all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/quotas.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::whatif {

enum class pod_origin : std::uint8_t { waits, evicted, added };

/// "waits", "evicted", "added".
[[nodiscard]] std::string_view to_string(pod_origin origin) noexcept;

/// Pods that are alike and come one after the other: one pod of the cluster, or all of a template.
struct queued_pods {
    kube::snapshot_pod pod;
    pod_origin origin = pod_origin::waits;
    std::string from{}; ///< of an evicted pod: the node that it was on
    std::int64_t count = 1;
    bool one_per_node = false;                      ///< instead of `count`: one on every node that takes one
    std::int64_t held = 0;                          ///< more pods of the entry, which a quota keeps from being made
    std::optional<kube::quota_shortage> short_of{}; ///< that quota
    std::optional<std::int64_t> admitted{};         ///< with `one_per_node`: at most so many; none: on all nodes
    std::int64_t priority = 0;
    std::string created{};             ///< empty: after all others
    std::string gang{};                ///< "<namespace>/<group>"; empty: a pod by itself
    std::optional<error> unreadable{}; ///< why no scheduler takes it; it is not tried

    [[nodiscard]] std::int64_t wanted() const noexcept { return count + held; }
};

/// Pods that start together: those of one gang, else one entry of the list.
struct placing_unit {
    std::vector<std::size_t> entries{}; ///< positions in pod_queue::pods
    std::int64_t minimum = 0;           ///< of the gang's pods that do not run yet; 0: each by itself
    bool is_minimum_said = true;        ///< by an object; else it is all of them
};

struct pod_queue {
    std::vector<queued_pods> pods{};
    std::vector<placing_unit> units{};        ///< in the order of placing
    std::vector<std::string> not_looked_at{}; ///< of quotas (quota_book::not_looked_at)
};

/// Evicted pods, pods that wait and added pods: higher priority first, then those created earlier, then in that order.
/// A gang is placed when its first pod's turn has come. Its minimum is that of its PodGroup or Volcano Job, less what
/// runs of it; without one, all of its pods. Quotas admit pods that are added, in their order; those that exist have
/// been admitted. `objects` are those of the snapshot and say what it does not know:
/// priorities, times and PodGroups; `node_names` are those of its nodes before any of them was removed. Once an
/// end is wanted, pods are missing. `has_other_nodes`: nodes come or go, or their devices change.
[[nodiscard]] pod_queue make_queue(const kube::snapshot& state, const std::vector<std::string>& node_names,
                                   const std::vector<kube::manifest>& objects, const std::vector<pod_id>& evicted,
                                   const std::vector<kube::manifest>& added, const stop_signal& stop = {},
                                   bool has_other_nodes = false);

/// What becomes of an entry of the queue.
struct entry_outcome {
    std::vector<vgpualloc::placement> placed{}; ///< by pod
    std::int64_t refused = 0;                   ///< pods
    vgpualloc::rejection reasons{};             ///< of the first one that found no place
    std::int64_t gang_fitting = -1; ///< pods of the gang that would fit, which are too few; -1: not the reason
};
struct queue_outcome {
    std::vector<entry_outcome> entries{}; ///< by position in pod_queue::pods
    std::int64_t placed = 0;              ///< pods
    std::int64_t refused = 0;
};

/// Places all of the queue on the ledger of `state` with `decider`, which reads that ledger. What is placed stays
/// booked. Numbers of pods from `first_id` on are given to them. `on_refusal` is called with the position of an entry
/// when its first pod finds no place, the ledger being as that pod found it. Once an end is wanted, nothing more is
/// placed.
[[nodiscard]] queue_outcome place_all(kube::snapshot& state, vgpualloc::allocator& decider, const pod_queue& queue,
                                      pod_id first_id, const std::function<void(std::size_t)>& on_refusal = {},
                                      const stop_signal& stop = {});

} // namespace vgpuops::whatif
