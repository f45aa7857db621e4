// vgpusim plan: which pods would have to move so that one that waits fits, or so that devices become empty.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "no_nan.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/whatif/moves.hpp"
#include "vgpusim/study/solver.hpp"

namespace vgpusim::cli {

namespace {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;
namespace kube = vgpualloc::kube;
namespace plan = vgpualloc::plan;

struct options {
    std::vector<std::string> cluster;
    dialect_files dialects;
    std::string pod;
    std::string added_pod;
    std::string consolidated;
    bool steps_given = false;
    std::vector<std::string> labels;
    double downtime_s = -1.0;
    double move_s = 0.0;
    double gib_s = 0.0;
    vgpuops::whatif::moves_question asked;
    bool json = false;
};

constexpr double seconds_max = 1e9; ///< of what is given in seconds

error bad(error_code code, const std::string& option, const std::string& value, std::string expected_text) {
    return {.code = code, .where = option, .field = "", .value = value, .expected = std::move(expected_text)};
}

vgpualloc::ticks ticks_of(double seconds, double per = 1.0) {
    return vgpualloc::ticks{std::llround(seconds * static_cast<double>(vgpualloc::ticks_per_second.count()) / per)};
}

expected<void> read_options(options& chosen) {
    const int questions = static_cast<int>(!chosen.pod.empty()) + static_cast<int>(!chosen.added_pod.empty()) +
                          static_cast<int>(!chosen.consolidated.empty());
    if (questions != 1) {
        return unexpected(bad(questions == 0 ? error_code::missing : error_code::mismatch, "plan", "",
                              "one of --pod, --add-pod and --consolidate"));
    }
    for (const std::string& text : chosen.labels) {
        const auto equals = text.find('=');
        if (equals == std::string::npos || equals == 0) {
            return unexpected(bad(error_code::malformed, "--movable-label", text, "KEY=VALUE"));
        }
        chosen.asked.movable.labels.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    if (chosen.downtime_s >= 0.0) chosen.asked.budget.downtime_max = ticks_of(chosen.downtime_s);
    constexpr std::int64_t consolidation_steps = 250; // times as many: it looks at every node and packs all pods anew
    if (!chosen.steps_given && !chosen.consolidated.empty()) chosen.asked.budget.steps_max *= consolidation_steps;
    chosen.asked.costs.downtime_per_move = ticks_of(chosen.move_s);
    chosen.asked.costs.copy_per_mib = ticks_of(chosen.gib_s, 1024.0);
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

/// The only pod, or template of pods, of a file.
expected<kube::snapshot_pod> pod_of_file(const std::string& path, const vgpualloc::dialect_set& dialects) {
    const auto objects = load_objects({path});
    if (!objects) return unexpected(objects.error());
    std::vector<const kube::manifest*> with_pods;
    for (const kube::manifest& object : *objects) {
        if (!object.problems.empty()) return unexpected(object.problems.front());
        if (object.pod) with_pods.push_back(&object);
    }
    if (with_pods.size() != 1) {
        return unexpected(bad(error_code::malformed, "--add-pod", path,
                              "one object that is or makes a pod; the file has " + std::to_string(with_pods.size())));
    }
    return kube::read_snapshot_pod(*with_pods.front(), dialects);
}

expected<vgpuops::whatif::moves_answer> answer_for(options& chosen) {
    std::vector<named_input> inputs;
    add_inputs(inputs, "CLUSTER", chosen.cluster);
    add_inputs(inputs, chosen.dialects);
    if (!chosen.added_pod.empty()) add_inputs(inputs, "--add-pod", {chosen.added_pod});
    if (auto once = read_stdin_once(inputs); !once) return unexpected(once.error());
    if (auto read = read_options(chosen); !read) return unexpected(read.error());
    auto config = load_dialects(chosen.dialects);
    if (!config) return unexpected(config.error());
    const auto objects = load_objects(chosen.cluster);
    if (!objects) return unexpected(objects.error());
    auto state = kube::make_snapshot(*objects, vgpualloc::dialect_set{*std::move(config)});
    if (!state) return unexpected(state.error());
    expected<kube::snapshot_pod> pod{kube::snapshot_pod{}};
    if (!chosen.pod.empty()) pod = pending_pod(*state, chosen.pod);
    if (!chosen.added_pod.empty()) pod = pod_of_file(chosen.added_pod, state->dialects);
    if (!pod) return unexpected(pod.error());

    std::unique_ptr<plan::lp_solver> solver; // a build without one has the bound by amounts
    if (!chosen.consolidated.empty()) solver = find_solver("plan").value_or(nullptr);
    chosen.asked.solver = solver.get();
    const auto begin = std::chrono::steady_clock::now();
    const auto unit = chosen.consolidated == "nodes" ? plan::emptied_unit::node : plan::emptied_unit::device;
    auto answered = chosen.consolidated.empty() ? vgpuops::whatif::plan_room(*state, *objects, *pod, chosen.asked)
                                                : vgpuops::whatif::plan_emptying(*state, *objects, unit, chosen.asked);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (answered) answered->plan_s = passed.count();
    return answered;
}

int run(options chosen) {
    const auto answered = answer_for(chosen);
    if (!answered) return report_error(answered.error());
    fmt::print("{}", chosen.json ? vgpuops::whatif::moves_json(*answered) : vgpuops::whatif::moves_text(*answered));
    return exit_done;
}

void add_which_pods(CLI::App& command, kube::mobility& movable, std::vector<std::string>& labels) {
    command
        .add_option("--keep-namespace", movable.namespaces_kept,
                    "Pods of this namespace stay where they are; repeatable")
        ->type_name("NAMESPACE")
        ->allow_extra_args(false);
    command.add_option("--movable-label", labels, "Only pods with this label may move; repeatable, all have to match")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    command.add_flag("--move-bare-pods", movable.without_controller,
                     "Pods that no controller makes again when they are deleted may move as well");
}

void add_costs(CLI::App& command, options& chosen) {
    const auto to_seconds = [](vgpualloc::ticks time) {
        return static_cast<double>(time.count()) / static_cast<double>(vgpualloc::ticks_per_second.count());
    };
    chosen.move_s = to_seconds(chosen.asked.costs.downtime_per_move);
    chosen.gib_s = to_seconds(chosen.asked.costs.copy_per_mib * 1024);
    command.add_option("--moves", chosen.asked.budget.moves_max, "At most so many moves")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{100'000}))
        ->capture_default_str();
    command
        .add_option("--downtime-s", chosen.downtime_s,
                    "At most so many device-seconds of downtime in all. Default: no limit")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, seconds_max))
        ->check(no_nan);
    command.add_option("--move-s", chosen.move_s, "Downtime of a move beside copying (an assumption)")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, seconds_max))
        ->check(no_nan)
        ->capture_default_str();
    command.add_option("--copy-s-per-gib", chosen.gib_s, "Time to copy a GiB of device memory (an assumption)")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, seconds_max))
        ->check(no_nan)
        ->capture_default_str();
    command
        .add_option("--steps", chosen.asked.budget.steps_max,
                    "Steps that the search may take, 250 times as many by default with --consolidate; it says so where "
                    "they are "
                    "not enough")
        ->type_name("N")
        ->each([&chosen](const std::string&) { chosen.steps_given = true; })
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
        ->capture_default_str();
}

} // namespace

void add_plan(CLI::App& app, int& exit_code) {
    auto chosen = std::make_shared<options>();
    CLI::App* command = app.add_subcommand(
        "plan", "Plan which pods of a cluster move so that a pod fits, or so that devices or nodes become empty");
    add_cluster(*command, chosen->cluster);
    command->add_option("--pod", chosen->pod, "Make room for a pending pod of the cluster (namespace/name, or name)")
        ->type_name("POD")
        ->check(filled());
    command->add_option("--add-pod", chosen->added_pod, "Make room for the pod of this manifest")
        ->type_name("FILE")
        ->check(filled());
    command->add_option("--consolidate", chosen->consolidated, "Empty as many devices, or nodes, as possible")
        ->type_name("devices|nodes")
        ->check(CLI::IsMember({"devices", "nodes"}));
    add_costs(*command, *chosen);
    add_which_pods(*command, chosen->asked.movable, chosen->labels);
    add_dialect_files(*command, chosen->dialects);
    command->add_flag("--json", chosen->json, "As JSON, with everything");
    command->callback([chosen, &exit_code] { exit_code = run(*chosen); });
}

} // namespace vgpusim::cli
