// How many more pods of one request a cluster takes, and whether it would take one if nothing else ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/metrics/idle_split.hpp"
#include "vgpualloc/policy/parse.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::show {

/// The policy by which `show` and `why` place pods.
[[nodiscard]] vgpualloc::owned_policies best_fit();

/// What is idle to the mean pod of these, with rules about other pods: what such a rule keeps from being of use is of
/// the wrong kind. The ledger of the snapshot is as before afterwards.
[[nodiscard]] vgpualloc::idle_parts
mean_idle(kube::snapshot& state, const std::vector<vgpualloc::counted_request>& requests, const stop_signal& stop);

/// Fills nodes with pods of one request by `best_fit`, as `whatif --add-pods --policy best_fit` places them. Pods that
/// wait take nothing. The ledger of the snapshot, which outlives it, is as before after each call.
class headroom {
public:
    explicit headroom(kube::snapshot& state);

    /// How many more pods of a request that asks for devices are placed until no node takes one. Rules about other pods
    /// are not looked at: filled_with() does. Nodes that have the same devices in the same state and as much left of
    /// the host are filled once. Where a pod asks for one device, and it is of no consequence where its part lies,
    /// devices are counted one by one.
    [[nodiscard]] std::int64_t more_of(const vgpualloc::pod_request& request, const stop_signal& stop = {});

    struct filling {
        std::int64_t more = 0;        ///< pods placed
        std::int64_t more_alone = 0;  ///< the same without rules about other pods
        vgpualloc::idle_parts idle{}; ///< what is idle, to such pods
        std::int64_t kept_idle = 0;   ///< of it, in `wrong_kind`: what is of no use because of other pods. Milli-GPU
    };
    /// What more pods of a request find, with rules about other pods. The ledger is as it was at the first call, and
    /// the splitter the same.
    [[nodiscard]] filling filled_with(const vgpualloc::pod_request& request, const vgpualloc::idle_splitter& splitter,
                                      const stop_signal& stop = {});

    /// For each of the requests, whether some node would take it if all other pods were gone. That a pod wants others
    /// near does not count: such pods may come.
    [[nodiscard]] std::vector<bool> fit_alone(const std::vector<const vgpualloc::pod_request*>& requests,
                                              const stop_signal& stop = {});

private:
    static constexpr std::int64_t no_limit = std::int64_t{1} << 40U; ///< of pods on a node
    /// Pods that are placed, and what they take of the devices.
    struct placed_pods {
        std::int64_t pods = 0;
        std::int64_t milli = 0;
    };
    /// What pods find that have no rules about others: pods of many owners differ in nothing but these.
    struct room_alone {
        std::int64_t more = 0;
        vgpualloc::idle_parts idle{};
        std::vector<placed_pods> by_node{}; ///< empty: nobody has asked
        /// Of fewer pods than a node has room for, by what nodes have alike and the number of pods.
        std::map<std::pair<std::uint32_t, std::int64_t>, placed_pods> fewer{};
    };
    [[nodiscard]] room_alone& alone(const vgpualloc::pod_request& request, const vgpualloc::idle_splitter& splitter,
                                    const stop_signal& stop);
    [[nodiscard]] placed_pods placed_one_by_one(const vgpualloc::pod_request& request, const stop_signal& stop);
    [[nodiscard]] placed_pods placed_on(node_index where, const vgpualloc::pod_request& request, std::int64_t most);
    [[nodiscard]] std::vector<placed_pods> placed_on_nodes(const vgpualloc::pod_request& alone,
                                                           const stop_signal& stop);
    [[nodiscard]] placed_pods placed_by_domain(const vgpualloc::pod_request& request, std::size_t rule,
                                               const std::vector<placed_pods>& by_node, room_alone& without_rules);
    [[nodiscard]] placed_pods placed_fewer(node_index where, const vgpualloc::pod_request& request, std::int64_t most,
                                           room_alone& without_rules);
    [[nodiscard]] placed_pods placed_beside_peers(const vgpualloc::pod_request& request, room_alone& without_rules,
                                                  const stop_signal& stop);

    /// The same for a pod that asks for one device; none if some device of the node has places for its parts.
    [[nodiscard]] std::optional<std::int64_t> more_singles_on(node_index where,
                                                              const vgpualloc::pod_request& request) const;

    kube::snapshot* state_;
    std::map<vgpualloc::pod_request, room_alone> alone_;
    vgpualloc::owned_policies policies_;
    vgpualloc::allocator decider_;
    std::vector<std::uint32_t>
        alike_;                ///< by node: the same number for nodes that differ in nothing but their host rules
    std::size_t first_id_ = 0; ///< no pod of the ledger has it, nor a later one
};

} // namespace vgpuops::show
