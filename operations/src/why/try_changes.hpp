// Changes of a cluster or of a pod that are tried so that the pod fits.
#pragma once

#include <string>
#include <vector>

#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/show/verdict.hpp"
#include "vgpuops/why/pod.hpp"

namespace vgpuops::why {

/// The changes that help a pod with that verdict, of which each is enough by itself. Changes of nodes are tried as
/// `whatif` makes them, with all pods that wait; moves as `plan` finds them; changes of the pod, and pods that end, on
/// the cluster as it is. `nodes` is what the nodes answer. The ledger is as before.
[[nodiscard]] std::vector<tried_change> try_changes(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                                    const vgpualloc::dialect_set& dialects,
                                                    const kube::snapshot_pod& pod, show::verdict verdict,
                                                    const std::vector<node_reasons>& nodes, const stop_signal& stop);

} // namespace vgpuops::why
