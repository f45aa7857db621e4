// What a node says to a pod, in the terms of its dialects.
#pragma once

#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/explain/answers.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc::explaining {

/// Why a node refused: of the device that comes closest, once the containers before the one that does not fit have
/// their devices.
[[nodiscard]] refusal refusal_of(const cluster& nodes, node_index where, const pod_request& request,
                                 const node_decision& decision);

/// The terms of the node's score for its own best placement.
[[nodiscard]] std::vector<score_term> terms_of(allocator& decider, policy& scorer, const pod_request& request,
                                               const node_decision& decision);

} // namespace vgpualloc::explaining
