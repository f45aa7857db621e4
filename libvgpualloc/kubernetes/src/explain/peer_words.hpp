// What a pod's rules about other pods have against a node, in words.
#pragma once

#include <string>

#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/model/rejection.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc::explaining {

/// "spread over zone: 2 more than the fewest, at most 1", "anti-affinity with db/main-0 in zone b", "affinity: no such
/// pod in zone b". Empty for other codes.
[[nodiscard]] std::string peer_words(const kube::snapshot& state, node_index where, const pod_request& request,
                                     const rejection_detail& detail);

} // namespace vgpualloc::explaining
