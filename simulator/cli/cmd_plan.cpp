// vgpusim plan: which pods would have to move so that one that waits fits, or so that devices become empty.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "answer_form.hpp"
#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "vgpufacade/plan.hpp"

namespace vgpusim::cli {

namespace {

struct plan_options {
    vgpufacade::plan_question question;
    double downtime_s = -1.0;
    double move_s = 0.0;
    double gib_s = 0.0;
    answer_form form;
};

vgpuops::whatif::moves_answer answer_for(const plan_options& chosen) {
    vgpufacade::plan_question question = chosen.question;
    std::vector<named_input> inputs;
    add_inputs(inputs, "CLUSTER", question.cluster);
    add_inputs(inputs, question.dialects);
    if (!question.added_pod.empty()) add_inputs(inputs, "--add-pod", {question.added_pod});
    read_stdin_once(inputs);
    if (chosen.downtime_s >= 0.0) question.downtime_s = chosen.downtime_s;
    question.move_s = chosen.move_s;
    question.copy_s_per_gib = chosen.gib_s;
    return or_end(vgpufacade::plan_moves(std::move(question), files_here()));
}

void run(const plan_options& chosen) {
    chosen.form.check();
    const auto answered = answer_for(chosen);
    print_answer(
        chosen.form, [&] { return vgpuops::whatif::moves_text(answered); },
        [&] { return vgpuops::whatif::moves_json(answered); });
}

void add_which_pods(CLI::App& command, vgpualloc::kube::mobility& movable, std::vector<std::string>& labels) {
    add_repeatable(command, "--keep-namespace", movable.namespaces_kept, "NAMESPACE",
                   "Pods of this namespace stay where they are; repeatable");
    add_repeatable(command, "--movable-label", labels, "KEY=VALUE",
                   "Only pods with this label may move; repeatable, all have to match");
    command.add_flag("--move-bare-pods", movable.without_controller,
                     "Pods that no controller makes again when they are deleted may move as well");
}

void add_costs(CLI::App& command, plan_options& chosen) {
    const auto to_seconds = [](ticks time) {
        return static_cast<double>(time.count()) / static_cast<double>(ticks_per_second.count());
    };
    chosen.move_s = to_seconds(chosen.question.asked.costs.downtime_per_move);
    chosen.gib_s = to_seconds(chosen.question.asked.costs.copy_per_mib * 1024);
    command.add_option("--moves", chosen.question.asked.budget.moves_max, "At most so many moves")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{100'000}))
        ->capture_default_str();
    const auto add_seconds = [&command](const char* name, double& to, const char* help) {
        constexpr double seconds_max = 1e9;
        const auto range = CLI::Range(0.0, seconds_max);
        return command.add_option(name, to, help)->type_name("SECONDS")->check(range)->check(no_nan);
    };
    add_seconds("--downtime-s", chosen.downtime_s,
                "At most so many device-seconds of downtime in all. Default: no limit");
    add_seconds("--move-s", chosen.move_s, "Downtime of a move beside copying (an assumption)")->capture_default_str();
    add_seconds("--copy-s-per-gib", chosen.gib_s, "Time to copy a GiB of device memory (an assumption)")
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

void add_plan(CLI::App& app) {
    auto chosen = std::make_shared<plan_options>();
    CLI::App* command = app.add_subcommand(
        "plan", "Plan which pods of a cluster move so that a pod fits, or so that devices or nodes become empty");
    add_cluster(*command, chosen->question.cluster);
    add_filled(*command, "--pod", chosen->question.pod, "POD",
               "Make room for a pending pod of the cluster (namespace/name, or name)");
    add_filled(*command, "--add-pod", chosen->question.added_pod, "FILE", "Make room for the pod of this manifest");
    command->add_option("--consolidate", chosen->question.consolidated, "Empty as many devices, or nodes, as possible")
        ->type_name("devices|nodes")
        ->check(CLI::IsMember({"devices", "nodes"}));
    add_costs(*command, *chosen);
    add_which_pods(*command, chosen->question.asked.movable, chosen->question.labels);
    add_dialect_files(*command, chosen->question.dialects);
    add_answer_form(*command, chosen->form);
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
