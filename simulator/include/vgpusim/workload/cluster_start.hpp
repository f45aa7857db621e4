// A living cluster as the start of a run: what runs there goes on where it is, and what waits arrives at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/pod_classes.hpp"
#include "vgputraces/arrivals.hpp"
#include "vgputraces/pod_ends.hpp"

namespace vgpusim {

/// When pods of the cluster end. Nothing ends before the run begins.
struct pod_ends {
    enum class source : std::uint8_t {
        drawn, ///< from the rows of the pod's class, of those that last longer than the pod has run
        stay,  ///< none ends
        table, ///< `known`; pods that it does not name stay
    };

    source from = source::drawn;
    std::uint64_t seed = 0; ///< of the draw; a pod's depends on its own name, or its owner's, and on nothing else
    std::vector<vgputraces::pod_end> known{};
    std::string table_name{}; ///< what errors call the table
};

/// A pod of the cluster that has devices or waits for some.
struct cluster_pod {
    std::string name; ///< namespace/name
    pod_request request;
    std::int32_t priority = 0;
    std::optional<vgpualloc::placement> where{}; ///< of one that runs
    std::optional<ticks> duration{};             ///< from the beginning of the run; absent: it stays
};

/// Pods of the cluster by what becomes of their ends.
struct start_counts {
    std::int64_t running = 0;
    std::int64_t waiting = 0;
    std::int64_t of_no_class = 0;         ///< running, and no row of the table is of a class that asks for the same
    std::int64_t waiting_of_no_class = 0; ///< likewise, of those that wait
    std::int64_t outlived = 0;            ///< running, and longer than any row of their class lasts
    std::int64_t held_back = 0;           ///< waiting behind a gate or a queue, and left out
    std::int64_t unreadable = 0;          ///< waiting, and left out
};

struct cluster_start {
    vgpualloc::cluster nodes;           ///< less the CPU, memory and pods of those that have no devices, which stay
    std::vector<cluster_pod> running{}; ///< in the order of the snapshot
    std::vector<cluster_pod> waiting{};
    start_counts counts{};
};

/// What a run begins with. `objects` are those of the snapshot. A pod has run since status.startTime, or else since its
/// creation, to the newest such time of all pods: the file does not say when it was written. Pods that a change of the
/// snapshot has evicted wait, before those that waited already. Nodes that are gone are those behind all others.
/// Errors: a pod of the table of ends that does not run, with the line.
[[nodiscard]] expected<cluster_start> start_of(const vgpualloc::kube::snapshot& state,
                                               std::span<const vgpualloc::kube::manifest> objects,
                                               const vgputraces::arrival_table& arrivals,
                                               std::span<const pod_class> classes, const pod_ends& ends);

/// What of the cluster does not go on as it is, in words, at `source`.
[[nodiscard]] std::vector<error> warnings_of(const start_counts& counts, const std::string& source);

} // namespace vgpusim
