// Which running jobs of lower priority are stopped for one of high priority.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

class scheduling_context;

/// Nodes on which jobs may be stopped; none: all.
using nodes_to_ask = std::optional<std::span<const node_index>>;

/// Stops jobs of lower priority and starts `job`, which does not fit beside them, or does neither. Returns whether it
/// started.
///
/// As kube-scheduler's DefaultPreemption does: on every node, what is of lower priority is taken away, and given back
/// from the highest priority and the earliest start on as far as the pod still fits; of the nodes that come about, the
/// one whose highest victim is lowest, then the one with the fewest victims, then the first. A victim's whole job is
/// stopped. The pods of a gang get their places one after the other, and start exactly there: placed anew among all
/// that has become free, the policy could put a small one where a large one needs to go. On a node whose devices are
/// shared as CCE does, nothing is stopped for want of devices (CCE, "GPU virtualization", rule on preemption).
[[nodiscard]] bool start_by_preempting(std::uint32_t job, nodes_to_ask nodes, scheduling_context& run);

} // namespace vgpusim
