// vgpusim whatif: what would become of a cluster with other nodes, other pods, or another policy.
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
#include "vgpufacade/whatif.hpp"

namespace vgpusim::cli {

namespace {

struct whatif_options {
    vgpufacade::whatif_question question;
    std::string out;
    answer_form form;

    [[nodiscard]] std::vector<named_input> inputs() const {
        std::vector<named_input> named;
        add_inputs(named, "CLUSTER", question.cluster);
        add_inputs(named, question.dialects);
        add_inputs(named, "--add-pods", question.add_pods);
        add_inputs(named, "--node-template", question.templates);
        named.push_back({"--pods", question.pods});
        named.push_back({"--classes", question.classes});
        return named;
    }
};

/// An answer as text and as JSON, of which what nobody reads is empty: of a million pods each of the two is large, and
/// JSON is a tree before it is a text.
struct answer_texts {
    std::string text;
    std::string json;
};

answer_texts texts_of(const whatif_options& chosen) {
    const bool has_text = !chosen.out.empty() || chosen.form.is_table();
    const bool has_json = !chosen.out.empty() || !chosen.form.is_table();
    answer_texts result;
    if (!chosen.question.layouts_of.empty()) {
        const auto layouts = or_end(vgpufacade::find_layouts(chosen.question, files_here()));
        if (has_text) result.text = vgpuops::whatif::layouts_text(layouts, chosen.question.lists_all);
        if (has_json) result.json = vgpuops::whatif::layouts_json(layouts);
        return result;
    }
    const auto answered = or_end(vgpufacade::whatif(chosen.question, files_here()));
    if (has_text) result.text = vgpuops::whatif::answer_text(answered, chosen.question.lists_all);
    if (has_json) result.json = vgpuops::whatif::answer_json(answered);
    return result;
}

void run(const whatif_options& chosen) {
    read_stdin_once(chosen.inputs());
    chosen.form.check();
    const answer_texts texts = texts_of(chosen);
    if (!chosen.out.empty()) {
        keep_inputs(chosen.out, {"whatif.json", "whatif.txt"}, chosen.inputs());
        or_end(vgpuformats::write_files(chosen.out, {{.name = "whatif.json", .content = texts.json},
                                                     {.name = "whatif.txt", .content = texts.text}}));
    }
    print_answer(chosen.form, [&]() -> const auto& { return texts.text; }, [&]() -> const auto& { return texts.json; });
}

} // namespace

void add_whatif(CLI::App& app) {
    auto chosen = std::make_shared<whatif_options>();
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
    add_seed(*command, "Random seed of randomised policies", [chosen](std::uint64_t seed) {
        chosen->question.asked.seed = seed;
    })->default_str(std::to_string(default_seed));
    add_repeatable(*command, "--add-nodes", chosen->question.add_nodes, "KIND=N",
                   "Add N nodes like KIND, with nothing on them: a node of the cluster, a template, or devices of the "
                   "catalog as MODEL:MODE:DEVICES (A100-40GB:mig:8), and :CPU_MILLI:MEMORY_MIB for the host's size "
                   "(default: the cluster's largest); repeatable");
    add_repeatable(*command, "--node-template", chosen->question.templates, "FILE",
                   "Node objects that --add-nodes and --find-nodes may name, with their ConfigMaps; repeatable");
    add_repeatable(*command, "--uncordon", asked.wanted.uncordoned, "NODES",
                   "Let nodes take pods again: a name or a set of them, as of vgpusim show -l; repeatable");
    add_repeatable(*command, "--drain", asked.wanted.drained, "NODES",
                   "Cordon nodes and evict their pods, but for those of a DaemonSet; repeatable");
    add_repeatable(*command, "--fail", chosen->question.failed, "NODES[/DEVICE]",
                   "Lose nodes, or one device of each by uuid or number, with the pods there; repeatable");
    add_repeatable(*command, "--set-mode", chosen->question.modes, "NODES=MODE[:LAYOUT]",
                   "Give all devices of nodes another mode (vgpusim modes), after evicting the pods that have some. "
                   "GPUs of NVIDIA's own plugin are cut by a layout of the GPU operator: mig:all-balanced; repeatable");
    add_repeatable(*command, "--add-pods", chosen->question.add_pods, "FILE",
                   "Add pods: manifests with their replicas; repeatable");
    command->add_flag("--anew", asked.wanted.anew,
                      "Place every pod with devices that may move anew, as if it had just come: what the policy would "
                      "make of the cluster. Those on nodes that take none stay");
    CLI::Option* const find_layout = add_filled(
        *command, "--find-layout", chosen->question.layouts_of, "NODES",
        "Try the MIG layouts of these nodes, a set of them, and list what runs with each, best first: GPUs of NVIDIA's "
        "own plugin, for the pods that ask for instances");
    CLI::Option* const pods = add_filled(
        *command, "--pods", chosen->question.pods, "FILE",
        "With --find-layout: a table of arrivals (docs/workload.md) that is replayed from the cluster with each "
        "layout; the answer says how long pods wait");
    pods->needs(find_layout);
    pods->needs(add_filled(*command, "--classes", chosen->question.classes, "FILE",
                           "With --pods: manifests of the classes of pods")
                    ->needs(pods));
    command->add_flag(
        "--all", chosen->question.lists_all,
        "No line is left out: every pod with its devices, why others find no place, node by node, and what "
        "is idle by cause; of --find-layout, all layouts that were tried");
    add_filled(*command, "--find-nodes", asked.find_kind, "KIND",
               "Find the smallest number of nodes like KIND, as of --add-nodes, with which this policy's pass places "
               "every pod that such nodes can help")
        ->excludes(find_layout);
    add_dialect_files(*command, chosen->question.dialects);
    add_answer_form(*command, chosen->form);
    add_filled(*command, "--out", chosen->out, "DIR", "Also write whatif.json and whatif.txt into this folder");
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
