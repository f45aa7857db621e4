// vgpusim plan: which pods would have to move so that one that waits fits, or so that devices become empty.
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
#include "vgpufacade/plan.hpp"

namespace vgpusim::cli {

namespace {

struct options {
    vgpufacade::plan_question question;
    double downtime_s = -1.0;
    double move_s = 0.0;
    double gib_s = 0.0;
    bool json = false;
};

constexpr double seconds_max = 1e9; ///< of what is given in seconds

expected<vgpuops::whatif::moves_answer> answer_for(const options& chosen) {
    vgpufacade::plan_question question = chosen.question;
    std::vector<named_input> inputs;
    add_inputs(inputs, "CLUSTER", question.cluster);
    add_inputs(inputs, question.dialects);
    if (!question.added_pod.empty()) add_inputs(inputs, "--add-pod", {question.added_pod});
    if (auto once = read_stdin_once(inputs); !once) return unexpected(once.error());
    if (chosen.downtime_s >= 0.0) question.downtime_s = chosen.downtime_s;
    question.move_s = chosen.move_s;
    question.copy_s_per_gib = chosen.gib_s;
    return vgpufacade::plan_moves(std::move(question), files_here());
}

int run(const options& chosen) {
    const auto answered = answer_for(chosen);
    if (!answered) return report_error(answered.error());
    fmt::print("{}", chosen.json ? vgpuops::whatif::moves_json(*answered) : vgpuops::whatif::moves_text(*answered));
    return exit_done;
}

void add_which_pods(CLI::App& command, vgpualloc::kube::mobility& movable, std::vector<std::string>& labels) {
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
    const auto to_seconds = [](ticks time) {
        return static_cast<double>(time.count()) / static_cast<double>(ticks_per_second.count());
    };
    chosen.move_s = to_seconds(chosen.question.asked.costs.downtime_per_move);
    chosen.gib_s = to_seconds(chosen.question.asked.costs.copy_per_mib * 1024);
    command.add_option("--moves", chosen.question.asked.budget.moves_max, "At most so many moves")
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
        .add_option("--steps", chosen.question.asked.budget.steps_max,
                    "Steps that the search may take, 250 times as many by default with --consolidate; it says so where "
                    "they are "
                    "not enough")
        ->type_name("N")
        ->each([&chosen](const std::string&) { chosen.question.steps_given = true; })
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
        ->capture_default_str();
}

} // namespace

void add_plan(CLI::App& app, int& exit_code) {
    auto chosen = std::make_shared<options>();
    CLI::App* command = app.add_subcommand(
        "plan", "Plan which pods of a cluster move so that a pod fits, or so that devices or nodes become empty");
    add_cluster(*command, chosen->question.cluster);
    command
        ->add_option("--pod", chosen->question.pod,
                     "Make room for a pending pod of the cluster (namespace/name, or name)")
        ->type_name("POD")
        ->check(filled());
    command->add_option("--add-pod", chosen->question.added_pod, "Make room for the pod of this manifest")
        ->type_name("FILE")
        ->check(filled());
    command->add_option("--consolidate", chosen->question.consolidated, "Empty as many devices, or nodes, as possible")
        ->type_name("devices|nodes")
        ->check(CLI::IsMember({"devices", "nodes"}));
    add_costs(*command, *chosen);
    add_which_pods(*command, chosen->question.asked.movable, chosen->question.labels);
    add_dialect_files(*command, chosen->question.dialects);
    command->add_flag("--json", chosen->json, "As JSON, with everything");
    command->callback([chosen, &exit_code] { exit_code = run(*chosen); });
}

} // namespace vgpusim::cli
