#include "without_verdict.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "../show/overview_parts.hpp"
#include "owned_pods.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"

namespace vgpuops::why {

namespace {

/// The name of an object: of a task of a workload, the workload's.
std::string workload_name(const kube::manifest& object) {
    return kube::namespace_of(object) + "/" + object.name.substr(0, object.name.find('/'));
}

bool goes_by(const std::string& full_name, const std::string& name) {
    return full_name == name || full_name.substr(full_name.find('/') + 1) == name;
}

bool is_suspended(const kube::manifest& owner) {
    constexpr std::string_view words = "that the workload is suspended";
    return owner.phase == "Suspended" ||
           std::ranges::any_of(owner.rules_ignored, [&](const std::string& rule) { return rule.starts_with(words); });
}

/// Why an owner has no pods.
std::string why_without_pods(const kube::manifest& owner) {
    if (is_suspended(owner)) return "is suspended: it has no pods, and nothing waits until it is resumed";
    if (owner.terminating) return "is being deleted: it has no pods";
    const bool is_job = owner.kind == "Job";
    if (is_job && owner.phase == "Failed") return "has failed: it makes no more pods";
    const bool has_all = owner.completions > 0 && owner.succeeded >= owner.completions;
    if (is_job && (owner.phase == "Complete" || has_all)) return "has finished: it makes no more pods";
    if (owner.kind == "CronJob") return "has no pods: its Jobs make them when their time comes";
    if (owner.replicas == 0) return "asks for 0 pods";
    return "has no pods in these files, which do not say why";
}

} // namespace

std::optional<pod_answer> about_one_without_verdict(const kube::snapshot& state,
                                                    const std::vector<kube::manifest>& objects,
                                                    const std::string& name) {
    std::vector<pod_answer> answers;
    const auto add = [&](pod_answer answer) {
        const auto is_same = [&](const pod_answer& known) {
            return known.name == answer.name && (known.kind == answer.kind || answer.kind == "ReplicaSet");
        };
        if (std::ranges::none_of(answers, is_same)) answers.push_back(std::move(answer));
    };
    for (const kube::stray_pod& pod : state.strays) {
        if (!goes_by(pod.full_name, name)) continue;
        add({.name = pod.full_name,
             .without_verdict = fmt::format("is bound to node {}, which is not in these files", pod.node)});
    }
    const std::vector<std::string> with_pods = owners_of_pods(state, objects);
    for (const kube::manifest& object : objects) {
        const std::string full_name = workload_name(object);
        if (!goes_by(full_name, name)) continue;
        if (object.kind == "Pod" && object.pod && kube::has_ended(object)) {
            const bool has_failed = object.phase == "Failed";
            add({.name = full_name, .without_verdict = has_failed ? "has failed" : "has succeeded"});
        }
        if (object.kind == "Pod" || !object.pod || !kube::makes_pods(object)) continue;
        if (std::ranges::binary_search(with_pods, full_name)) continue;
        const auto pod = kube::read_snapshot_pod(object, state);
        if (pod && !show::asks_for_devices(*pod)) continue;
        add({.name = full_name, .kind = object.kind, .without_verdict = why_without_pods(object)});
    }
    if (answers.size() != 1) return std::nullopt;
    answers.front().warnings = state.warnings;
    return std::move(answers.front());
}

} // namespace vgpuops::why
