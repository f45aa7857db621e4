// What a simulation replays: a cluster and what happens to it, the pods in order of arrival, how they belong together
// in jobs and queues, and the typical pods of the workload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpusim/workload/requested.hpp"
#include "vgputraces/device_parts.hpp"

namespace vgpusim {

struct kubernetes_objects; // workload/kubernetes_objects.hpp

/// One arrival. Names of tuned copies are made when they are written: a million of them would be a quarter of the
/// memory.
struct arriving_pod {
    std::uint32_t name = 0;    ///< position in simulation_input::names
    std::int32_t copy = -1;    ///< number of a tuned copy, -1 for an original
    std::uint32_t request = 0; ///< position in simulation_input::requests
    ticks arrival;
    std::optional<ticks> duration; ///< absent: the pod stays
};

/// Pods that start together or not at all, and how they wait. A job enters the queue when its last pod has arrived.
struct job {
    std::uint32_t first = 0;         ///< of its pods, position in simulation_input::members
    std::uint32_t pods = 1;          ///< how many there are
    std::uint32_t minimum = 1;       ///< without which none starts; the others start when they fit
    std::uint32_t queue = 0;         ///< position in simulation_input::queues; 0 where there are none
    std::int32_t priority = 0;       ///< higher goes first, where a discipline looks at it
    std::optional<ticks> estimate{}; ///< how long it is said to run at most; absent: nobody knows
};

/// Amounts that a quota counts. Of a request they are what it says by itself: a share in percent of a device's memory
/// is no amount of memory.
struct device_amounts {
    std::int64_t devices = 0;
    std::int64_t memory_mib = 0;
    std::int64_t cores_percent = 0;

    bool operator==(const device_amounts&) const = default;
};

/// An amount in each dimension, absent where the dimension is not limited.
struct device_quota {
    std::optional<std::int64_t> devices{};
    std::optional<std::int64_t> memory_mib{};
    std::optional<std::int64_t> cores_percent{};
};

/// A queue and its share of the cluster. A job starts if its queue then stays within `guaranteed`, or, borrowing what
/// other queues leave of theirs, if it stays within `limit` and all queues together within the sum of what is
/// guaranteed. A dimension in which no queue has a guarantee is limited by `limit` alone.
struct job_queue {
    std::string name;
    device_quota guaranteed{};
    device_quota limit{};
};

/// What happens to the cluster itself. `stops` ends what runs there (a failure, or the end of a lease), `drains` lets
/// it end by itself; `resumes` is the end of either. A node that is to join later stops before the first arrival.
enum class cluster_change : std::uint8_t { stops, drains, resumes };

struct cluster_event {
    ticks time;
    cluster_change what = cluster_change::stops;
    node_index node;                      ///< position in simulation_input::nodes
    std::optional<device_index> device{}; ///< absent: the node with all of its devices
};

/// Nodes that are away until a cluster autoscaler adds them (discipline/autoscaler.hpp).
struct autoscaling {
    ticks delay;                   ///< from a job that waits to a node that takes pods
    std::vector<node_index> nodes; ///< in the order in which they are added
};

/// A fatal fault of one of a pod's containers.
struct pod_crash {
    ticks time;
    std::uint32_t pod = 0; ///< position in simulation_input::pods
};

/// The arrivals that count where pods that do not fit are lost, and what is counted of them.
struct measured_arrivals {
    std::size_t first_pod = 0; ///< position in simulation_input::pods; those before it fill the cluster
    std::vector<vgputraces::device_parts> shares{}; ///< per request, what a pod asks for
    std::vector<std::string> classes{};             ///< in the order of the model
    std::vector<std::uint32_t> class_of_request{};  ///< position in classes
};

struct simulation_input {
    vgpualloc::cluster nodes;                   ///< in tie-rank order
    std::vector<std::uint32_t> node_list_order; ///< per line of the node list, position in `nodes`
    std::vector<std::string> names;
    std::vector<pod_request> requests; ///< distinct ones
    requested_table requested;         ///< per request, what it asks for
    std::vector<arriving_pod> pods;    ///< in order of arrival
    /// Where the first pods are, which run when the run begins. Each is a job of its own.
    std::vector<vgpualloc::placement> running{};
    vgpualloc::workload typical;
    /// All pods of the list as it is given, by how many ask for the same; empty: `typical` is that already.
    vgpualloc::workload demand{};
    /// Per request, the class that it comes from; empty where requests have no names.
    std::vector<std::string> request_names{};
    /// Empty where every pod is a job of its own, of one queue and priority, whose estimate is its duration.
    std::vector<job> jobs{};
    std::vector<std::uint32_t> members{}; ///< of the jobs, positions in `pods`
    /// A row of pods.csv is a job with the name of its first pod, and not a pod: traces whose rows are jobs.
    bool rows_are_jobs = false;
    /// Whether the lists say how much memory devices have, so that amounts of it mean something.
    bool has_device_memory = true;
    std::vector<job_queue> queues{};             ///< empty: one without a quota
    std::vector<cluster_event> cluster_events{}; ///< by time
    std::vector<pod_crash> crashes{};            ///< by time
    std::optional<autoscaling> autoscaler{};
    std::optional<measured_arrivals> measured{}; ///< of a workload model: where measuring begins
    /// For schedulers that read Kubernetes objects; null for workloads of other formats.
    std::shared_ptr<const kubernetes_objects> objects{};
    /// How the dialect of the lists spells a reason for not placing a pod.
    std::string_view (*reason_name)(rejection_code) noexcept = vgpualloc::to_string;

    [[nodiscard]] std::string name_of(const arriving_pod& pod) const {
        return pod.copy < 0 ? names[pod.name] : names[pod.name] + "-tuned-" + std::to_string(pod.copy);
    }
};

} // namespace vgpusim
