// The general workload: nodes and classes of pods as Kubernetes objects, and a table of arrivals (docs/workload.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/kube/snapshot.hpp"
#include "vgpusim/workload/cluster_start.hpp"
#include "vgpusim/workload/input_reader.hpp"
#include "vgpusim/workload/kubernetes_objects.hpp"
#include "vgpusim/workload/pod_classes.hpp"
#include "vgpusim/workload/settings.hpp"
#include "vgpusim/workload/workload.hpp"
#include "vgputraces/arrivals.hpp"

namespace vgpusim {

/// What a workload is made of.
struct kubernetes_workload {
    vgputraces::arrival_table arrivals;
    std::vector<pod_class> classes;
    std::optional<std::vector<job_queue>> queues; ///< none: those that rows name, without quotas
    std::vector<kubernetes_node> nodes{};         ///< in the order of the snapshot; empty: nobody asks for objects
    std::optional<vgpualloc::kube::scheduler_config> scheduler{}; ///< Volcano's; none: nothing was said
    std::optional<cluster_start> start{}; ///< what runs and waits when the run begins; none: nothing
};

/// The workload on the nodes of `state`, in their order. A row is the pods of its class: its name is the pod's, and of
/// a class that makes several the pods are <name>-<number>, or <name>-<task>-<number> of a Volcano Job. Pods of one row
/// are a job, and so are all pods of rows with the same gang. A job's estimate is the largest of its rows', a row's
/// that says none its duration. Pods of the start come before all rows, each a job of its own, and keep the names that
/// they have. Errors, with line and column of the table: a class or queue that is not known, a name
/// that two pods would have, rows of one gang that differ in queue or priority, more than 50,000,000 pods.
[[nodiscard]] expected<simulation_input> build_kubernetes_workload(const vgpualloc::kube::snapshot& state,
                                                                   kubernetes_workload workload);

/// The nodes of a cluster that is empty: as make_snapshot(), but what cannot be read of a node is an error where that
/// leaves something out that is there, and so is a pod. Doubts are warnings of the snapshot. `source` names the file.
[[nodiscard]] expected<vgpualloc::kube::snapshot>
make_empty_cluster(const std::vector<vgpualloc::kube::manifest>& objects, const vgpualloc::dialect_set& dialects,
                   const std::string& source);

/// The table of arrivals, the classes and the queues that a configuration names. `dialects` say how pods are to be
/// read. Errors: those of the files.
[[nodiscard]] expected<kubernetes_workload> read_workload(const run_config& config,
                                                          const vgpualloc::dialect_set& dialects, input_reader& from);

/// When pods end that run in the cluster with which a run begins. Errors: those of the table.
[[nodiscard]] expected<pod_ends> load_pod_ends(const run_config& config, input_reader& from);

/// Reads what a configuration with format "kubernetes" names: nodes, pods (the table), classes, queues, config,
/// catalog. Errors: those of the files; unsupported for keys that this format has no use for.
[[nodiscard]] expected<loaded_input> load_kubernetes(const run_config& config, input_reader& from);

/// The format of workload models (docs/trace-model.md), made in the process.
inline constexpr std::string_view model_format = "model";

/// What is taken in place of what a model says.
struct model_changes {
    std::optional<std::int64_t> arrivals{}; ///< to measure
    std::optional<std::int64_t> nodes{};    ///< of all kinds together
    std::string mig_dialect{};              ///< in which GPUs of mode mig register; empty: the model's
};

/// Makes the workload of the model that `pods` names, with the seed of the configuration and its offered load, if it
/// has one; MIG profiles are asked for by name. Errors: those of the model and of the other files; unsupported for keys
/// that this format has no use for.
[[nodiscard]] expected<loaded_input> load_model(const run_config& config, const model_changes& changes,
                                                input_reader& from);
[[nodiscard]] expected<loaded_input> load_model(const run_config& config, input_reader& from);

} // namespace vgpusim
