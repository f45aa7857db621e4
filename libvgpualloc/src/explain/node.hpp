// One node asked about one pod, in detail.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "vgpualloc/alloc/naive_allocator.hpp"
#include "vgpualloc/explain/answers.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc::explaining {

/// Makes the scorer of a lone node, for policies that know nodes by their position in the cluster. `where` is the
/// node's in the snapshot.
using lone_scorer = std::function<std::unique_ptr<policy>(const cluster& lone, node_index where)>;

/// A node of a snapshot in a cluster of its own, with what runs there: so that its own best placement can be asked
/// for, and containers placed one after the other, without touching the snapshot.
class lone_node {
public:
    /// `make`: empty for a scorer that serves lone nodes as well.
    lone_node(const kube::snapshot& in, node_index where, policy& scorer, const lone_scorer& make);

    /// The best placement of `request` here. Its node is 0.
    [[nodiscard]] std::optional<placement> best(const pod_request& request);

    /// Numbers for the code with which the node refused: of the device that comes closest, once the containers before
    /// the one that does not fit have their devices.
    [[nodiscard]] refusal refused(const pod_request& request, rejection_code code);

    /// Terms of the node's score for a placement here.
    [[nodiscard]] std::vector<score_term> terms(const pod_request& request, const placement& made) const;

private:
    [[nodiscard]] refusal of_host(const pod_request& request, rejection_code code) const;
    [[nodiscard]] refusal of_devices(const pod_request& request, std::size_t container, rejection_code code,
                                     const std::vector<bool>& taken);

    cluster nodes_;
    std::unique_ptr<policy> own_scorer_;
    policy* scorer_;
    ledger book_;
    naive_allocator asks_;
    std::size_t pods_ = 0;
};

} // namespace vgpualloc::explaining
