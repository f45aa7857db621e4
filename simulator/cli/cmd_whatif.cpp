// vgpusim whatif: what would become of a cluster with other nodes, other pods, or another policy.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "seed_option.hpp"
#include "vgpufacade/whatif.hpp"

namespace vgpusim::cli {

namespace {

struct options {
    vgpufacade::whatif_question question;
    std::string out;
    bool json = false;
};

expected<vgpuops::whatif::answer> answer_for(const options& chosen) {
    const vgpufacade::whatif_question& question = chosen.question;
    std::vector<named_input> inputs;
    add_inputs(inputs, "CLUSTER", question.cluster);
    add_inputs(inputs, question.dialects);
    add_inputs(inputs, "--add-pods", question.add_pods);
    add_inputs(inputs, "--node-template", question.templates);
    if (auto once = read_stdin_once(inputs); !once) return unexpected(once.error());
    return vgpufacade::whatif(question, files_here());
}

int run(const options& chosen) {
    const auto answered = answer_for(chosen);
    if (!answered) return report_error(answered.error());
    // Of a million pods each of the two is large, and JSON is a tree before it is a text.
    const bool writes = !chosen.out.empty();
    const std::string text = writes || !chosen.json ? vgpuops::whatif::answer_text(*answered) : std::string{};
    const std::string json = writes || chosen.json ? vgpuops::whatif::answer_json(*answered) : std::string{};
    if (writes) {
        std::vector<std::string> inputs = chosen.question.cluster;
        for (const auto* const list : {&chosen.question.add_pods, &chosen.question.templates,
                                       &chosen.question.dialects.config, &chosen.question.dialects.catalog}) {
            inputs.insert(inputs.end(), list->begin(), list->end());
        }
        const auto kept = vgpuformats::keep_inputs(chosen.out, {"whatif.json", "whatif.txt"}, inputs);
        if (!kept) return report_error(kept.error());
        const auto written = vgpuformats::write_files(
            chosen.out, {{.name = "whatif.json", .content = json}, {.name = "whatif.txt", .content = text}});
        if (!written) return report_write_failure(written.error());
    }
    const std::string_view shown = chosen.json ? json : text;
    constexpr std::size_t piece = std::size_t{1} << 20U; // print() makes a copy of what it is given
    for (std::size_t at = 0; at < shown.size(); at += piece) fmt::print("{}", shown.substr(at, piece));
    return exit_done;
}

void add_repeatable(CLI::App& command, const char* name, std::vector<std::string>& to, const char* type,
                    const char* words) {
    command.add_option(name, to, words)->type_name(type)->allow_extra_args(false);
}

} // namespace

void add_whatif(CLI::App& app, int& exit_code) {
    auto chosen = std::make_shared<options>();
    CLI::App* command = app.add_subcommand(
        "whatif", "Tell what would become of a cluster: other nodes, failures, drains, more pods, another policy");
    add_cluster(*command, chosen->question.cluster);
    auto& asked = chosen->question.asked;
    command->add_option("--policy", asked.policy, "Policy that ranks nodes and devices (vgpusim policies)")
        ->type_name("POLICY")
        ->capture_default_str();
    command
        ->add_option("--device-policy", asked.device_policy,
                     "Policy that ranks the devices of a node. Default: that of --policy")
        ->type_name("POLICY");
    add_seed(*command, "For policies that draw", [chosen](std::uint64_t seed) {
        chosen->question.asked.seed = seed;
    })->default_str(std::to_string(default_seed));
    add_repeatable(*command, "--add-nodes", chosen->question.add_nodes, "KIND=N",
                   "Add N nodes like KIND, with nothing on them: a node of the cluster, a template, or devices of the "
                   "catalog as MODEL:MODE:DEVICES (A100-40GB:mig:8), :CPU_MILLI:MEMORY_MIB behind it if the host is "
                   "not to be as large as the cluster's largest; repeatable");
    add_repeatable(*command, "--node-template", chosen->question.templates, "FILE",
                   "Node objects that --add-nodes and --find-nodes may name, with their ConfigMaps; repeatable");
    add_repeatable(*command, "--drain", asked.wanted.drained, "NODE",
                   "Cordon a node and evict its pods, but for those of a DaemonSet; repeatable");
    add_repeatable(*command, "--fail", chosen->question.failed, "NODE[/DEVICE]",
                   "Lose a node, or one device of it by uuid or number, with the pods there; repeatable");
    add_repeatable(*command, "--set-mode", chosen->question.modes, "NODE=MODE",
                   "Give all devices of a node another mode (vgpusim modes), after evicting the pods that have some; "
                   "repeatable");
    add_repeatable(*command, "--add-pods", chosen->question.add_pods, "FILE",
                   "Add pods: manifests with their replicas; repeatable");
    command
        ->add_option("--find-nodes", asked.find_kind,
                     "Find the smallest number of nodes like KIND, as of --add-nodes, with which this policy's pass "
                     "places every pod, and list the pods that one node less leaves without a place")
        ->type_name("KIND");
    add_dialect_files(*command, chosen->question.dialects);
    command->add_flag("--json", chosen->json, "As JSON, with everything");
    command->add_option("--out", chosen->out, "Also write whatif.json and whatif.txt into this folder")
        ->type_name("DIR")
        ->check(filled());
    command->callback([chosen, &exit_code] { exit_code = run(*chosen); });
}

} // namespace vgpusim::cli
