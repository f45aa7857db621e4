// vgpusim replay: the decision log of a live scheduler, run again on the same core.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuops/decisions/answer.hpp"

namespace vgpusim::cli {

namespace {

struct options {
    std::string log;
    std::optional<std::string> policy;
    std::optional<std::string> device_policy;
    std::string catalog;
    std::string device_config;
    std::string scheduler_config;
    std::string out;
    bool json = false;

    [[nodiscard]] std::vector<named_input> inputs() const {
        std::vector<named_input> named{{"--decisions", log}};
        if (!catalog.empty()) named.push_back({"--catalog", catalog});
        if (!device_config.empty()) named.push_back({"--device-config", device_config});
        if (!scheduler_config.empty()) named.push_back({"--scheduler-config", scheduler_config});
        return named;
    }
};

/// The content of a file, if one is named.
expected<std::optional<std::string>> read_text(const std::string& path) {
    if (path.empty()) return std::nullopt;
    auto input = vgpuformats::read_input(path);
    if (!input) return unexpected(std::move(input).error());
    return std::move(input->text);
}

expected<vgpuops::decisions::option_changes> read_changes(const options& chosen) {
    vgpuops::decisions::option_changes changes;
    changes.names = {
        .catalog = chosen.catalog, .device_config = chosen.device_config, .scheduler_config = chosen.scheduler_config};
    changes.texts.policy = chosen.policy;
    changes.texts.device_policy = chosen.device_policy;
    for (const auto& [path, text] : {std::pair{&chosen.catalog, &changes.texts.catalog},
                                     std::pair{&chosen.device_config, &changes.texts.device_config},
                                     std::pair{&chosen.scheduler_config, &changes.texts.scheduler_config}}) {
        auto content = read_text(*path);
        if (!content) return unexpected(std::move(content).error());
        *text = *std::move(content);
    }
    return changes;
}

expected<vgpuops::decisions::replay_answer> replay(const options& chosen) {
    if (const auto once = read_stdin_once(chosen.inputs()); !once) return unexpected(once.error());
    const auto changes = read_changes(chosen);
    if (!changes) return unexpected(changes.error());
    const auto log = vgpuformats::read_input(chosen.log, {.bytes_max = vgpuformats::list_bytes_max});
    if (!log) return unexpected(log.error());
    return vgpuops::decisions::replay_log(log->name, log->text, *changes);
}

int run(const options& chosen) {
    const auto answered = replay(chosen);
    if (!answered) return report_error(answered.error());
    const std::string text = answer_text(*answered);
    const std::string json = answer_json(*answered);
    if (!chosen.out.empty()) {
        const std::string entries = answered->what_if ? pods_jsonl(*answered->what_if) : differences_jsonl(*answered);
        const std::string entries_name = answered->what_if ? "pods.jsonl" : "differences.jsonl";
        std::vector<std::string> inputs;
        for (const named_input& input : chosen.inputs()) inputs.push_back(input.path);
        const auto kept = vgpuformats::keep_inputs(chosen.out, {"replay.json", "replay.txt", entries_name}, inputs);
        if (!kept) return report_error(kept.error());
        const auto written = vgpuformats::write_files(chosen.out, {{.name = "replay.json", .content = json},
                                                                   {.name = "replay.txt", .content = text},
                                                                   {.name = entries_name, .content = entries}});
        if (!written) return report_write_failure(written.error());
    }
    fmt::print("{}", chosen.json ? json : text);
    return answered->what_if || answered->differences.empty() ? exit_done : exit_failed;
}

} // namespace

void add_replay(CLI::App& app, int& exit_code) {
    auto chosen = std::make_shared<options>();
    CLI::App* command = app.add_subcommand(
        "replay", "Run the decision log of a live scheduler again: does the core decide the same, or what would other "
                  "options have done");
    command
        ->add_option("--decisions", chosen->log,
                     "The log, JSON lines (docs/decision-log.md), compressed with gzip or not; - is standard input")
        ->type_name("LOG")
        ->required();
    command
        ->add_option("--policy", chosen->policy,
                     "Instead of the log's policy (vgpusim policies). This or one of the four below: pods go where it "
                     "has them go; without any, what the core decides is compared with the log, and the exit code is "
                     "1 if something differs")
        ->type_name("POLICY")
        ->check(filled());
    command->add_option("--device-policy", chosen->device_policy, "Instead of the log's policy for devices of a node")
        ->type_name("POLICY")
        ->check(filled());
    command->add_option("--catalog", chosen->catalog, "Instead of the log's catalog file")
        ->type_name("FILE")
        ->check(filled());
    command->add_option("--device-config", chosen->device_config, "Instead of the log's device configuration")
        ->type_name("FILE")
        ->check(filled());
    command
        ->add_option("--scheduler-config", chosen->scheduler_config,
                     "Instead of the log's scheduler configuration, and with plugin vgpualloc in it of its policies")
        ->type_name("FILE")
        ->check(filled());
    command->add_flag("--json", chosen->json, "As JSON, with all differences");
    command
        ->add_option("--out", chosen->out,
                     "Also write replay.json, replay.txt and differences.jsonl, or pods.jsonl, into this folder")
        ->type_name("DIR")
        ->check(filled());
    command->callback([chosen, &exit_code] { exit_code = run(*chosen); });
}

} // namespace vgpusim::cli
