// vgpusim transition: the steps from what a MIG GPU is cut into to a free instance of a profile, or to another group.
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "vgpualloc/plan/transition_request.hpp"
#include "vgpuops/transition/transition_words.hpp"

namespace vgpusim::cli {

namespace {

namespace plan = vgpualloc::plan;
namespace transitions = vgpuops::transitions;

struct transition_options {
    std::string model;
    plan::transition_state state;
    plan::transition_request request;
    double create_seconds = 0;
    double destroy_seconds = 0;
    double restart_seconds = 0;
    plan::mig_step_costs costs;
    std::vector<std::string> files;
    bool json = false;
};

constexpr double seconds_max = 1'000'000;

[[nodiscard]] plan::mig_step_costs costs_in(const transition_options& chosen) {
    plan::mig_step_costs costs = chosen.costs;
    for (const auto& [option, given, cost] :
         {std::tuple{"--create-seconds", chosen.create_seconds, &costs.create},
          std::tuple{"--destroy-seconds", chosen.destroy_seconds, &costs.destroy},
          std::tuple{"--restart-seconds", chosen.restart_seconds, &costs.restart}}) {
        const double micros = given * static_cast<double>(ticks_per_second.count());
        if (!(micros >= 1 && given <= seconds_max)) {
            end_with(
                bad_value(error_code::out_of_range, "", fmt::format("{}", given), "0.000001 to 1000000").at(option));
        }
        *cost = ticks{std::llround(micros)};
    }
    return costs;
}

void run(const transition_options& chosen) {
    if (chosen.request.want.empty() && chosen.request.group.empty()) {
        end_with(bad_value(error_code::missing, "--want", "", "a profile, or --want-group"));
    }
    std::vector<named_input> inputs;
    add_inputs(inputs, "--file", chosen.files);
    read_stdin_once(inputs);
    input_reader from{files_here()};
    const auto catalog = or_end(load_catalog(chosen.files, from));
    const auto model = or_end(find_model(catalog.mig, chosen.model));
    auto planner = or_end(plan::mig_transitions::make(*model, costs_in(chosen)));
    const plan::transition_names names{
        .instances = "--state", .busy = "--busy", .pinned = "--pinned", .want = "--want", .group = "--want-group"};
    const auto live = or_end(read_live_state(planner.states(), chosen.state, names));
    const auto planned = or_end(plan_layout(planner, live, chosen.request, names));
    fmt::print("{}", chosen.json ? transitions::plan_json(planner.states(), planned)
                                 : transitions::plan_text(planner.states(), live, chosen.request, planned));
}

void add_costs(CLI::App& command, transition_options& chosen) {
    const auto add = [&](const char* name, double& to, ticks preset, const char* help) {
        to = seconds_of(preset);
        command.add_option(name, to, help)->type_name("NUMBER")->capture_default_str();
    };
    add("--create-seconds", chosen.create_seconds, chosen.costs.create, "What creating an instance takes");
    add("--destroy-seconds", chosen.destroy_seconds, chosen.costs.destroy, "What destroying an instance takes");
    add("--restart-seconds", chosen.restart_seconds, chosen.costs.restart,
        "What stopping a pod and letting it go on takes, without copying");
    command
        .add_option("--copy-mib-per-s", chosen.costs.copy_mib_per_s, "How fast a pod's memory goes to or from the host")
        ->type_name("INTEGER")
        ->capture_default_str();
}

} // namespace

void add_transition(CLI::App& app) {
    auto chosen = std::make_shared<transition_options>();
    CLI::App* command = app.add_subcommand(
        "transition", "Plan how a MIG GPU comes to a free instance of a profile: what to destroy, create and move");
    command->add_option("MODEL", chosen->model, "A model by name, card type, PCI id or what the driver prints")
        ->type_name("")
        ->required();
    const auto add_list = [&](const char* name, std::vector<std::string>& to, const char* help) {
        command->add_option(name, to, help)->type_name("PROFILE@START,...")->delimiter(',')->allow_extra_args(false);
    };
    add_list("--state", chosen->state.instances, "The instances that exist");
    add_list("--busy", chosen->state.busy, "Those that a pod has");
    add_list("--pinned", chosen->state.pinned, "Busy ones whose pods may not move");
    CLI::Option* want =
        add_filled(*command, "--want", chosen->request.want, "PROFILE[@START]", "The profile that is to be free");
    CLI::Option* group =
        command->add_option("--want-group", chosen->request.group, "Or the instances of another geometry group")
            ->type_name("PROFILE=COUNT,...")
            ->delimiter(',')
            ->allow_extra_args(false)
            ->excludes(want);
    command
        ->add_flag("--anew", chosen->request.anew,
                   "Destroy all instances of the old group and create all of the new one")
        ->needs(group);
    command->add_option("--moves", chosen->request.moving.moves_max, "At most so many moves of pods")
        ->type_name("INTEGER")
        ->capture_default_str()
        ->excludes(group);
    command
        ->add_flag("--may-wait", chosen->request.moving.may_wait,
                   "Pods may wait on the host while others take their places")
        ->excludes(group);
    command
        ->add_flag("--fewest-moves", chosen->request.moving.fewest_moves,
                   "The fewest moves, of --moves at most, instead of the fewest seconds")
        ->excludes(group);
    add_costs(*command, *chosen);
    add_catalog_files(*command, chosen->files);
    command->add_flag("--json", chosen->json, "As JSON");
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
