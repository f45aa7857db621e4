// Why a pod goes where it goes, or nowhere, as values: what every node and device answers, scores with their terms, the
// choice. explain/words.hpp prints them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpualloc/dialect/volcano_config.hpp"
#include "vgpualloc/kube/quotas.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/model/rejection.hpp"
#include "vgpualloc/policy/all.hpp"
#include "vgpualloc/policy/parse.hpp"

namespace vgpualloc::explaining {

struct explain_options {
    /// A spelling of parse_policy(); its workload is the pods of the cluster. Empty: HAMi's own ranking for pods that
    /// its scheduler serves (explain/hami.hpp), default_policy for others.
    std::string policy{};
    std::string device_policy{}; ///< for the devices of a node, beside a policy that is given; empty: the same
    std::span<const policy_entry> policies = native_policies; ///< that may be named
    policies_maker make_policies{};                           ///< brings those that `policy` only calls by a name
    /// Policies whose learning is gone on from (policy::take_over). Null: policies that learn hear of the pods of the
    /// snapshot (learn_of_pods).
    std::shared_ptr<const owned_policies> learned{};
    std::uint64_t seed = 0; ///< for policies that draw
    /// Of Volcano's scheduler configuration: plugin deviceshare ranks instead of `policy`. Its exclusive rules are
    /// those of the snapshot's dialects (dialect_config::exclusive_rules).
    std::optional<dialects::volcano::plugin_arguments> deviceshare{};
    /// The arguments of plugin vgpualloc on the dialects that it serves; none: all of them.
    std::optional<dialects::volcano::plugin_arguments> served{};
    /// True: the caller schedules the pod; spec.schedulerName is ignored. False: that scheduler must serve the pod's
    /// dialect.
    bool is_scheduler = false;
    stop_signal stop{}; ///< error stopped; explain_all() tells nothing more
};

/// The first check that failed. Amounts are in `unit`; both are 0 where the check is not about an amount.
struct refusal {
    rejection_code code = rejection_code::none;
    std::int64_t wanted = 0;
    std::int64_t available = 0;
    std::string_view unit{}; ///< a literal
    std::string rule{};      ///< of a node that a host rule refuses: which taint, label or requirement, in words
    std::string device{};    ///< of a node's refusal: uuid of the device that comes closest; may be empty
    std::optional<std::size_t> container{}; ///< of a node's refusal: position of the container that does not fit
    /// Of a node's refusal: what its devices answered to that container, those before it having theirs.
    std::map<rejection_code, std::int64_t> devices{};

    [[nodiscard]] bool fits() const noexcept { return code == rejection_code::none; }
};

/// A part of a device in words and in figures.
struct explained_part {
    std::string kind;        ///< "slice", "whole_device", "mig_instance", "vir_template"
    std::string name;        ///< of a profile or template
    std::string group;       ///< of a MIG geometry
    std::int64_t start = -1; ///< of a MIG instance: first placement unit, or slot in its group; -1 = none
    mib memory;
    std::int64_t cores = 0; ///< percent, or AI cores for NPUs
    std::string words;      ///< "slice 3000 MiB, 50 % of compute", "mig 1g.5gb at slot 0 of group g", …
};

/// What a device answers to one container while the pod has none yet.
struct explained_answer {
    refusal refused;
    double score = 0.0; ///< of the policy's choice among devices, for the best of the parts
    std::vector<explained_part> parts;
};

struct explained_device {
    std::int64_t index = 0; ///< as its node counts the devices of its dialect
    std::string uuid, model, family, mode, dialect;
    bool healthy = true;
    bool overcommitted = false; ///< by what runs there
    bool shares_faults = false; ///< a fatal fault of one container takes the others with it
    mib memory, memory_used;
    std::int64_t cores = 0, cores_used = 0;
    std::int64_t slots = 0, slots_used = 0;
    milli_gpu used;
    std::vector<explained_answer> containers; ///< by container of the request
};

/// One term of a node's score.
struct score_term {
    std::string policy;
    double weight = 1.0;
    double score = 0.0;              ///< before weighting
    std::vector<score_part> parts{}; ///< of the score, where the policy says more than the sum
};

/// A share of the placement that a node would give.
struct explained_share {
    std::size_t container = 0;
    std::int64_t device = 0; ///< as its node counts the devices of its dialect
    std::string uuid;
    explained_part part;
};

struct explained_node {
    std::string name;
    milli_cpu cpu;             ///< that it has for pods
    bytes memory;              ///< of the host, likewise
    refusal refused;           ///< the first
    std::vector<refusal> also; ///< what else would refuse, were the first one not there
    double score = 0.0;
    int compromise = 0; ///< how far the best placement there falls short of what was asked
    std::vector<score_term> terms;
    std::vector<explained_share> shares; ///< best placement; empty where a draw or the node's history decides it
    std::vector<explained_device> devices;
};

enum class choice_reason : std::uint8_t {
    nothing_fits,
    only_one_fits,
    less_compromise, ///< others fall shorter of what was asked
    highest_score,
    first_of_equals, ///< the first node of those with the highest score
    drawn,           ///< among those with the highest score
};

/// Pods of one template, as many as there are to be.
struct pods_wanted {
    kube::snapshot_pod pod;
    std::string kind{}; ///< of the object that makes them
    std::int64_t count = 1;
    bool one_per_node = false;              ///< instead of `count`: one on every node that takes one (a DaemonSet)
    std::int64_t min_available = 0;         ///< of all pods of its Volcano Job; 0: not said
    std::optional<std::int64_t> admitted{}; ///< by quotas, at most; none: all
    std::int64_t held = 0;                  ///< the others
    std::optional<kube::quota_shortage> short_of{}; ///< the quota that keeps them from being made
};

/// Where one of several pods would go.
struct replica {
    std::size_t node = 0; ///< position in explanation::nodes
    std::vector<explained_share> shares{};
};
/// What becomes of all pods of one template, placed one after the other.
struct replica_answer {
    [[nodiscard]] bool is_held_back() const noexcept { return admitted && *admitted == 0; }

    std::string kind{};
    std::int64_t wanted = 1;
    bool one_per_node = false;
    std::int64_t min_available = 0;
    std::optional<std::int64_t> admitted{}; ///< as of pods_wanted
    std::int64_t held = 0;
    std::optional<kube::quota_shortage> short_of{};
    std::vector<replica> placed{}; ///< in order
    std::string next{};            ///< why no more fit: "0/5 nodes are available: …"; empty where all do
};

struct explanation {
    kube::snapshot_pod pod;
    std::string policy;
    std::string policy_summary;
    std::vector<explained_node> nodes{}; ///< in the cluster's order
    choice_reason reason = choice_reason::nothing_fits;
    std::optional<std::size_t> chosen{};    ///< position in nodes
    std::optional<std::size_t> runner_up{}; ///< the best of the other nodes
    double margin = 0.0;                    ///< score of the chosen over the runner-up
    std::size_t fitting = 0;                ///< nodes
    std::size_t tied = 0;                   ///< nodes with the highest score
    /// Of the placement chosen, as the component that serves the pod's dialect would write them; "<time>" is the time.
    kubernetes::text_map annotations{};
    rejection reasons{};                       ///< if nothing fits: how many nodes gave which reason
    std::vector<std::string> notes{};          ///< also what of the pod was not looked at
    std::vector<std::string> not_considered{}; ///< what is there and was not looked at (explain/not_considered.hpp)
    replica_answer replicas{};                 ///< what is above is said of the first of them
};

/// Nothing is booked. Errors: those of parse_policies(), dialect_set::check_enabled() and check_served(), mismatch for
/// two policies that do not go together, and the pod's own if its request could not be read.
[[nodiscard]] expected<explanation> explain(const kube::snapshot& state, const kube::snapshot_pod& pod,
                                            const explain_options& options);

/// The same of all pods of several templates, placed one after the other in their order; what is said of a template
/// holds when its turn has come. `tell` gets what is said of each at once, as a large cluster's answers take much room;
/// a template that cannot be explained is passed over. Everything is taken back at the end.
void explain_all(const kube::snapshot& state, const std::vector<pods_wanted>& wanted, const explain_options& options,
                 const std::function<void(expected<explanation>)>& tell);

} // namespace vgpualloc::explaining
