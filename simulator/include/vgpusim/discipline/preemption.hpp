// Making room for a job of high priority: which running jobs of lower priority are stopped for it.
#pragma once

#include <cstdint>

namespace vgpusim {

class simulation;

/// Stops jobs of lower priority so that `job` fits, or none at all. Returns whether it fits now.
///
/// As kube-scheduler's DefaultPreemption does: on every node, what is of lower priority is taken away, and given back
/// from the highest priority and the earliest start on as far as the pod still fits; of the nodes that come about, the
/// one whose highest victim is lowest, then the one with the fewest victims, then the first. A victim's whole job is
/// stopped. The pods of a gang get their nodes one after the other. On a node whose devices are shared as CCE does,
/// nothing is stopped for want of devices (CCE, "GPU virtualization", rule on preemption).
[[nodiscard]] bool make_room(std::uint32_t job, simulation& run);

} // namespace vgpusim
