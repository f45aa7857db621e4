// vgpusim forecast: when a cluster is full, if its use goes on growing as it did; and what to buy for a waiting time.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "vgpufacade/forecast.hpp"
#include "vgpufacade/purchase.hpp"

namespace vgpusim::cli {

namespace {

struct forecast_options {
    vgpufacade::forecast_question question;
    vgpufacade::purchase_question purchase;
    std::string kinds; ///< to buy, with ',' between them
    seeds_flags several;
    bool json = false;

    [[nodiscard]] std::vector<named_input> inputs() const {
        std::vector<named_input> named;
        add_inputs(named, "CLUSTER", question.cluster);
        add_inputs(named, question.dialects);
        for (const auto& [option, path] : {std::pair{"--history", &question.history},
                                           {"--pods", &purchase.pods},
                                           {"--classes", &purchase.classes},
                                           {"--prices", &purchase.prices}}) {
            named.push_back({option, *path});
        }
        return named;
    }
};

/// The kinds of a list; a description in JSON has commas of its own.
std::vector<std::string> kinds_in(const std::string& list) {
    std::vector<std::string> kinds{""};
    int depth = 0;
    for (const char c : list) {
        depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
        if (c == ',' && depth == 0) {
            kinds.emplace_back();
        } else {
            kinds.back() += c;
        }
    }
    return kinds;
}

void run_purchase(const forecast_options& chosen) {
    vgpufacade::purchase_question question = chosen.purchase;
    question.cluster = chosen.question.cluster;
    question.dialects = chosen.question.dialects;
    question.kinds = kinds_in(chosen.kinds);
    question.seeds = chosen.several.seeds.value_or(seed_range{.first = default_seed, .last = default_seed + 9});
    question.jobs = chosen.several.jobs;
    const auto answer = or_end(vgpufacade::find_purchase(question, files_here()));
    fmt::print("{}", chosen.json ? vgpufacade::purchase_json(answer) : vgpufacade::purchase_text(answer));
}

void run(const forecast_options& chosen) {
    read_stdin_once(chosen.inputs());
    if (!chosen.kinds.empty()) return run_purchase(chosen);
    const auto forecast = or_end(vgpufacade::forecast(chosen.question, files_here()));
    fmt::print("{}",
               chosen.json ? vgpuops::forecast::forecast_json(forecast) : vgpuops::forecast::forecast_text(forecast));
}

/// What to buy.
void add_purchase(CLI::App& command, const std::shared_ptr<forecast_options>& chosen, CLI::Option& history) {
    auto& purchase = chosen->purchase;
    CLI::Option* const buy = add_filled(
        command, "--buy", chosen->kinds, "KINDS",
        "Find the cheapest numbers of nodes of these kinds, one to four with ',' between them, with which the "
        "goal holds; a kind is a node's name or a description, as of vgpusim whatif --add-nodes");
    buy->excludes(&history);
    const auto add = [&](const char* flag, std::string& to, const char* type, const char* help) {
        return add_filled(command, flag, to, type, help)->needs(buy);
    };
    buy->needs(add("--goal", purchase.goal, "GOAL", "With --buy: as 'p95 wait <= 30m'; mean, p1 to p99 or max"));
    buy->needs(
        add("--pods", purchase.pods, "FILE", "With --buy: the table of arrivals that is replayed (docs/workload.md)"));
    buy->needs(add("--classes", purchase.classes, "FILE", "With --buy: manifests of the classes of pods"));
    buy->needs(add("--prices", purchase.prices, "FILE", "With --buy: prices per GPU-hour (docs/show.md)"));
    add("--policy", purchase.policy, "POLICY", "With --buy: the policy of the runs");
    add("--discipline", purchase.discipline, "NAME", "With --buy: a discipline with a queue (docs/queues.md)")
        ->capture_default_str();
    add("--start-ends", purchase.start_ends, "ENDS", "With --buy: when pods end that run now: drawn, stay or a table")
        ->capture_default_str();
    command.add_option("--most", purchase.most, "With --buy: nodes of each kind at most")
        ->type_name("NUMBER")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t{1}, vgpufacade::nodes_of_kind_max))
        ->needs(buy);
    add_several_seeds(command, chosen->several, "With --buy: a run for each of these seeds; default: 42..51");
    for (const char* const flag : {"--seeds", "--jobs"}) command.get_option(flag)->needs(buy);
}

} // namespace

void add_forecast(CLI::App& app) {
    auto chosen = std::make_shared<forecast_options>();
    CLI::App* command = app.add_subcommand(
        "forecast",
        "Tell when a cluster is full at the growth of its history, or which nodes to buy so that pods wait no longer");
    add_cluster(*command, chosen->question.cluster);
    CLI::Option* const history =
        add_filled(*command, "--history", chosen->question.history, "FILE",
                   "GPUs in use over time: CSV with the columns time and used, as vgpusim import writes used.csv; "
                   "- is standard input");
    add_filled(*command, "-l", chosen->question.nodes, "SET",
               "Only these nodes, as of vgpusim show; the history is to be of these nodes too")
        ->needs(history);
    add_purchase(*command, chosen, *history);
    add_dialect_files(*command, chosen->question.dialects);
    command->add_flag("--json", chosen->json, "As JSON");
    command->callback([chosen] {
        if (chosen->question.history.empty() && chosen->kinds.empty()) {
            end_with(bad_input(error_code::missing, "", "missing", "--history or --buy").at("forecast"));
        }
        run(*chosen);
    });
}

} // namespace vgpusim::cli
