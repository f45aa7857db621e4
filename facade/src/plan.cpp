#include "vgpufacade/plan.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster_objects.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/pod_admission.hpp"
#include "vgpualloc/kube/quotas.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpusim/study/solver.hpp"

namespace vgpufacade {

using vgpusim::input_reader;
namespace kube = vgpualloc::kube;
namespace plan = vgpualloc::plan;

namespace {

error bad(error_code code, const std::string& option, const std::string& value, std::string expected_text) {
    return bad_value(code, "", value, std::move(expected_text)).at(option);
}

vgpualloc::ticks ticks_of(double seconds, double per = 1.0) {
    return vgpualloc::ticks{std::llround(seconds * static_cast<double>(vgpualloc::ticks_per_second.count()) / per)};
}

expected<void> read_options(plan_question& chosen) {
    std::vector<std::string> questions;
    if (!chosen.pod.empty()) questions.emplace_back("--pod");
    if (!chosen.added_pod.empty()) questions.emplace_back("--add-pod");
    if (!chosen.consolidated.empty()) questions.emplace_back("--consolidate");
    constexpr const char* one_question = "one of --pod, --add-pod and --consolidate";
    if (questions.empty()) {
        return unexpected(bad_input(error_code::missing, "", "missing", one_question).at("plan"));
    }
    if (questions.size() > 1) {
        return unexpected(bad(error_code::mismatch, "plan", vgpuformats::joined(questions, {}, " and "), one_question));
    }
    for (const std::string& text : chosen.labels) {
        const auto equals = text.find('=');
        if (equals == std::string::npos || equals == 0) {
            return unexpected(bad(error_code::malformed, "--movable-label", text, "KEY=VALUE"));
        }
        chosen.asked.movable.labels.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    if (chosen.downtime_s) chosen.asked.budget.downtime_max = ticks_of(*chosen.downtime_s);
    constexpr std::int64_t consolidation_steps = 250; // times as many: it looks at every node and packs all pods anew
    if (!chosen.steps_given && !chosen.consolidated.empty()) chosen.asked.budget.steps_max *= consolidation_steps;
    if (chosen.move_s) chosen.asked.costs.downtime_per_move = ticks_of(*chosen.move_s);
    if (chosen.copy_s_per_gib) chosen.asked.costs.copy_per_mib = ticks_of(*chosen.copy_s_per_gib, 1024.0);
    return {};
}

/// Error unknown_name for a namespace that the cluster does not show: its pods would move after all.
expected<void> check_kept_namespaces(const std::vector<std::string>& kept, const std::vector<kube::manifest>& objects) {
    std::set<std::string> names;
    for (const kube::manifest& object : objects) {
        if (object.kind == "Namespace") names.insert(object.name);
        if (object.pod) names.insert(kube::namespace_of(object));
    }
    for (const std::string& name : kept) {
        if (names.contains(name)) continue;
        const std::vector<std::string> sorted{names.begin(), names.end()};
        return unexpected(bad(error_code::unknown_name, "--keep-namespace", name,
                              "a namespace of the cluster: " + vgpuformats::some_of(sorted)));
    }
    return {};
}

/// The pod that waits under that name.
expected<kube::snapshot_pod> pending_pod(const kube::snapshot& state, const std::string& name) {
    const auto is_named = [&name](const kube::snapshot_pod& pod) {
        return name == pod.full_name() || name == pod.name;
    };
    std::vector<const kube::snapshot_pod*> matches;
    std::vector<std::string> names;
    for (const kube::snapshot_pod& pod : state.pending) {
        if (is_named(pod)) matches.push_back(&pod);
        names.push_back(pod.full_name());
    }
    if (matches.size() == 1) return *matches.front();
    if (matches.size() > 1) {
        return unexpected(bad(error_code::unknown_name, "--pod", name,
                              "one pod of that name, with its namespace: " +
                                  vgpuformats::some_of(matches, [](const auto* pod) { return pod->full_name(); })));
    }
    for (const kube::bound_pod& bound : state.bound) {
        if (!is_named(bound.pod)) continue;
        return unexpected(bad(error_code::unknown_name, "--pod", name,
                              "a pod that waits; this one is on node " + state.nodes().nodes[bound.node.at()].name +
                                  " already (pending: " + vgpuformats::some_of(names) + ")"));
    }
    return unexpected(
        bad(error_code::unknown_name, "--pod", name, "a pending pod of the cluster: " + vgpuformats::some_of(names)));
}

/// The only pod, or template of pods, of a file; one that a quota of the cluster admits.
expected<kube::snapshot_pod> pod_of_file(const std::string& path, const std::vector<kube::manifest>& cluster,
                                         kube::snapshot& state, input_reader& from) {
    auto objects = load_objects({path}, from);
    if (!objects) return unexpected(objects.error());
    state.expect_pods(*objects);
    std::vector<kube::manifest*> with_pods;
    for (kube::manifest& object : *objects) {
        if (!object.problems.empty()) return unexpected(object.problems.front());
        if (object.pod) with_pods.push_back(&object);
    }
    if (with_pods.size() != 1) {
        return unexpected(bad(error_code::malformed, "--add-pod", path,
                              "one object that is or makes a pod; the file has " + std::to_string(with_pods.size())));
    }
    kube::pod_admission admission{cluster, *objects};
    if (auto refusal = admission.admit(*with_pods.front())) return unexpected(*std::move(refusal));
    kube::quota_book quotas{cluster, *objects};
    const kube::quota_admission admitted = quotas.admit(*with_pods.front(), 1);
    if (admitted.short_of) return unexpected(error_of(*admitted.short_of, *with_pods.front()));
    return kube::read_snapshot_pod(*with_pods.front(), state);
}

} // namespace

expected<vgpuops::whatif::moves_answer> plan_moves(plan_question chosen, const vgpuformats::input_source& source,
                                                   const stop_signal& stop) {
    chosen.asked.budget.stop = stop;
    if (auto read = read_options(chosen); !read) return unexpected(read.error());
    input_reader from{source, vgpusim::records_kept::none, stop};
    auto config = load_dialects(chosen.dialects, from);
    if (!config) return unexpected(config.error());
    const auto objects = objects_with_nodes(chosen.cluster, from);
    if (!objects) return unexpected(objects.error());
    if (auto checked = check_kept_namespaces(chosen.asked.movable.namespaces_kept, **objects); !checked) {
        return unexpected(std::move(checked).error());
    }
    auto state = kube::make_snapshot(**objects, vgpualloc::dialect_set{*std::move(config)}, stop);
    if (!state) return unexpected(state.error());
    expected<kube::snapshot_pod> pod{kube::snapshot_pod{}};
    if (!chosen.pod.empty()) pod = pending_pod(*state, chosen.pod);
    if (!chosen.added_pod.empty()) pod = pod_of_file(chosen.added_pod, **objects, *state, from);
    if (!pod) return unexpected(pod.error());

    std::unique_ptr<plan::lp_solver> solver; // a build without one has the bound by amounts
    if (!chosen.consolidated.empty()) solver = vgpusim::find_solver("plan", stop).value_or(nullptr);
    chosen.asked.solver = solver.get();
    const auto begin = std::chrono::steady_clock::now();
    const auto unit = chosen.consolidated == "nodes" ? plan::emptied_unit::node : plan::emptied_unit::device;
    auto answered = chosen.consolidated.empty() ? vgpuops::whatif::plan_room(*state, **objects, *pod, chosen.asked)
                                                : vgpuops::whatif::plan_emptying(*state, **objects, unit, chosen.asked);
    if (stop.raised()) return unexpected(stop_signal::stopped());
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (answered) answered->plan_s = passed.count();
    return answered;
}

} // namespace vgpufacade
