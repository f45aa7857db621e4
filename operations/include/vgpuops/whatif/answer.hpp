// What would become of a cluster: which pods run where, which do not and why, what moves, what it looks like then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/explain/named_place.hpp"
#include "vgpualloc/explain/words.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/metrics/idle_split.hpp"
#include "vgpualloc/plan/lp.hpp"
#include "vgpualloc/policy/parse.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/show/overview.hpp"
#include "vgpuops/show/prices.hpp"
#include "vgpuops/show/verdict.hpp"
#include "vgpuops/whatif/changes.hpp"
#include "vgpuops/whatif/cut_nodes.hpp"
#include "vgpuops/whatif/find_nodes.hpp"
#include "vgpuops/whatif/queue.hpp"

namespace vgpuops::whatif {

struct question {
    changes wanted{};
    /// Node objects that may be named as kinds, and ConfigMaps that say more of them.
    std::vector<kube::manifest> templates{};
    std::optional<vgpualloc::hardware_catalog> catalog{}; ///< of devices of kinds that are described; none: built in
    std::string policy = vgpualloc::default_policy;
    std::string device_policy{};               ///< of the devices of a node; empty: as `policy`
    vgpualloc::policies_maker make_policies{}; ///< brings those that `policy` only calls by a name; empty: it is named
    std::uint64_t seed = 0;
    std::string find_kind{};                      ///< empty: nothing is looked for
    vgpualloc::plan::lp_solver* solver = nullptr; ///< of find_nodes() and find_layouts(); null: none
    /// What make_snapshot() makes of the objects, for who asks more than once; null: it is made here.
    std::shared_ptr<const kube::snapshot> start{};
    /// Policies of these names and this seed that have heard of the pods of `start` and of no other
    /// (explaining::learn_of_pods); null: those of the question hear of them.
    std::shared_ptr<const vgpualloc::owned_policies> learned{};
    bool places_only = false; ///< no figures, no verdicts, and not why pods are refused: answer::pods alone
    stop_signal stop{};
};

/// A cluster in figures. Nodes that have failed do not count, devices out of service only as such.
struct cluster_figures {
    std::int64_t nodes = 0;
    std::int64_t devices = 0;
    std::int64_t out_of_service = 0;     ///< devices that take nobody new: by themselves, or with their nodes
    std::int64_t on_nodes_not_ready = 0; ///< of these
    std::int64_t on_cordoned_nodes = 0;  ///< of these, on nodes that are ready
    std::int64_t devices_used = 0;       ///< with anything used
    std::int64_t pods = 0;               ///< that run
    std::int64_t allocated_milli = 0;
    std::int64_t memory_mib = 0;
    std::int64_t memory_used_mib = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t cpu_used_milli = 0;
    /// Idle milli-GPU that the pods of the cluster, as they are distributed, cannot use (docs/glossary.md), and of that
    /// what is idle because host CPU is short.
    std::int64_t fragmentation_milli = 0;
    std::int64_t stranded_milli = 0;
    /// What is idle, by why more pods like those of the cluster as it was given cannot use it: the mean over them.
    vgpualloc::idle_parts idle{};

    [[nodiscard]] std::int64_t total_milli() const noexcept { return devices * 1000; }
    [[nodiscard]] std::int64_t idle_milli() const noexcept { return total_milli() - allocated_milli; }
};

/// A cluster as `show` counts it.
struct cluster_view {
    show::overview seen{}; ///< of it GPUs, their parts, rows and models, and the pods that run
    show::daily_energy energy{};
};

/// What becomes of a pod.
enum class pod_fate : std::uint8_t {
    starts,
    moves,    ///< to another node
    restarts, ///< its node is cut anew or changes its mode, or it gets other devices of its node
    stops,    ///< it ran and finds no place
    waits,
    stays, ///< where it was, of those that are placed anew
};
inline constexpr std::size_t pod_fate_count = 6;

/// "starts", "moves", …
[[nodiscard]] std::string_view to_string(pod_fate fate) noexcept;
/// '+' for what comes, '~' for what changes, '-' for what goes, '.' for what waits; a space for what stays.
[[nodiscard]] char mark_of(pod_fate fate) noexcept;

/// Nodes to which the same happens.
struct node_change {
    char mark = '~'; ///< '+' for nodes that are added, '-' for those that fail
    std::vector<std::string> nodes{};
    std::string words{}; ///< "takes pods again"
};

/// A pod that ends with its node: of a DaemonSet, or a static one.
struct ended_pod {
    std::string name{}; ///< with its namespace
    std::string node{};
};

struct pod_answer {
    queued_pods asked{};
    bool has_devices = true; ///< `show` counts it
    bool is_recut = false;   ///< the node that it was on is cut anew or changes its mode
    /// Why those that are refused wait once all others have their places.
    show::verdict waits_for = show::verdict::never;
    std::vector<explaining::named_place> placed{};
    std::int64_t refused = 0;
    std::int64_t gang_fitting = -1; ///< entry_outcome::gang_fitting
    /// "0/5 nodes are available: …", of the cluster at the turn of the first pod of the entry that is refused; empty
    /// where nothing is refused.
    std::string why{};
    /// At the turn of the first pod that asks for the same and is refused.
    std::vector<explaining::refusing_nodes> classes{};
};
/// Why no node of a kind that is looked for helps pods.
struct pod_without_help {
    bool fits_alone = true; ///< of nodes_found::never: the nodes there are would take it if no other pod were there
    std::string words{};    ///< "asks 1 mig-3g.40gb, the kind is A100-80GB whole", "gate x; fits without a node more"
};
struct kind_answer {
    std::string kind{};
    nodes_found found{};
    std::vector<std::string> never{}; ///< by nodes_found::never: what an empty node of the kind answers, as a code
    std::vector<pod_without_help> never_words{}; ///< likewise, as people say it
    std::vector<pod_without_help> held_words{};  ///< of those in answer::pods that no scheduler takes, in that order
};
struct answer {
    std::string policy{};
    std::string device_policy{};
    std::uint64_t seed = 0;
    cluster_figures before{};
    cluster_figures after{};
    cluster_view view_before{};
    cluster_view view_after{};
    std::vector<node_change> nodes{};          ///< those that are added first, those that fail last
    std::vector<ended_pod> ended{};            ///< those that `show` counts, by name
    std::vector<kube::kept_pod> not_evicted{}; ///< from nodes that are drained
    std::vector<pod_answer> pods{};            ///< evicted, waiting and added, each in the order found
    std::int64_t placed = 0;
    std::int64_t refused = 0;
    std::int64_t held_back = 0; ///< pods that quotas keep from being made (queued_pods::held); not in `refused`
    std::optional<kind_answer> kind{};
    bool is_anew = false;                      ///< pods that may move are placed anew
    std::int64_t kept_bare = 0;                ///< pods with devices that are not, as no controller makes them again
    std::vector<layout_change> layouts{};      ///< of nodes that are cut anew
    std::vector<std::string> not_considered{}; ///< of what is there (explain/not_considered.hpp)
    std::vector<error> warnings{};             ///< of the snapshot
};

/// What becomes of a pod that is placed on a node, and of one that is refused, or held back.
[[nodiscard]] pod_fate fate_on(const answer& answered, const pod_answer& entry, const std::string& node);
[[nodiscard]] pod_fate fate_of_refused(const pod_answer& entry) noexcept;
/// Why pods of an entry that are held back are not made: a quota or a queue.
[[nodiscard]] show::verdict held_verdict(const pod_answer& entry) noexcept;

/// How many pods with devices have which fate, and why those wait that do.
struct fate_counts {
    std::array<std::int64_t, pod_fate_count> pods{};
    std::array<std::int64_t, show::verdict_count> waiting{};

    [[nodiscard]] std::int64_t of(pod_fate fate) const noexcept { return pods[static_cast<std::size_t>(fate)]; }
};
[[nodiscard]] fate_counts count_fates(const answer& answered);

/// The cluster of these objects, for question::start. Errors: those of make_snapshot().
[[nodiscard]] expected<std::shared_ptr<const kube::snapshot>>
read_start(const std::vector<kube::manifest>& objects, const vgpualloc::dialect_set& dialects, const stop_signal& stop);

/// The policies of a question once they have heard of the pods of the cluster, for question::learned; null if they
/// learn nothing. They look at `start`, which outlives them. Errors: those of make_policy().
[[nodiscard]] expected<std::shared_ptr<const vgpualloc::owned_policies>> learned_policies(const kube::snapshot& start,
                                                                                          const question& asked);

/// Answers a question about the cluster of these objects. With question::find_kind and an answer to it, the pods are
/// placed on the cluster with so many nodes more. Kinds may be described (catalog_kinds) and are then called as the
/// nodes that stand for them. Errors: those of make_snapshot(), make_policy(), apply() and catalog_kinds; unknown_name
/// for a kind that is no node and no template; duplicate for a template with the name of a node; mismatch for two
/// policies of which only one looks at positions; stopped.
[[nodiscard]] expected<answer> answer_of(const std::vector<kube::manifest>& objects,
                                         const vgpualloc::dialect_set& dialects, question asked);

/// As text, of which `lists_all` leaves out no line and adds the devices of pods, reasons node by node, and what is
/// idle by cause; and as a document: docs/whatif.md names the members.
[[nodiscard]] std::string answer_text(const answer& answered, bool lists_all = false);
[[nodiscard]] std::string answer_json(const answer& answered);

} // namespace vgpuops::whatif
