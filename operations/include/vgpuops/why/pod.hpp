// Why one pod waits: its verdict, what every node answers, and changes after which it would fit, each of them tried.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/show/overview.hpp"
#include "vgpuops/show/verdict.hpp"
#include "vgpuops/why/reasons.hpp"

namespace vgpuops::why {

/// A change after which the pod fits: it was made in a trial, and taken back.
struct tried_change {
    std::string what{}; ///< "a100-3 is uncordoned", "it tolerates team=dev:NoSchedule"
    std::string then{}; ///< "t4-1 takes it now"; empty where the command shows it
    std::vector<std::string>
        command{}; ///< of vgpusim: its name and its options, without the files; empty: there is none
};

/// A pod that counts for the quota which holds others back.
struct counted_pod {
    std::string name{};   ///< with its namespace
    std::string amount{}; ///< of what is limited, as quotas write it
    std::string state{};  ///< "runs", "waits: never"
};

/// Pods of lower priority that kube-scheduler would stop, on one node.
struct preemption {
    std::string node{};
    std::vector<std::string> pods{}; ///< with their namespaces, ascending
};

struct pod_answer {
    std::string name{};       ///< with its namespace
    std::string kind = "Pod"; ///< of the object that was asked about
    std::string file{};       ///< that has it; empty: the cluster
    std::int64_t pods = 1;    ///< alike, of an object of a file
    std::int64_t fitting = 0; ///< of these, those that fit as things are; the answer is about the next one
    std::string runs_on{};    ///< the node of a pod that runs; what follows is then empty
    /// What there is to say instead of a verdict, of a pod that has ended or is on a node that is not there, and of an
    /// owner that has no pods and is not held back: "is suspended: …". What follows is then empty.
    std::string without_verdict{};
    /// It is no pod, but an owner that is held back. What follows is then empty, but for the changes and who counts.
    std::optional<show::held_job> makes_no_pods{};
    std::vector<counted_pod> counted{}; ///< for the quota of `makes_no_pods`, or for that which refuses the pod
    show::verdict verdict = show::verdict::never;
    std::string because{};                      ///< as waiting_group::because
    std::string since{};                        ///< as its object has it; empty: not said
    std::map<std::string, std::int64_t> asks{}; ///< device resources
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::vector<std::string> rules{}; ///< show::shape_rules()
    std::int64_t priority = 0;
    std::vector<node_reasons> nodes{};    ///< in the cluster's order; empty where the request cannot be read
    std::vector<tried_change> changes{};  ///< each alone is enough
    std::optional<preemption> preempts{}; ///< for the pod, where kube-scheduler decides; none: nobody
    std::string scheduler_words{};        ///< scheduler_words() of why/scheduler_words.hpp
    std::vector<std::string> not_looked_at{};
    std::vector<error> warnings{};
};

/// A pod of the cluster, by "namespace/name" or by its name if no other pod has it, or an owner that has no pods.
/// Errors: unknown_name, which names pods that are spelled alike, at "--pod"; those of make_snapshot(); stopped.
[[nodiscard]] expected<pod_answer> pod_of(const std::vector<kube::manifest>& objects,
                                          const vgpualloc::dialect_set& dialects, const std::string& name,
                                          const stop_signal& stop = {});

/// A pod that the objects `added` of a file have or make, as if it were made now: of several that are alike, the next
/// after those that fit. Errors: mismatch unless one of the objects has pods, at "--pod"; what of it cannot be read;
/// those of make_snapshot(); stopped.
[[nodiscard]] expected<pod_answer> pod_of_file(const std::vector<kube::manifest>& objects,
                                               const vgpualloc::dialect_set& dialects,
                                               std::vector<kube::manifest> added, const std::string& file,
                                               const stop_signal& stop = {});

/// As text, and as a document (docs/why.md names the members). `inputs` are the arguments that name the cluster, which
/// commands repeat.
[[nodiscard]] std::string pod_text(const pod_answer& answered, const std::vector<std::string>& inputs);
[[nodiscard]] std::string pod_json(const pod_answer& answered, const std::vector<std::string>& inputs);

} // namespace vgpuops::why
