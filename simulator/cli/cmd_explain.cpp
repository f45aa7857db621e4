// vgpusim explain: why a pod goes where it goes in a cluster given as Kubernetes objects, or why it goes nowhere.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "seed_option.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/explain/words.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuformats/some_names.hpp"

namespace vgpusim::cli {

namespace {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;
using vgpualloc::kube::snapshot;
using vgpualloc::kube::snapshot_pod;
namespace explaining = vgpualloc::explaining;
namespace kube = vgpualloc::kube;

struct options {
    std::vector<std::string> cluster;
    std::string pod;
    dialect_files dialects;
    std::string scheduler_config;
    std::string node;
    explaining::explain_options explain{.policies = vgpualloc::all_policies()};
    bool json = false;
    bool all = false;
};

error unknown(const std::string& option, const std::string& value, std::string accepted) {
    return {.code = error_code::unknown_name,
            .where = option,
            .field = "",
            .value = value,
            .expected = std::move(accepted)};
}

bool is_named(const snapshot_pod& pod, const std::string& name) { return name == pod.full_name() || name == pod.name; }

/// The pending pods of that name; a name without namespace may be several.
expected<std::vector<const snapshot_pod*>> pending_pods(const snapshot& state, const std::string& name) {
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
    if (!matches.empty() || name == vgpuformats::standard_input || std::filesystem::exists(name)) return matches;
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
};

/// All pods and templates of a file. Error missing, with the kinds that it has, where there is none.
expected<pods_asked_for> pods_of_file(const std::string& path, const vgpualloc::dialect_set& dialects) {
    const auto objects = load_objects({path});
    if (!objects) return unexpected(objects.error());
    pods_asked_for result;
    std::string kinds;
    for (const kube::manifest& object : *objects) {
        kinds += (kinds.empty() ? "" : ", ") + object.kind;
        if (!object.pod && !object.problems.empty()) result.errors.push_back(object.problems.front());
        if (!object.pod) continue;
        auto pod = kube::read_snapshot_pod(object, dialects);
        if (!pod) {
            result.errors.push_back(std::move(pod).error());
            continue;
        }
        result.pods.push_back({.pod = *std::move(pod),
                               .kind = object.kind,
                               .count = object.replicas,
                               .one_per_node = object.one_per_node,
                               .min_available = object.min_available});
    }
    if (!result.pods.empty() || !result.errors.empty()) return result;
    return unexpected(error{.code = error_code::missing,
                            .where = path,
                            .field = "",
                            .value = kinds,
                            .expected = "a Pod, or an object with a template for pods that is read here"});
}

expected<pods_asked_for> find_pods(const snapshot& state, const options& chosen) {
    const auto matches = pending_pods(state, chosen.pod);
    if (!matches) return unexpected(matches.error());
    if (!matches->empty()) return pods_asked_for{.pods = {{.pod = *matches->front(), .kind = "Pod"}}};
    return pods_of_file(chosen.pod, state.dialects);
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
expected<void> rank_as(const kube::scheduler_config& scheduler, options& chosen) {
    explaining::explain_options& explain = chosen.explain;
    if (scheduler.own) {
        if (explain.policy.empty()) explain.policy = scheduler.own->policy;
        if (explain.policy.empty()) explain.policy = explaining::default_policy;
        if (explain.device_policy.empty()) explain.device_policy = scheduler.own->device_policy;
        explain.served = scheduler.deviceshare;
        explain.is_scheduler = true; // what that scheduler would do is what is asked
        return {};
    }
    for (const auto& [option, value] :
         {std::pair{"--policy", &explain.policy}, std::pair{"--device-policy", &explain.device_policy}}) {
        if (value->empty()) continue;
        return unexpected(error{.code = error_code::unsupported,
                                .where = option,
                                .field = "",
                                .value = *value,
                                .expected = "--scheduler-config with plugin vgpualloc, or without " +
                                            std::string{option} + ": plugin deviceshare ranks in its own way"});
    }
    explain.deviceshare = scheduler.deviceshare;
    return {};
}

/// Prints what is said of each pod as soon as it is known. Returns the errors of those that cannot be explained.
std::vector<error> print_each(const snapshot& cluster, pods_asked_for wanted, const options& chosen) {
    explaining::explain_layout layout{.node = chosen.node, .warnings = cluster.warnings};
    layout.all_nodes = chosen.all;
    const bool is_list = chosen.json && wanted.pods.size() + wanted.errors.size() > 1;
    if (is_list) layout.warnings.clear(); // told once, beside the pods
    explaining::explanation_list list;
    bool is_first = true;
    explaining::explain_all(cluster, wanted.pods, chosen.explain, [&](expected<explaining::explanation> explanation) {
        if (!explanation) return wanted.errors.push_back(std::move(explanation).error());
        if (is_list) {
            fmt::print("{}", list.next(*explanation, layout));
        } else if (chosen.json) {
            fmt::print("{}", explaining::explanation_json(*explanation, layout));
        } else {
            fmt::print("{}{}", is_first ? "" : "\n", explaining::explanation_text(*explanation, layout));
        }
        is_first = false;
        layout.warnings.clear();
    });
    if (is_list && !is_first) fmt::print("{}", explaining::explanation_list::end(cluster.warnings, wanted.errors));
    return std::move(wanted.errors);
}

/// Returns the errors of the pods that cannot be explained.
expected<std::vector<error>> run(options chosen) {
    std::vector<named_input> inputs;
    add_inputs(inputs, "CLUSTER", chosen.cluster);
    add_inputs(inputs, chosen.dialects);
    add_inputs(inputs, "--pod", {chosen.pod});
    add_inputs(inputs, "--scheduler-config", {chosen.scheduler_config});
    if (auto once = read_stdin_once(inputs); !once) return unexpected(once.error());
    auto config = load_dialects(chosen.dialects);
    if (!config) return unexpected(config.error());
    if (!chosen.scheduler_config.empty()) {
        const auto scheduler = load_scheduler_config(chosen.scheduler_config);
        if (!scheduler) return unexpected(scheduler.error());
        apply_arguments(scheduler->deviceshare, *config);
        if (auto ranks = rank_as(*scheduler, chosen); !ranks) return unexpected(std::move(ranks).error());
    }
    if (!chosen.explain.device_policy.empty() && chosen.explain.policy.empty()) {
        return unexpected(error{.code = error_code::missing,
                                .where = "--device-policy",
                                .field = "",
                                .value = chosen.explain.device_policy,
                                .expected = "--policy beside it, or a scheduler configuration that has one"});
    }
    const auto objects = load_objects(chosen.cluster);
    if (!objects) return unexpected(objects.error());
    auto cluster = kube::make_snapshot(*objects, vgpualloc::dialect_set{*std::move(config)});
    if (!cluster) return unexpected(cluster.error());
    if (auto known = check_node(*cluster, chosen.node); !known) return unexpected(known.error());
    auto pods = find_pods(*cluster, chosen);
    if (!pods) return unexpected(pods.error());
    return print_each(*cluster, *std::move(pods), chosen);
}

} // namespace

void add_explain(CLI::App& app, int& exit_code) {
    auto chosen = std::make_shared<options>();
    CLI::App* command = app.add_subcommand(
        "explain", "Tell why a pod goes where it goes in a cluster: every node's answer, scores, devices, the choice");
    command
        ->add_option(
            "CLUSTER", chosen->cluster,
            "Nodes and pods, YAML or JSON, as kubectl get nodes,pods -A -o json prints them; - is standard input")
        ->type_name("FILE")
        ->required();
    command->add_option("--pod", chosen->pod, "A pending pod of the cluster (namespace/name, or name) or a manifest")
        ->type_name("POD|FILE")
        ->required();
    command
        ->add_option("--policy", chosen->explain.policy,
                     "Policy that ranks nodes and devices (vgpusim policies). Default: that of --scheduler-config; "
                     "without it as HAMi ranks for its pods, fgd for others")
        ->type_name("POLICY")
        ->check(filled());
    command
        ->add_option("--device-policy", chosen->explain.device_policy,
                     "Policy for the choice of devices on a node; default: that of --scheduler-config, or --policy")
        ->type_name("POLICY")
        ->check(filled());
    chosen->explain.seed = default_seed;
    add_seed(*command, "For policies that draw", [chosen](std::uint64_t seed) {
        chosen->explain.seed = seed;
    })->default_str(std::to_string(default_seed));
    add_dialect_files(*command, chosen->dialects);
    command
        ->add_option("--scheduler-config", chosen->scheduler_config,
                     "Volcano's volcano-scheduler.conf, or its ConfigMap: plugin vgpualloc or deviceshare ranks as it "
                     "says")
        ->type_name("FILE")
        ->check(filled());
    command->add_option("--node", chosen->node, "Show this node only, with its devices")->type_name("NODE");
    command->add_flag("--all", chosen->all,
                      "Show every node and its devices in rows of their own, also those that refuse");
    command->add_flag("--json", chosen->json, "As JSON, with everything");
    command->callback([chosen, &exit_code] {
        const auto failures = run(*chosen);
        exit_code = failures ? exit_done : report_error(failures.error());
        if (!failures) return;
        for (const error& failure : *failures) exit_code = report_error(failure);
    });
}

} // namespace vgpusim::cli
