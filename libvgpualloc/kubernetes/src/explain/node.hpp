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

/// What else would refuse, were `first`, the refusal of `decision`, not there: each rule of the host, then its amounts,
/// then what the devices answer, and where they are short of several amounts, each of these; those that come before
/// `first` as well, where only a later one was looked at. In the order of the codes, without `first`.
[[nodiscard]] std::vector<refusal> further_refusals(allocator& decider, const ledger& book, node_index where,
                                                    const pod_request& request, const node_decision& decision,
                                                    const refusal& first);

/// The terms of the node's score for its own best placement.
[[nodiscard]] std::vector<score_term> terms_of(allocator& decider, policy& scorer, const pod_request& request,
                                               const node_decision& decision);

} // namespace vgpualloc::explaining
