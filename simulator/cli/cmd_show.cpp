// vgpusim show: what of a cluster is used, free and out of service, who uses it and who waits.
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "vgpufacade/show.hpp"

namespace vgpusim::cli {

namespace {

struct show_options {
    vgpufacade::show_question question;
    std::string format = "table";
    bool json = false;

    [[nodiscard]] std::vector<named_input> inputs() const {
        std::vector<named_input> named;
        add_inputs(named, "CLUSTER", question.cluster);
        add_inputs(named, question.dialects);
        return named;
    }
};

void run(const show_options& chosen) {
    read_stdin_once(chosen.inputs());
    const auto seen = or_end(vgpufacade::show(chosen.question, files_here()));
    const bool is_json = chosen.json || chosen.format == "json";
    fmt::print("{}", is_json ? vgpuops::show::overview_json(seen) : vgpuops::show::overview_text(seen));
}

} // namespace

void add_show(CLI::App& app) {
    auto chosen = std::make_shared<show_options>();
    CLI::App* command = app.add_subcommand(
        "show", "Show a cluster: GPUs used, free and out of service, how many more pods fit, who uses it, who waits");
    add_cluster(*command, chosen->question.cluster);
    add_dialect_files(*command, chosen->question.dialects);
    command->add_option("-o,--output", chosen->format, "table or json")
        ->type_name("FORMAT")
        ->check(CLI::IsMember{{"table", "json"}})
        ->capture_default_str();
    command->add_flag("--json", chosen->json, "As -o json: everything, in whole numbers");
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
