// A cluster at one moment: what is used, free and out of service, which shapes more pods could have, who uses it and
// who waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/resource_quotas.hpp"
#include "vgpualloc/metrics/idle_split.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/show/largest.hpp"
#include "vgpuops/show/prices.hpp"
#include "vgpuops/show/rounding.hpp"
#include "vgpuops/show/verdict.hpp"

namespace vgpuops::show {

/// What of a cluster is shown.
struct selection {
    std::string nodes{}; ///< only these count (kube::nodes_in_set()); empty: all
    std::string ns{};    ///< only pods of this namespace are listed; empty: all
    /// What the first table has rows of: "pool", "kind", "node", "resource", "namespace", "queue", "owner", or a label
    /// of nodes (kube::label_key_of()).
    std::string by = "pool";
};

/// GPUs of one kind on nodes that are counted together. Milli-GPU.
struct device_row {
    std::string key{}; ///< the pool, the node or the value of the label; empty: there is none
    std::string kind{};
    std::string model{};              ///< of the kind, in full
    std::string sharing{};            ///< of the kind
    std::vector<std::string> nodes{}; ///< ascending
    std::int64_t gpus = 0;
    three_parts parts{}; ///< used, free, out of service
    std::int64_t memory_mib = 0;
    std::int64_t memory_used_mib = 0;
    std::int64_t cores = 0; ///< percent of a GPU's compute
    std::int64_t cores_used = 0;
    std::int64_t cpu_milli = 0; ///< of the hosts, with what pods without devices use
    std::int64_t cpu_used_milli = 0;
    std::int64_t host_memory_mib = 0;
    std::int64_t host_memory_used_mib = 0;
    std::map<std::string, std::string> labels{}; ///< that all these nodes have with one value
    std::vector<largest_part> largest{};
    std::vector<std::pair<std::string, std::string>> out_because{}; ///< reason and node, each once
};

/// The GPUs of one kind on one node, in the order of the node.
struct node_devices {
    std::string key{}; ///< as of device_row; empty where the rows are nodes or pods
    std::string kind{};
    std::string name{};
    std::vector<std::int64_t> used{}; ///< of each GPU; milli-GPU
    std::vector<bool> is_out{};       ///< of each GPU, whether what is not used of it is out of service
    std::string because{};            ///< why, of the first such GPU: "cordoned"
    bool is_in_order = false; ///< the plugin does not tell which GPU a pod is on: pods are put on GPUs in their order
};

/// What is idle of the wrong kind, by what excludes it.
struct wrong_kinds {
    std::int64_t model = 0;
    std::int64_t layout = 0;
    std::int64_t rules = 0;
};

/// Pods that ask for the same with the same rules.
struct shape_row {
    std::string name{};
    std::map<std::string, std::int64_t> asks{}; ///< device resources, as the first pod has them
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::vector<std::string> rules{};
    std::int64_t run = 0;
    std::int64_t wait = 0;
    std::int64_t more = 0; ///< pods that fit, if those that wait are not there
    vgpualloc::idle_parts idle{};
    wrong_kinds wrong{};
    verdict first_verdict = verdict::fits_now; ///< of its pods that wait, the first in the order of the list
};

struct quota_amount {
    std::string resource{}; ///< "nvidia.com/gpu"
    std::string used{};     ///< as its status says, else as the pods of the objects come to
    std::string hard{};
};

/// Pods that are counted together, by namespace, queue, owner or resource. Milli-GPU.
struct pod_row {
    std::string name{}; ///< empty: none, of a queue
    std::int64_t run = 0;
    std::int64_t used = 0;
    std::int64_t wait = 0;
    std::int64_t asked = 0;
    std::vector<quota_amount> quotas{}; ///< of a namespace
};

/// An owner that a quota or a queue keeps from making pods: all of them, or some of them.
struct held_job {
    std::string name{}; ///< with its namespace
    std::string kind = "Job";
    /// quota, queue, or never: the API server refuses its pods.
    verdict why = verdict::quota;
    std::string because{};           ///< "quota gpu: 2 of 2 used, 1 more needed"
    std::string since{};             ///< when Kueue's Workload was made, as written; empty: not said
    kube::quota_shortage shortage{}; ///< the first of a quota; of a queue there is none
    kube::manifest next_pod{};       ///< of a quota: what it counts for one more pod
    std::int64_t asked = 0;          ///< milli-GPU; of a queue by all pods, else by one pod
    std::int64_t pods = 0;           ///< that it has and that have not ended
    std::int64_t lacks = 0;          ///< pods that are not made
};

/// "1 Job makes no pods, 2 Jobs lack 4 pods"; owners of several kinds are "owners".
[[nodiscard]] std::string held_words(const std::vector<held_job>& jobs);
/// held_job::because; of an owner that has pods with how many are not made before it.
[[nodiscard]] std::string because_words(const held_job& job);
/// "1 pod waits, and fits now", "6 pods wait, all fit now, each alone": that they fit is looked at pod by pod, so that
/// several may want the same place. `fit` pods of `pods`, of which there are some.
[[nodiscard]] std::string waiting_words(std::int64_t pods, std::int64_t fit);
/// " 2 pods wait for resources that are not read."; empty for none.
[[nodiscard]] std::string unread_words(std::int64_t pods);

/// Of a gang that cannot start now.
struct gang_shortage {
    std::int64_t fitting = 0; ///< its pods that would find a place now
    std::int64_t minimum = 0; ///< that have to start together, beside those that run
    std::string group{};      ///< its name, with its namespace
    bool is_said = true;      ///< whether an object says the minimum; else all its pods are taken

    auto operator<=>(const gang_shortage&) const = default;
};

struct waiting_pod {
    std::string name{}; ///< with its namespace
    verdict why = verdict::never;
    std::string since{};                 ///< as its object has it; empty: not said
    std::optional<gang_shortage> gang{}; ///< only if its gang cannot start
};

struct overview {
    std::string by = "pool";    ///< selection::by; of a label its whole key
    std::int64_t nodes_all = 0; ///< also those without GPUs
    std::int64_t nodes = 0;     ///< with GPUs
    std::int64_t gpus = 0;
    three_parts parts{};
    std::vector<model_use> models{};        ///< by name
    std::vector<node_devices> nodes_seen{}; ///< with GPUs, in the cluster's order; of one with several kinds several
    std::optional<daily_cost> cost{}; ///< of the GPUs that count here, where prices are known: overview_of() sets none
    std::int64_t pods_all = 0;        ///< of the files: also those without devices, and those that wait
    std::int64_t pods_run = 0;        ///< listed, with devices
    std::int64_t pods_wait = 0;
    std::int64_t pods_unread = 0;    ///< that wait and ask only for resources which nothing here reads
    std::vector<device_row> rows{};  ///< by their first node; empty where the first table has pods
    std::vector<pod_row> pod_rows{}; ///< those of the first table where it has pods; who uses most first
    std::vector<shape_row> shapes{}; ///< those that wait first, by verdict; then by how many run
    vgpualloc::idle_parts mean{};    ///< over the pods of all shapes
    wrong_kinds mean_wrong{};        ///< of it, what is of the wrong kind
    std::int64_t mean_run = 0;       ///< pods of shapes
    std::int64_t mean_wait = 0;
    std::vector<pod_row> users{};          ///< by namespace; who uses most first
    std::vector<waiting_pod> waiting{};    ///< by name
    std::vector<held_job> makes_no_pods{}; ///< by name
    std::vector<std::string> not_looked_at{};
    std::vector<std::string> looked_for{}; ///< resources, where no node has a GPU
    std::vector<error> warnings{};         ///< of the snapshot
};

/// Pods that wait are on no node: whatever nodes are chosen, all are listed, and their verdicts and `asked` are those
/// in the whole cluster. Amounts and `more` are of the chosen nodes, of pods of all namespaces. Errors: those of
/// make_snapshot(); of nodes_in_set(), at "-l"; of label_key_of(), at "--by"; unknown_name, at "-n", for a namespace
/// without pods; stopped.
[[nodiscard]] expected<overview> overview_of(const std::vector<kube::manifest>& objects,
                                             const vgpualloc::dialect_set& dialects, const selection& chosen = {},
                                             const stop_signal& stop = {});

/// How tables are written.
struct table_options {
    bool is_wide = false; ///< also memory, compute, hosts and labels, and what of the wrong kind is so for which reason
    bool lists_all = false;    ///< no "and N more"
    std::size_t rows_max = 10; ///< of a table, without its sums; of no meaning where all are listed
};

/// Aligned tables, of which each adds up as it is printed; and a document (docs/show.md names the members).
[[nodiscard]] std::string overview_text(const overview& seen, const table_options& options = {});
[[nodiscard]] std::string overview_json(const overview& seen);
[[nodiscard]] std::string overview_yaml(const overview& seen);

} // namespace vgpuops::show
