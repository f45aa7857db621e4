// A cluster as Kubernetes shows it at one moment: nodes with their devices in every dialect, what their pods have of
// them, and the pods that wait. Made once, it serves every command that starts from a living cluster.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/core/shared_list.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/pod_sets.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc::kube {

/// How often pods ask for an amount of CPU and for devices.
using request_counts = std::map<std::pair<milli_cpu, std::vector<device_request>>, std::int64_t>;

/// What policies take for typical where requests occur so often.
[[nodiscard]] workload typical_of(const request_counts& counts);

/// What a device of the cluster was registered as.
struct snapshot_device {
    std::string dialect;
    device_registration registered;
    std::int64_t index = 0; ///< as its node counts the devices of the dialect

    bool operator==(const snapshot_device&) const = default;
};

/// What one container of a pod asks for by itself.
struct own_request {
    std::string container; ///< with its kind: "container main", "init container warm-up", "sidecar proxy"
    device_request request;
};

struct snapshot_pod {
    std::string ns; ///< "default" where the object names none
    std::string name;
    std::string place;   ///< file and line of the object
    std::string dialect; ///< that it asks for devices in; empty: it asks for none
    kubernetes::pod object;
    pod_request request;
    std::vector<std::string> container_names; ///< by request.containers; empty text: the pod as a whole
    /// In the order in which containers start; empty where the pod asks as one. With init containers these are not
    /// request.containers, which counts what the pod needs at once (counts_at_once).
    std::vector<own_request> own_requests{};
    bool counts_at_once = false;
    std::vector<std::string> rules_ignored{}; ///< see manifest::rules_ignored; with names_of() where no set is known
    std::vector<std::string> gates{};         ///< see manifest::gates
    std::string scheduler_name{};             ///< spec.schedulerName
    bool terminating = false;                 ///< it is being deleted
    std::optional<error> failure{};           ///< why the request cannot be read; it then asks for the host part only
    std::optional<error> unserved{};          ///< of a pod that waits: why_unserved()
    /// Of a pod that waits and that a queue of Volcano holds back, why (groups_held_back()); null: none does.
    std::shared_ptr<const std::string> queue_hold{};

    [[nodiscard]] std::string full_name() const { return ns + "/" + name; }
};

struct bound_pod {
    snapshot_pod pod;
    node_index node;
};

/// A pod that is bound to a node that is not among the objects; it counts nowhere.
struct stray_pod {
    std::string full_name;
    std::string name;
    std::string node;
};

/// An object beside nodes and pods that a scheduler or the API server decides by, and that is not read: a quota.
struct rule_object {
    std::string kind;
    std::string ns; ///< empty: of the whole cluster
    std::string name;
    std::string extended_resource{}; ///< manifest::extended_resource
    /// Of a ResourceQuota: keys that Kubernetes does not read, and HAMi's scheduler does ("limits.nvidia.com/gpumem").
    std::vector<std::string> limits_of_devices{};
};

/// Allocators keep the ledger's address, so it has one of its own and a snapshot may be moved.
struct snapshot {
    std::unique_ptr<ledger> book; ///< of the nodes in the order found, with every bound pod adopted
    std::vector<std::vector<snapshot_device>> devices; ///< by node, then device index
    std::vector<std::vector<std::int64_t>> extended;   ///< by position in `dialects`, then node: dialect::extended_of
    shared_list<bound_pod> bound;                      ///< by pod_id
    shared_list<snapshot_pod> pending;                 ///< in the order found
    std::vector<stray_pod> strays;                     ///< in the order found
    std::vector<std::string> leaving_nodes;            ///< names of those that are being deleted, in the order found
    std::vector<rule_object> rule_objects;             ///< in the order found
    std::vector<error> warnings;                       ///< what could not be read, or cannot be true
    dialect_set dialects;                              ///< as the nodes have them; other pods are to be read so too
    pod_sets sets;                                     ///< that rules of pods look at

    /// One of its own, in which other things may happen. No trial of the ledger is open.
    [[nodiscard]] snapshot copy() const;

    [[nodiscard]] const cluster& nodes() const { return book->nodes(); }
    [[nodiscard]] const snapshot_device& device(node_index where, device_index which) const {
        return devices[where.at()][which.at()];
    }
    /// These pods may be decided on later: what their rules look at is counted from now on.
    void expect_pods(std::span<const manifest> pods);
    /// The requests of all pods, bound and pending, each as often as it occurs: what policies take for typical.
    [[nodiscard]] workload typical() const;
    /// The same with all rules, for idle_splitter.
    [[nodiscard]] std::vector<counted_request> requests() const;
};

/// The snapshot that objects of any files make together. Kinds other than Node, Pod and ConfigMap are passed over. A
/// pod is bound by spec.nodeName or, while the scheduler is still binding, by the annotations of a dialect. Pods that
/// have ended are not there, nor those that are being deleted and have no node (a warning counts them). What runs is
/// counted even if it is too much (a warning says so); what cannot be read, or is there twice, is a warning and counts
/// for nothing. Errors: missing if there is no node, those of check_node() if none of the nodes passes it; stopped.
[[nodiscard]] expected<snapshot> make_snapshot(std::span<const manifest> objects, const dialect_set& dialects,
                                               stop_signal stop = {});

/// Why no scheduler places a pod whose request can be read, whatever is free: it asks for a resource by a wrong name
/// (unknown_name), or spec.schedulerName is not the scheduler that alone serves its dialect (mismatch).
[[nodiscard]] std::optional<error> why_unserved(const dialect_set& dialects, const snapshot_pod& pod);

/// What a pod, or a pod of a template, asks for. Errors: those of its dialect and of the object, mismatch for a pod
/// that is bound already, unsupported for one that asks in more than one dialect. `object` has a pod.
[[nodiscard]] expected<snapshot_pod> read_snapshot_pod(const manifest& object, const dialect_set& dialects);
/// The same of a pod for that snapshot, with its rules about other pods where expect_pods() was told of it.
[[nodiscard]] expected<snapshot_pod> read_snapshot_pod(const manifest& object, const snapshot& state);

} // namespace vgpualloc::kube
