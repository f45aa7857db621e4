// Kubernetes objects from YAML or JSON: manifests as people write them, and what `kubectl get -o yaml|json` prints.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/kube/peer_terms.hpp"
#include "vgpualloc/kube/policies.hpp"
#include "vgpualloc/model/host_rules.hpp"

namespace vgpualloc::kube {

/// Of snapshot_pod::rules_ignored: the anti-affinity of a pod that runs keeps others away.
inline constexpr const char* anti_affinity_ignored = "pod anti-affinity (spec.affinity.podAntiAffinity)";

struct queue_facts;

/// One object, or one task of a Volcano Job or of another workload that has_roles(). Of other kinds than pods, what
/// makes pods, nodes and ConfigMaps only kind, names and place are read.
struct manifest {
    std::string api_version;
    std::string kind;
    std::string name;             ///< "<job>/<task>" for a task
    std::string ns;               ///< namespace, as written
    std::string place;            ///< "file:line"; "file: object <n>" (from 1) where it shares a line
    std::int64_t replicas = 1;    ///< pods like `pod`
    std::int64_t completions = 0; ///< of a Job: spec.completions; 0: not said
    std::int64_t succeeded = 0;   ///< of a Job: status.succeeded
    bool one_per_node = false;    ///< a DaemonSet's: as many as there are nodes that take one
    /// Of all pods of a job, or of a PodGroup's, without which none starts; 0: not said.
    std::int64_t min_available = 0;
    std::optional<kubernetes::pod> pod; ///< of the object, or its template
    std::optional<kubernetes::node> node;
    kubernetes::text_map data; ///< of a ConfigMap; of a Namespace its labels
    /// Of a DeviceClass: spec.extendedResourceName, for which DRA gives its devices.
    std::string extended_resource;
    /// Of a ResourceQuota: what it allows and what of it is used, as written, by resource ("requests.nvidia.com/gpu").
    kubernetes::text_map quota_hard{};
    kubernetes::text_map quota_used{};
    std::shared_ptr<const cluster_policy> policy{};         ///< null: nothing
    std::shared_ptr<const pod_level_resources> pod_level{}; ///< of a pod; null: nothing
    milli_cpu cpu; ///< one pod's request, rounded up (init containers as Kubernetes counts them), or what a
    bytes memory;  ///< node has allocatable, rounded down
    std::string scheduler_name;
    host_facts host;  ///< of a node, without the labels, which `node` has; ready if no condition says so
    host_rules rules; ///< of a pod; of a DaemonSet's with the tolerations that its controller adds
    std::shared_ptr<const peer_terms> peers{}; ///< of a pod: what it requires of other pods; null: nothing
    /// What the pod also says of where and when it is to run, and nothing here looks at: "host ports (spec.…)".
    std::vector<std::string> rules_ignored;
    /// Names in spec.schedulingGates; no scheduler looks at a pod as long as it has one. "gate" where one has no name.
    std::vector<std::string> gates{};
    std::string node_name;     ///< a bound pod's
    std::int64_t priority = 0; ///< of a pod as spec.priority has it, or else of its class; of a PriorityClass its value
    /// Of what makes pods: the LocalQueue of Kueue that its label names; of a Job of Volcano spec.queue.
    std::string queue{};
    bool never_preempts = false; ///< of a pod or a PriorityClass: preemptionPolicy is Never
    std::string priority_class;  ///< of a pod: spec.priorityClassName
    std::string created;         ///< of a pod: metadata.creationTimestamp, as written; these sort by time
    std::string started;         ///< of a pod: status.startTime, as written
    std::string controller;      ///< of pods and what makes them: kind of the object that made it; empty: nobody said
    std::string controller_name; ///< the name of that object
    bool terminating = false;    ///< it is being deleted
    bool has_deadline = false;   ///< of a pod: spec.activeDeadlineSeconds
    bool is_unready = false;     ///< of a pod: its condition Ready says that it is not
    std::string
        phase; ///< of a pod or a PodGroup of Volcano; of a Job "Complete", "Failed" or "Suspended" if it is that
    std::shared_ptr<const queue_facts> queueing{}; ///< of objects of Kueue and Volcano (queues.hpp); null: of others
    std::vector<error> problems;                   ///< what of it could not be read; the rest was

    /// Whether both objects say the same; where they were read does not count.
    [[nodiscard]] bool says_the_same_as(const manifest& other) const;
};

/// Where an error about a resource of a container is, whose place ends with "container <name>": the line of its amount,
/// if that is known; else the object's place.
[[nodiscard]] std::string place_of(const manifest& object, const error& problem);

/// Names as Kubernetes has them (RFC 1123): lower-case letters and digits, with '-' between them; a subdomain is
/// several of these with dots between.
[[nodiscard]] bool is_label(std::string_view name);
[[nodiscard]] bool is_subdomain(std::string_view name);

/// Whether objects of that kind and apiVersion make pods that are read.
[[nodiscard]] bool makes_pods(const manifest& object);
/// Whether the object is a workload whose pods have several roles: a manifest each.
[[nodiscard]] bool has_roles(const manifest& object);
/// Whether pods of such a workload start together or not at all; of a Volcano Job that does not say how many, all do.
[[nodiscard]] bool starts_together(const manifest& object);

/// Whether Kubernetes or Volcano decide by objects of that kind, which are not looked at here: quotas, queues and the
/// like.
[[nodiscard]] bool is_rule_kind(std::string_view kind);
/// Whether objects of such a kind are in no namespace.
[[nodiscard]] bool is_of_the_cluster(std::string_view rule_kind);

/// The objects of a file, in its order: YAML documents or JSON values, lists (kind List, PodList, …) taken apart.
/// Amounts of resources with a '/' in their name have to be whole numbers (Kubernetes: extended resources). Requests
/// that are not given are the limits. What the API server would refuse of names and resources is a problem. Errors: the
/// text cannot be parsed, is too large or nested too deeply, or a document is no object; stopped.
[[nodiscard]] expected<std::vector<manifest>> read_manifests(std::string_view text, const std::string& name,
                                                             const stop_signal& stop = {});

/// The same of objects that somebody tells one by one, where a line in a text says nothing: an object, and what is
/// wrong with it, is at "pod <namespace>/<name>", "node <name>" or likewise. Errors as above, and missing for what has
/// no kind.
[[nodiscard]] expected<std::vector<manifest>> read_told_objects(std::string_view text, const std::string& name);

/// One YAML (or JSON) document as JSON text. Errors as above, and malformed for none or several documents.
[[nodiscard]] expected<std::string> yaml_to_json_text(std::string_view text, const std::string& name);

} // namespace vgpualloc::kube
