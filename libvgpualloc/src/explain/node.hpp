// What a node says to a pod, in the terms of its dialects.
#pragma once

#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/explain/explain.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpusim {

/// Why a node refused: of the device that comes closest, once the containers before the one that does not fit have
/// their devices.
[[nodiscard]] refusal refusal_of(const snapshot& in, vgpualloc::node_index where, const vgpualloc::pod_request& request,
                                 const vgpualloc::node_decision& decision);

/// The terms of the node's score for its own best placement.
[[nodiscard]] std::vector<score_term> terms_of(vgpualloc::allocator& decides, vgpualloc::policy& scorer,
                                               const vgpualloc::pod_request& request,
                                               const vgpualloc::node_decision& decision);

} // namespace vgpusim
