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
#include "options.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuops/decisions/answer.hpp"

namespace vgpusim::cli {

namespace {

struct replay_options {
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

vgpuops::decisions::option_changes read_changes(const replay_options& chosen) {
    vgpuops::decisions::option_changes changes;
    changes.names = {
        .catalog = chosen.catalog, .device_config = chosen.device_config, .scheduler_config = chosen.scheduler_config};
    changes.texts.policy = chosen.policy;
    changes.texts.device_policy = chosen.device_policy;
    for (const auto& [path, text] : {std::pair{&chosen.catalog, &changes.texts.catalog},
                                     std::pair{&chosen.device_config, &changes.texts.device_config},
                                     std::pair{&chosen.scheduler_config, &changes.texts.scheduler_config}}) {
        if (!path->empty()) *text = or_end(vgpuformats::read_input(*path)).text;
    }
    return changes;
}

vgpuops::decisions::replay_answer replay(const replay_options& chosen) {
    read_stdin_once(chosen.inputs());
    const auto changes = read_changes(chosen);
    const auto log = or_end(vgpuformats::read_input(chosen.log, {.bytes_max = vgpuformats::list_bytes_max}));
    return or_end(vgpuops::decisions::replay_log(log.name, log.text, changes));
}

void run(const replay_options& chosen) {
    const auto answered = replay(chosen);
    const std::string text = answer_text(answered);
    const std::string json = answer_json(answered);
    if (!chosen.out.empty()) {
        const std::string entries = answered.what_if ? pods_jsonl(*answered.what_if) : differences_jsonl(answered);
        const std::string entries_name = answered.what_if ? "pods.jsonl" : "differences.jsonl";
        keep_inputs(chosen.out, {"replay.json", "replay.txt", entries_name}, chosen.inputs());
        or_end(vgpuformats::write_files(chosen.out, {{.name = "replay.json", .content = json},
                                                     {.name = "replay.txt", .content = text},
                                                     {.name = entries_name, .content = entries}}));
    }
    fmt::print("{}", chosen.json ? json : text);
    if (!answered.what_if && !answered.differences.empty()) throw command_end{exit_failed};
}

} // namespace

void add_replay(CLI::App& app) {
    auto chosen = std::make_shared<replay_options>();
    CLI::App* command = app.add_subcommand(
        "replay", "Run the decision log of a live scheduler again: does the core decide the same, or what would other "
                  "options have done");
    command
        ->add_option("--decisions", chosen->log,
                     "The log, JSON lines (docs/decision-log.md), compressed with gzip or not; - is standard input")
        ->type_name("LOG")
        ->required();
    add_filled(*command, "--policy", chosen->policy, "POLICY",
               "Instead of the log's policy (vgpusim policies). With this or one of the next four options, pods are "
               "placed by the new options; without them, decisions are compared with the log, and the exit code is "
               "1 if one differs");
    add_filled(*command, "--device-policy", chosen->device_policy, "POLICY",
               "Instead of the log's policy for devices of a node");
    add_filled(*command, "--catalog", chosen->catalog, "FILE", "Instead of the log's catalog file");
    add_filled(*command, "--device-config", chosen->device_config, "FILE", "Instead of the log's device configuration");
    add_filled(*command, "--scheduler-config", chosen->scheduler_config, "FILE",
               "Instead of the log's scheduler configuration, and with plugin vgpualloc in it of its policies");
    command->add_flag("--json", chosen->json, "As JSON, with all differences");
    add_filled(*command, "--out", chosen->out, "DIR",
               "Also write replay.json, replay.txt and differences.jsonl, or pods.jsonl, into this folder");
    command->callback([chosen] { run(*chosen); });
}

} // namespace vgpusim::cli
