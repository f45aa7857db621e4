// vgpusim explain: why a pod goes where it goes in a cluster given as Kubernetes objects, or why it goes nowhere.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "vgpufacade/explain.hpp"

namespace vgpusim::cli {

namespace {

struct explain_options {
    vgpufacade::explain_question asked;
    bool json = false;
};

void run(const explain_options& chosen) {
    const vgpufacade::explain_question& asked = chosen.asked;
    std::vector<named_input> inputs;
    add_inputs(inputs, "CLUSTER", asked.cluster);
    add_inputs(inputs, asked.dialects);
    add_inputs(inputs, "--pod", {asked.pod});
    add_inputs(inputs, "--scheduler-config", {asked.scheduler_config});
    read_stdin_once(inputs);
    const auto print = [](std::string_view part) { fmt::print("{}", part); };
    const auto failures = or_end(vgpufacade::explain(asked, files_here(),
                                                     chosen.json ? vgpufacade::answer_sinks{.json = print}
                                                                 : vgpufacade::answer_sinks{.text = print}));
    for (const error& failure : failures) report_error(failure);
    if (!failures.empty()) throw command_end{exit_bad_input};
}

} // namespace

void add_explain(CLI::App& app) {
    auto chosen = std::make_shared<explain_options>();
    CLI::App* command = app.add_subcommand(
        "explain", "Tell why a pod goes where it goes in a cluster: every node's answer, scores, devices, the choice");
    command
        ->add_option(
            "CLUSTER", chosen->asked.cluster,
            "Nodes and pods, YAML or JSON, as kubectl get nodes,pods -A -o json prints them; - is standard input")
        ->type_name("FILE")
        ->required();
    command
        ->add_option("--pod", chosen->asked.pod, "A pending pod of the cluster (namespace/name, or name) or a manifest")
        ->type_name("POD|FILE")
        ->required();
    add_filled(
        *command, "--policy", chosen->asked.explain.policy, "POLICY",
        fmt::format("Policy that ranks nodes and devices (vgpusim policies). Default: that of --scheduler-config; "
                    "without it as HAMi ranks for its pods, {} for others",
                    vgpualloc::default_policy));
    add_filled(*command, "--device-policy", chosen->asked.explain.device_policy, "POLICY",
               "Policy for the choice of devices on a node; default: that of --scheduler-config, or --policy");
    add_seed(*command, "Random seed of randomised policies", [chosen](std::uint64_t seed) {
        chosen->asked.explain.seed = seed;
    })->default_str(std::to_string(default_seed));
    add_dialect_files(*command, chosen->asked.dialects);
    add_filled(*command, "--scheduler-config", chosen->asked.scheduler_config, "FILE",
               "Volcano's volcano-scheduler.conf, or its ConfigMap: plugin vgpualloc or deviceshare ranks as it "
               "says");
    command->add_option("--node", chosen->asked.node, "Show this node only, with its devices")->type_name("NODE");
    command->add_flag("--all", chosen->asked.all,
                      "Show every node and its devices in rows of their own, also those that refuse");
    command->add_flag("--json", chosen->json, "As JSON, with everything");
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
