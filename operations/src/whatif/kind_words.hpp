// Why nodes of a kind that is looked for help some pods not at all.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/explain/answers.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/whatif/answer.hpp"
#include "vgpuops/whatif/queue.hpp"

namespace vgpuops::whatif {

/// Of the pods of a queue that no scheduler takes, in its order: what holds them back, and whether they would need a
/// node.
[[nodiscard]] std::vector<pod_without_help> words_of_held(vgpualloc::allocator& decider, const pod_queue& queue);

/// Of pods of the queue that fit neither as things are nor on a node of the kind: whether they would fit with no other
/// pod there and, if not, why.
[[nodiscard]] std::vector<pod_without_help> words_of_never(kube::snapshot& state, const pod_queue& queue,
                                                           const std::vector<std::size_t>& positions,
                                                           const stop_signal& stop);

/// Why a node of the kind does not take a pod.
struct kind_refusal {
    std::string why;   ///< what the node answers; empty: it would take the pod
    std::string words; ///< the same, with what was asked for and what the kind is
};

/// Why the node, which stands for the kind, does not take a pod.
[[nodiscard]] std::string words_of_refusal(const kube::snapshot& state, const kube::snapshot_pod& pod,
                                           const explaining::explanation& explained, node_index where);

} // namespace vgpuops::whatif
