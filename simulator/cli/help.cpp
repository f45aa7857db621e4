// vgpusim help, and the examples at the end of every command's help.
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands.hpp"

namespace vgpusim::cli {

namespace {

struct command_examples {
    std::string_view command;
    std::string_view lines;
};

constexpr std::array examples{
    command_examples{"run", R"(
  vgpusim run --nodes traces/quickstart/nodes.csv --pods traces/quickstart/pods.csv --policy best_fit
  vgpusim run scenarios/what-does-sharing-gain.json
  vgpusim run scenarios/how-full-is-the-cluster-when-pods-leave.json --offered-load 0.9 --out out/busy

A setting may come from the scenario, from --set and from a flag; a flag wins over --set, and --set over the scenario.)"},
    command_examples{"compare", R"(
  vgpusim compare --nodes traces/quickstart/nodes.csv --pods traces/quickstart/pods.csv --policy bid_price --policy best_fit
  vgpusim compare scenarios/which-policy-fits-the-most-pods.json --policy best_fit --policy weighted:fgd=0.7,binpack=0.3

A setting may come from the scenario, from --set and from a flag; a flag wins over --set, and --set over the scenario.)"},
    command_examples{"study", R"(
  vgpusim study scenarios/studies/fgd-paper.json --out out/study
  vgpusim study --nodes traces/quickstart/nodes.csv --pods traces/quickstart/pods.csv --policy bid_price --policy best_fit --seeds 1..5)"},
    command_examples{"conformance", R"(
  vgpusim conformance --impl compat:volcano tests/conformance/cases/*.jsonl)"},
    command_examples{"generate", R"(
  vgpusim generate traces/models/quickstart.json --nodes 16 --load 1.1 --seed 7 --out out/generated
  vgpusim generate traces/models/quickstart.json --pods 5000 --offered-load 0.9 --out out/busy)"},
    command_examples{"fetch", R"(
  vgpusim fetch openb)"},
    command_examples{"catalog", R"(
  vgpusim catalog mig A100-40GB
  vgpusim catalog --json)"},
    command_examples{"transition", R"(
  vgpusim transition A100-40GB --state 1g.5gb@0,2g.10gb@4 --busy 1g.5gb@0 --want 3g.20gb
  vgpusim transition A100-40GB --state 1g.5gb@0,1g.5gb@4 --busy 1g.5gb@0,1g.5gb@4 --want 3g.20gb --moves 1
  vgpusim transition A100-40GB --state 3g.20gb@0,3g.20gb@4 --want-group 1g.5gb=2,2g.10gb=1,3g.20gb=1)"},
    command_examples{"validate", R"(
  vgpusim validate scenarios/manifests/*.yaml)"},
    command_examples{"explain", R"(
  kubectl get nodes,pods -A -o json > cluster.json
  vgpusim explain cluster.json --pod team/waits)"},
    command_examples{"snapshot", R"(
  kubectl get nodes,pods,configmaps -A -o json > cluster.json
  vgpusim snapshot cluster.json --out snapshot.json)"},
    command_examples{"plan", R"(
  vgpusim plan snapshot.json --pod team/train --moves 3
  vgpusim plan snapshot.json --consolidate nodes --moves 50 --downtime-s 600)"},
    command_examples{"show", R"(
  vgpusim show scenarios/clusters/atlas.json
  vgpusim show scenarios/clusters/atlas.json --prices scenarios/forecast/prices.json
  kubectl get nodes,pods,resourcequotas -A -o json | vgpusim show -)"},
    command_examples{"why", R"(
  vgpusim why scenarios/clusters/atlas.json
  vgpusim why scenarios/clusters/atlas.json --pod train/llm-3)"},
    command_examples{"whatif", R"(
  vgpusim whatif snapshot.json --policy binpack --drain gpu-node-3
  vgpusim whatif snapshot.json --add-pods job.yaml --find-nodes gpu-node-1)"},
    command_examples{"forecast", R"(
  vgpusim forecast scenarios/clusters/atlas.json --history scenarios/forecast/atlas-used.csv
  vgpusim forecast cluster.json --history last-half-year/used.csv -l 'pool=train')"},
    command_examples{"bound", R"(
  vgpusim bound --nodes traces/quickstart/nodes.csv --pods traces/quickstart/pods.csv --tune 1.3 --policy fgd
  vgpusim bound --nodes traces/quickstart/nodes.csv --pods traces/quickstart/pods.csv --tune 1.3 --forced-load 0.8 --json)"},
    command_examples{"replay", R"(
  vgpusim replay --decisions decisions.jsonl
  vgpusim replay --decisions decisions.jsonl --policy spread --out out/spread)"},
    command_examples{"policies", R"(
  vgpusim policies --json)"},
    command_examples{"modes", R"(
  vgpusim modes)"},
    command_examples{"options", R"(
  vgpusim options
  vgpusim options --json)"},
    command_examples{"dialects", R"(
  vgpusim dialects)"},
    command_examples{"help", R"(
  vgpusim help run)"},
};

} // namespace

expected<void> check_command(const CLI::App& app, const std::string& name) {
    std::string names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        if (command->get_name() == name) return {};
        names += (names.empty() ? "" : ", ") + command->get_name();
    }
    return unexpected(
        bad_value(error_code::unknown_name, "command", name, "one of " + names + " (see vgpusim --help)"));
}

void add_help(CLI::App& app) {
    auto name = std::make_shared<std::string>();
    CLI::App* help = app.add_subcommand("help", "Print the help of a command");
    help->add_option("COMMAND", *name, "The command; without it the list of commands is printed")->type_name("");
    help->callback([&app, name] {
        if (name->empty()) {
            // app.help() would be that of the command that was called, which is this one.
            fmt::print("{}", app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal));
        } else {
            or_end(check_command(app, *name));
            fmt::print("{}", app.get_subcommand(*name)->help(app.get_name()));
        }
    });
    for (const auto& [command, lines] : examples) {
        app.get_subcommand(std::string{command})->footer("Examples:" + std::string{lines});
    }
}

} // namespace vgpusim::cli
