#include "vgpufacade/explain.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cluster_objects.hpp"
#include "no_pods.hpp"
#include "scheduler_input.hpp"
#include "vgpualloc/kube/pod_admission.hpp"
#include "vgpualloc/kube/quotas.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuformats/some_names.hpp"

namespace vgpufacade {

using vgpualloc::kube::snapshot;
using vgpualloc::kube::snapshot_pod;
using vgpusim::input_reader;
namespace explaining = vgpualloc::explaining;
namespace kube = vgpualloc::kube;

namespace {

error unknown(const std::string& option, const std::string& value, std::string accepted) {
    return bad_value(error_code::unknown_name, "", value, std::move(accepted)).at(option);
}

bool is_named(const snapshot_pod& pod, const std::string& name) { return name == pod.full_name() || name == pod.name; }

/// The pending pods of that name; a name without namespace may be several.
expected<std::vector<const snapshot_pod*>> pending_pods(const snapshot& state, const std::string& name,
                                                        const vgpuformats::input_source& source) {
    std::vector<const snapshot_pod*> matches;
    std::vector<std::string> names;
    for (const snapshot_pod& pod_entry : state.pending) {
        if (is_named(pod_entry, name)) matches.push_back(&pod_entry);
        names.push_back(pod_entry.full_name());
    }
    if (matches.size() > 1) {
        names.clear();
        for (const snapshot_pod* pod_entry : matches) names.push_back(pod_entry->full_name());
        return unexpected(
            unknown("--pod", name, "one pod of that name, with its namespace: " + vgpuformats::some_of(names)));
    }
    if (!matches.empty() || name == vgpuformats::standard_input || source.has(name)) return matches;
    for (const kube::bound_pod& pod_entry : state.bound) {
        if (!is_named(pod_entry.pod, name)) continue;
        return unexpected(unknown("--pod", name,
                                  "a pod that waits; this one is on node " +
                                      state.nodes().nodes[pod_entry.node.at()].name +
                                      " already (pending: " + vgpuformats::some_of(names) + ")"));
    }
    for (const kube::stray_pod& stray : state.strays) {
        if (name != stray.full_name && name != stray.name) continue;
        return unexpected(unknown("--pod", name,
                                  "a pod that waits; this one is bound to " + stray.node +
                                      ", which is not among the nodes (pending: " + vgpuformats::some_of(names) + ")"));
    }
    return unexpected(
        unknown("--pod", name, "a file, or a pending pod of the cluster: " + vgpuformats::some_of(names)));
}

/// Pods to explain, and why others of the same file cannot be.
struct pods_asked_for {
    std::vector<explaining::pods_wanted> pods{};
    std::vector<error> errors{};
    std::vector<std::string> not_looked_at{}; ///< of quotas
};

/// All pods and templates of a file. Error missing, with the kinds that it has, where there is none.
expected<pods_asked_for> pods_of_file(const std::string& path, const std::vector<kube::manifest>& cluster,
                                      snapshot& state, input_reader& from) {
    auto objects = load_objects({path}, from);
    if (!objects) return unexpected(objects.error());
    state.expect_pods(*objects);
    kube::pod_admission admission{cluster, *objects};
    kube::quota_book quotas{cluster, *objects};
    pods_asked_for result;
    for (kube::manifest& object : *objects) {
        if (!object.pod && !object.problems.empty()) result.errors.push_back(object.problems.front());
        if (!object.pod) continue;
        if (auto refusal = admission.admit(object)) {
            result.errors.push_back(*std::move(refusal));
            continue;
        }
        auto pod = kube::read_snapshot_pod(object, state);
        if (!pod) {
            result.errors.push_back(std::move(pod).error());
            continue;
        }
        result.pods.push_back({.pod = *std::move(pod),
                               .kind = object.kind,
                               .count = object.replicas,
                               .one_per_node = object.one_per_node,
                               .min_available = object.min_available});
        explaining::pods_wanted& wanted = result.pods.back();
        const std::int64_t count = wanted.one_per_node ? kube::daemon_pods(state, wanted.pod) : wanted.count;
        const kube::quota_admission admitted = quotas.admit(object, count);
        if (!admitted.short_of) continue;
        wanted.admitted = admitted.pods;
        wanted.held = count - admitted.pods;
        wanted.short_of = admitted.short_of;
    }
    result.not_looked_at = quotas.not_looked_at();
    for (std::string& rule : admission.not_looked_at()) result.not_looked_at.push_back(std::move(rule));
    if (!result.pods.empty() || !result.errors.empty()) return result;
    return unexpected(no_pods(*objects, path));
}

expected<pods_asked_for> find_pods(const std::vector<kube::manifest>& cluster, snapshot& state,
                                   const explain_question& chosen, input_reader& from) {
    const auto matches = pending_pods(state, chosen.pod, from.source());
    if (!matches) return unexpected(matches.error());
    if (!matches->empty()) return pods_asked_for{.pods = {{.pod = *matches->front(), .kind = "Pod"}}};
    return pods_of_file(chosen.pod, cluster, state, from);
}

expected<void> check_node(const snapshot& state, const std::string& name) {
    std::vector<std::string> names;
    for (const auto& pod_entry : state.nodes().nodes) {
        if (name.empty() || pod_entry.name == name) return {};
        names.push_back(pod_entry.name);
    }
    return unexpected(unknown("--node", name, "a node of the cluster: " + vgpuformats::some_of(names)));
}

/// Has nodes and devices ranked as the scheduler does that is configured so. What the command line says goes before
/// what plugin vgpualloc is told; deviceshare ranks by its own.
expected<void> rank_as(const kube::scheduler_config& scheduler, explain_question& chosen) {
    explaining::explain_options& explain = chosen.explain;
    if (scheduler.own) {
        if (explain.policy.empty()) explain.policy = scheduler.own->policy;
        if (explain.policy.empty()) explain.policy = vgpualloc::default_policy;
        if (explain.device_policy.empty()) explain.device_policy = scheduler.own->device_policy;
        explain.served = scheduler.deviceshare;
        explain.is_scheduler = true; // what that scheduler would do is what is asked
        return {};
    }
    for (const auto& [option, value] :
         {std::pair{"--policy", &explain.policy}, std::pair{"--device-policy", &explain.device_policy}}) {
        if (value->empty()) continue;
        return unexpected(bad_value(error_code::unsupported, "", *value,
                                    "--scheduler-config with plugin vgpualloc, or without " + std::string{option} +
                                        ": plugin deviceshare ranks in its own way")
                              .at(option));
    }
    explain.deviceshare = scheduler.deviceshare;
    return {};
}

/// The answers of several pods are a list.
std::vector<error> explain_each(const snapshot& cluster, pods_asked_for wanted, const explain_question& chosen,
                                const answer_sinks& sinks) {
    explaining::explain_layout layout{.node = chosen.node, .warnings = cluster.warnings};
    layout.all_nodes = chosen.all;
    const bool is_list = wanted.pods.size() + wanted.errors.size() > 1;
    explaining::explain_layout of_json = layout;
    if (is_list) of_json.warnings.clear(); // told once, beside the pods
    explaining::explanation_list list;
    bool is_first = true;
    explaining::explain_all(cluster, wanted.pods, chosen.explain, [&](expected<explaining::explanation> explanation) {
        if (!explanation) return wanted.errors.push_back(std::move(explanation).error());
        std::ranges::copy(wanted.not_looked_at, std::back_inserter(explanation->not_considered));
        if (sinks.json) {
            sinks.json(is_list ? list.next(*explanation, of_json)
                               : explaining::explanation_json(*explanation, of_json));
        }
        if (sinks.text) sinks.text((is_first ? "" : "\n") + explaining::explanation_text(*explanation, layout));
        is_first = false;
        layout.warnings.clear();
        of_json.warnings.clear();
    });
    if (sinks.json && is_list && !is_first) {
        sinks.json(explaining::explanation_list::end(cluster.warnings, wanted.errors));
    }
    return std::move(wanted.errors);
}

} // namespace

expected<std::vector<error>> explain(explain_question chosen, const vgpuformats::input_source& source,
                                     const answer_sinks& sinks, const stop_signal& stop) {
    input_reader from{source, vgpusim::records_kept::none, stop};
    chosen.explain.stop = stop;
    auto config = load_dialects(chosen.dialects, from);
    if (!config) return unexpected(config.error());
    if (!chosen.scheduler_config.empty()) {
        const auto scheduler = load_scheduler_config(chosen.scheduler_config, from);
        if (!scheduler) return unexpected(scheduler.error());
        apply_arguments(scheduler->deviceshare, *config);
        if (auto ranks = rank_as(*scheduler, chosen); !ranks) return unexpected(std::move(ranks).error());
    }
    if (!chosen.explain.device_policy.empty() && chosen.explain.policy.empty()) {
        return unexpected(bad_value(error_code::missing, "", chosen.explain.device_policy,
                                    "--policy beside it, or a scheduler configuration that has one")
                              .at("--device-policy"));
    }
    const auto objects = objects_with_nodes(chosen.cluster, from);
    if (!objects) return unexpected(objects.error());
    auto cluster = kube::make_snapshot(**objects, vgpualloc::dialect_set{*std::move(config)}, stop);
    if (!cluster) return unexpected(cluster.error());
    if (auto known = check_node(*cluster, chosen.node); !known) return unexpected(known.error());
    auto pods = find_pods(**objects, *cluster, chosen, from);
    if (!pods) return unexpected(pods.error());
    // These admit pods of a file, and pods that wait have passed them.
    std::erase_if(cluster->rule_objects,
                  [](const auto& object) { return object.kind == "ResourceQuota" || object.kind == "LimitRange"; });
    auto errors = explain_each(*cluster, *std::move(pods), chosen, sinks);
    if (stop.raised()) return unexpected(stop_signal::stopped());
    return errors;
}

} // namespace vgpufacade
