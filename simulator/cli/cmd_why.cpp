// vgpusim why: why pods of a cluster wait, and what would have to change.
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "answer_form.hpp"
#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "vgpufacade/why.hpp"

namespace vgpusim::cli {

namespace {

struct why_options {
    vgpufacade::why_question question;
    std::string pod;
    answer_form form;
    bool lists_all = false;

    [[nodiscard]] std::vector<named_input> inputs() const {
        std::vector<named_input> named;
        add_inputs(named, "CLUSTER", question.cluster);
        add_inputs(named, question.dialects);
        add_inputs(named, "--pod", {pod});
        return named;
    }
};

void run(const why_options& chosen) {
    read_stdin_once(chosen.inputs());
    chosen.form.check();
    if (!chosen.pod.empty()) {
        const auto answered = or_end(vgpufacade::why_one(chosen.question, chosen.pod, files_here()));
        const std::vector<std::string> arguments = vgpufacade::cluster_arguments(chosen.question);
        return print_answer(
            chosen.form, [&] { return vgpufacade::text_of(answered, arguments); },
            [&] { return vgpufacade::json_of(answered, arguments); });
    }
    const auto answered = or_end(vgpufacade::why(chosen.question, files_here()));
    print_answer(
        chosen.form, [&] { return vgpuops::why::waiting_text(answered, chosen.lists_all); },
        [&] { return vgpuops::why::waiting_json(answered); });
}

} // namespace

void add_why(CLI::App& app) {
    auto chosen = std::make_shared<why_options>();
    CLI::App* command = app.add_subcommand(
        "why", "Tell why pods wait, and what would have to change: verdicts, nodes by reason, changes that were tried");
    add_cluster(*command, chosen->question.cluster);
    CLI::Option* const pod = add_filled(
        *command, "--pod", chosen->pod, "POD|FILE",
        "One pod of the cluster, or the owner of some (namespace/name, or name), or a manifest. Default: all "
        "pods that wait");
    add_filled(*command, "-n", chosen->question.ns, "NAMESPACE",
               "Only pods of this namespace; what is free is counted with all")
        ->excludes(pod);
    command->add_flag("--all", chosen->lists_all, "Print every row, with every pod")->excludes(pod);
    add_dialect_files(*command, chosen->question.dialects);
    add_answer_form(*command, chosen->form);
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
