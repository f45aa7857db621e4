// vgpusim forecast: when a cluster is full, if its use goes on growing as it did.
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "vgpufacade/forecast.hpp"

namespace vgpusim::cli {

namespace {

struct forecast_options {
    vgpufacade::forecast_question question;
    bool json = false;

    [[nodiscard]] std::vector<named_input> inputs() const {
        std::vector<named_input> named;
        add_inputs(named, "CLUSTER", question.cluster);
        add_inputs(named, question.dialects);
        named.push_back({"--history", question.history});
        return named;
    }
};

void run(const forecast_options& chosen) {
    read_stdin_once(chosen.inputs());
    const auto forecast = or_end(vgpufacade::forecast(chosen.question, files_here()));
    fmt::print("{}",
               chosen.json ? vgpuops::forecast::forecast_json(forecast) : vgpuops::forecast::forecast_text(forecast));
}

} // namespace

void add_forecast(CLI::App& app) {
    auto chosen = std::make_shared<forecast_options>();
    CLI::App* command = app.add_subcommand(
        "forecast",
        "Tell when a cluster is full at the growth of its history, with an interval, and what is scattered");
    add_cluster(*command, chosen->question.cluster);
    add_filled(*command, "--history", chosen->question.history, "FILE",
               "GPUs in use over time: CSV with the columns time and used, as vgpusim import writes used.csv; "
               "- is standard input")
        ->required();
    add_filled(*command, "-l", chosen->question.nodes, "SET",
               "Only these nodes, as of vgpusim show; the history is to be of these nodes too");
    add_dialect_files(*command, chosen->question.dialects);
    command->add_flag("--json", chosen->json, "As JSON");
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
