// The interface of a policy: which of the possible placements is best, on the node level and on the device level.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/model/view.hpp"

namespace vgpualloc {

/// A request with what policies ask of it again and again.
struct request_view {
    const pod_request* request = nullptr;
    std::int64_t devices = 0; ///< over all containers
};

/// One thing that happened to a pod's booking.
struct policy_event {
    ledger_event_kind kind;
    const booking* what;
    const cluster* where;
};

/// A whole placement on one node, for policies that look at which device it is. Devices are by index.
struct placement_view {
    node_view before;                           ///< its configuration lists the devices by index
    std::span<const device_share> shares;       ///< in the order chosen
    std::span<const device_view* const> taken;  ///< per share: the device just before it
    std::span<const device_view* const> became; ///< per share: the device with it
    bool compromised = false;                   ///< some share falls short of what was asked (sharing_mode::compromise)
};

/// Scores placements; the highest score wins. A score is an IEEE double, compared exactly.
///
/// Choice on a node: every device that fits is tried, the highest device_score() wins, then the highest node_score(),
/// then the lowest device index. Choice among nodes: node_score() of the outcome chosen there; equal scores go to the
/// node that comes first in the cluster, or to a uniform draw if draws_node_ties().
///
/// Scores must depend only on the arguments, on what observe() told about that very node, and on epoch(): the allocator
/// keeps a node's score until the node changes or the epoch rises.
class policy {
public:
    virtual ~policy() = default;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0;

    /// How good it is that `before` becomes `after`.
    [[nodiscard]] virtual double node_score(const request_view& request, const node_view& before,
                                            const node_view& after) = 0;

    /// How good it is to take `step.before` for one device's worth of the request; `after` is the node after that step.
    [[nodiscard]] virtual double device_score(const request_view& request, const node_view& before,
                                              const node_view& after, const step_view& step) = 0;

    /// Whether device_score() is node_score(), so that one computation serves both.
    [[nodiscard]] virtual bool scores_devices_by_node() const noexcept { return false; }

    /// Whether node_score() looks at nothing of the `after` node but its CPU and what is used and free of its
    /// configuration, and device_score() at nothing of it at all. The configuration may then be missing, which spares
    /// finding out which one it would be.
    [[nodiscard]] virtual bool scores_by_totals() const noexcept { return false; }

    /// Whether nodes in equal states always score alike. False for a policy that scores by what observe() told of a
    /// node.
    [[nodiscard]] virtual bool scores_by_state_alone() const noexcept { return true; }

    /// Whether it matters which device it is, and in which order they were taken: the node is then scored by
    /// placement_score(), steps know their device's index, and equal devices go by the lowest index. Such decisions are
    /// made without the index of states.
    [[nodiscard]] virtual bool looks_at_positions() const noexcept { return false; }
    [[nodiscard]] virtual double placement_score(const request_view& /*request*/, const placement_view& /*chosen*/) {
        return 0.0;
    }

    /// Whether equal node scores, or equal devices, are settled by draw() instead of by order.
    [[nodiscard]] virtual bool draws_node_ties() const noexcept { return false; }
    [[nodiscard]] virtual bool draws_device_ties(const request_view& /*request*/) const noexcept { return false; }
    /// A position in [0, count); called once per choice that is settled by draw, `count` >= 1.
    [[nodiscard]] virtual std::uint64_t draw(std::uint64_t /*count*/) { return 0; }

    /// Told of every change of the ledger, in order, before the next score is asked for.
    virtual void observe(const policy_event& /*event*/) {}

    /// Rises when scores of unchanged nodes change.
    [[nodiscard]] virtual std::uint64_t epoch() const noexcept { return 0; }

    /// Told that ids of configurations and devices are about to be given anew: whatever was kept by id is void.
    virtual void forget_ids() {}
};

} // namespace vgpualloc
