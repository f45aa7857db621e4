// Changes of a cluster or of a pod that are tried so that the pod fits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/show/verdict.hpp"
#include "vgpuops/why/pod.hpp"

namespace vgpuops::why {

/// A pod that waits, or the next of several alike that a file has.
struct pod_to_start {
    const kube::snapshot_pod* pod = nullptr;
    show::verdict verdict = show::verdict::never;
    const std::vector<node_reasons>* nodes = nullptr; ///< what the nodes answer
    /// What the file has, which `whatif` adds; empty: the pod is in the cluster.
    std::vector<kube::manifest> added{};
    std::string file{};     ///< its name
    std::int64_t pods = 1;  ///< that have no place yet, and that each change has to bring one
    std::size_t booked = 0; ///< the last of those that run are of the file and have their places
};

/// The changes that help it, of which each is enough by itself. Changes of nodes are tried as `whatif` makes them, with
/// all pods that wait; moves as `plan` finds them; changes of the pod, and pods that end, on the cluster as it is. The
/// ledger is as before.
[[nodiscard]] std::vector<tried_change> try_changes(kube::snapshot& state, const std::vector<kube::manifest>& objects,
                                                    const vgpualloc::dialect_set& dialects, const pod_to_start& wanted,
                                                    const stop_signal& stop);

/// "a100-1 or a100-2 takes it now", of nodes ascending.
[[nodiscard]] std::string takers_words(const std::vector<std::string>& names, const std::string& what = "it");
/// Names of the nodes that take a request as things are, ascending.
[[nodiscard]] std::vector<std::string> takers_of(const kube::snapshot& state, const vgpualloc::pod_request& request);

} // namespace vgpuops::why
