// vgpusim validate: what every object of a manifest asks for or offers, in which dialect, and what is wrong with it.
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "vgpufacade/validate.hpp"

namespace vgpusim::cli {

namespace {

struct validate_options {
    vgpufacade::validate_question question;
    bool json = false;
};

void run(const validate_options& chosen) {
    const vgpufacade::validate_question& question = chosen.question;
    std::vector<named_input> inputs;
    add_inputs(inputs, "FILE", question.files);
    add_inputs(inputs, question.dialects);
    if (!question.scheduler_config.empty()) inputs.push_back({"--scheduler-config", question.scheduler_config});
    if (inputs.empty()) {
        end_with(bad_input(error_code::missing, "", "missing",
                           "manifests, or a configuration to check: --config, "
                           "--scheduler-config or --file")
                     .at("FILE"));
    }
    read_stdin_once(inputs);
    const auto result = or_end(vgpufacade::validate(question, files_here()));
    fmt::print("{}", chosen.json ? vgpufacade::validation_json(result) : vgpufacade::validation_text(result));
    if (result.errors == 0) return;
    fmt::print(stderr, "vgpusim: {}\n", vgpufacade::complaint_of(result));
    throw command_end{exit_bad_input};
}

} // namespace

void add_validate(CLI::App& app) {
    auto chosen = std::make_shared<validate_options>();
    CLI::App* command = app.add_subcommand(
        "validate",
        "Check Kubernetes manifests, and configurations of devices and scheduler: which dialect each object "
        "speaks, what it asks for, what is wrong");
    command
        ->add_option("FILE", chosen->question.files,
                     "Manifests, YAML or JSON; also what kubectl get -o yaml prints; - is standard input. May be left "
                     "out where configurations alone are to be checked")
        ->type_name("");
    add_dialect_files(*command, chosen->question.dialects);
    add_filled(*command, "--scheduler-config", chosen->question.scheduler_config, "FILE",
               "Volcano's volcano-scheduler.conf, or its ConfigMap: whether plugin vgpualloc or deviceshare "
               "takes its arguments");
    command->add_flag("--json", chosen->json, "As JSON");
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
