// vgpusim why: why pods of a cluster wait, and what would have to change.
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "vgpufacade/why.hpp"

namespace vgpusim::cli {

namespace {

struct why_options {
    vgpufacade::why_question question;
    std::string pod;
    bool json = false;

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
    if (!chosen.pod.empty()) {
        const auto answered = or_end(vgpufacade::why_one(chosen.question, chosen.pod, files_here()));
        const std::vector<std::string> arguments = vgpufacade::cluster_arguments(chosen.question);
        fmt::print("{}",
                   chosen.json ? vgpufacade::json_of(answered, arguments) : vgpufacade::text_of(answered, arguments));
        return;
    }
    const auto answered = or_end(vgpufacade::why(chosen.question, files_here()));
    fmt::print("{}", chosen.json ? vgpuops::why::waiting_json(answered) : vgpuops::why::waiting_text(answered));
}

} // namespace

void add_why(CLI::App& app) {
    auto chosen = std::make_shared<why_options>();
    CLI::App* command = app.add_subcommand(
        "why", "Tell why pods wait, and what would have to change: verdicts, nodes by reason, changes that were tried");
    add_cluster(*command, chosen->question.cluster);
    add_filled(*command, "--pod", chosen->pod, "POD|FILE",
               "One pod of the cluster, or the owner of some (namespace/name, or name), or a manifest. Default: all "
               "pods that wait");
    add_dialect_files(*command, chosen->question.dialects);
    command->add_flag("--json", chosen->json, "As JSON, with everything, in whole numbers");
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
