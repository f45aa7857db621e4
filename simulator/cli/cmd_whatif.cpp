// vgpusim whatif: what would become of a cluster with other nodes, other pods, or another policy.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "seed_option.hpp"
#include "vgpuops/whatif/answer.hpp"

namespace vgpusim::cli {

namespace {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;

struct options {
    std::vector<std::string> cluster;
    dialect_files dialects;
    std::vector<std::string> add_nodes;
    std::vector<std::string> add_pods;
    std::vector<std::string> templates;
    std::vector<std::string> failed;
    std::vector<std::string> modes;
    vgpuops::whatif::question asked;
    std::string out;
    bool json = false;
};

error malformed(const std::string& option, const std::string& value, const std::string& expected_text) {
    return {.code = error_code::malformed, .where = option, .field = "", .value = value, .expected = expected_text};
}

/// The two sides of the last '=' of a text.
expected<std::pair<std::string, std::string>> sides_of(const std::string& option, const std::string& text,
                                                       const std::string& expected_text) {
    const auto equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
        return unexpected(malformed(option, text, expected_text));
    }
    return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

expected<void> read_changes(options& chosen) {
    auto& wanted = chosen.asked.wanted;
    std::int64_t nodes_added = 0;
    for (const std::string& text : chosen.add_nodes) {
        const auto sides = sides_of("--add-nodes", text, "KIND=N");
        if (!sides) return unexpected(sides.error());
        const std::string& digits = sides->second;
        vgpuops::whatif::node_addition entry{.kind = sides->first};
        const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), entry.nodes);
        const bool whole = parsed.ec == std::errc{} && parsed.ptr == digits.data() + digits.size();
        if (!whole || entry.nodes < 0 || entry.nodes > vgpuops::whatif::nodes_added_max - nodes_added) {
            return unexpected(
                malformed("--add-nodes", text,
                          fmt::format("KIND=N, with at most {} nodes in all", vgpuops::whatif::nodes_added_max)));
        }
        nodes_added += entry.nodes;
        wanted.added_nodes.push_back(std::move(entry));
    }
    for (const std::string& text : chosen.failed) {
        const auto slash = text.find('/');
        if (slash == 0 || (slash != std::string::npos && slash + 1 == text.size())) {
            return unexpected(malformed("--fail", text, "NODE or NODE/DEVICE"));
        }
        wanted.failed.push_back({.node = text.substr(0, slash),
                                 .device = slash == std::string::npos ? std::string{} : text.substr(slash + 1)});
    }
    for (const std::string& text : chosen.modes) {
        const auto sides = sides_of("--set-mode", text, "NODE=MODE");
        if (!sides) return unexpected(sides.error());
        wanted.modes.push_back({.node = sides->first, .mode = sides->second});
    }
    return {};
}

/// The objects of files that are to have pods. What of them cannot be read is an error here: it was written to be
/// tried.
expected<void> read_added_pods(options& chosen) {
    auto objects = load_objects(chosen.add_pods);
    if (!objects) return unexpected(objects.error());
    std::string kinds;
    bool has_pods = false;
    for (const auto& object : *objects) {
        kinds += (kinds.empty() ? "" : ", ") + object.kind;
        if (!object.problems.empty()) return unexpected(object.problems.front());
        has_pods = has_pods || object.pod.has_value();
    }
    if (!has_pods && !chosen.add_pods.empty()) {
        return unexpected(error{.code = error_code::missing,
                                .where = "--add-pods",
                                .field = "",
                                .value = kinds,
                                .expected = "a Pod, or an object with a template for pods that is read here"});
    }
    chosen.asked.wanted.added_pods = *std::move(objects);
    return {};
}

expected<vgpuops::whatif::answer> answer_for(options& chosen) {
    std::vector<named_input> inputs;
    add_inputs(inputs, "CLUSTER", chosen.cluster);
    add_inputs(inputs, chosen.dialects);
    add_inputs(inputs, "--add-pods", chosen.add_pods);
    add_inputs(inputs, "--node-template", chosen.templates);
    if (auto once = read_stdin_once(inputs); !once) return unexpected(once.error());
    if (auto read = read_changes(chosen); !read) return unexpected(read.error());
    auto catalog = load_catalog(chosen.dialects.catalog);
    if (!catalog) return unexpected(catalog.error());
    auto config = load_dialects(*catalog, chosen.dialects.config);
    if (!config) return unexpected(config.error());
    chosen.asked.catalog = *std::move(catalog);
    const auto objects = load_objects(chosen.cluster);
    if (!objects) return unexpected(objects.error());
    if (auto read = read_added_pods(chosen); !read) return unexpected(read.error());
    auto templates = load_objects(chosen.templates);
    if (!templates) return unexpected(templates.error());
    chosen.asked.templates = *std::move(templates);
    return vgpuops::whatif::answer_of(*objects, vgpualloc::dialect_set{*std::move(config)}, chosen.asked);
}

int run(options chosen) {
    const auto answered = answer_for(chosen);
    if (!answered) return report_error(answered.error());
    // Of a million pods each of the two is large, and JSON is a tree before it is a text.
    const bool writes = !chosen.out.empty();
    const std::string text = writes || !chosen.json ? vgpuops::whatif::answer_text(*answered) : std::string{};
    const std::string json = writes || chosen.json ? vgpuops::whatif::answer_json(*answered) : std::string{};
    if (writes) {
        std::vector<std::string> inputs = chosen.cluster;
        for (const auto* const list :
             {&chosen.add_pods, &chosen.templates, &chosen.dialects.config, &chosen.dialects.catalog}) {
            inputs.insert(inputs.end(), list->begin(), list->end());
        }
        const auto kept = vgpuformats::keep_inputs(chosen.out, {"whatif.json", "whatif.txt"}, inputs);
        if (!kept) return report_error(kept.error());
        const auto written = vgpuformats::write_files(
            chosen.out, {{.name = "whatif.json", .content = json}, {.name = "whatif.txt", .content = text}});
        if (!written) return report_write_failure(written.error());
    }
    const std::string_view shown = chosen.json ? json : text;
    constexpr std::size_t piece = std::size_t{1} << 20U; // print() makes a copy of what it is given
    for (std::size_t at = 0; at < shown.size(); at += piece) fmt::print("{}", shown.substr(at, piece));
    return exit_done;
}

void add_repeatable(CLI::App& command, const char* name, std::vector<std::string>& to, const char* type,
                    const char* words) {
    command.add_option(name, to, words)->type_name(type)->allow_extra_args(false);
}

} // namespace

void add_whatif(CLI::App& app, int& exit_code) {
    auto chosen = std::make_shared<options>();
    CLI::App* command = app.add_subcommand(
        "whatif", "Tell what would become of a cluster: other nodes, failures, drains, more pods, another policy");
    add_cluster(*command, chosen->cluster);
    auto& asked = chosen->asked;
    command->add_option("--policy", asked.policy, "Policy that ranks nodes and devices (vgpusim policies)")
        ->type_name("POLICY")
        ->capture_default_str();
    command
        ->add_option("--device-policy", asked.device_policy,
                     "Policy that ranks the devices of a node. Default: that of --policy")
        ->type_name("POLICY");
    asked.seed = default_seed;
    add_seed(*command, "For policies that draw", [chosen](std::uint64_t seed) {
        chosen->asked.seed = seed;
    })->default_str(std::to_string(default_seed));
    add_repeatable(*command, "--add-nodes", chosen->add_nodes, "KIND=N",
                   "Add N nodes like KIND, with nothing on them: a node of the cluster, a template, or devices of the "
                   "catalog as MODEL:MODE:DEVICES (A100-40GB:mig:8), :CPU_MILLI:MEMORY_MIB behind it if the host is "
                   "not to be as large as the cluster's largest; repeatable");
    add_repeatable(*command, "--node-template", chosen->templates, "FILE",
                   "Node objects that --add-nodes and --find-nodes may name, with their ConfigMaps; repeatable");
    add_repeatable(*command, "--drain", asked.wanted.drained, "NODE",
                   "Cordon a node and evict its pods, but for those of a DaemonSet; repeatable");
    add_repeatable(*command, "--fail", chosen->failed, "NODE[/DEVICE]",
                   "Lose a node, or one device of it by uuid or number, with the pods there; repeatable");
    add_repeatable(*command, "--set-mode", chosen->modes, "NODE=MODE",
                   "Give all devices of a node another mode (vgpusim modes), after evicting the pods that have some; "
                   "repeatable");
    add_repeatable(*command, "--add-pods", chosen->add_pods, "FILE",
                   "Add pods: manifests with their replicas; repeatable");
    command
        ->add_option("--find-nodes", asked.find_kind,
                     "Find the smallest number of nodes like KIND, as of --add-nodes, with which this policy's pass "
                     "places every pod, and list the pods that one node less leaves without a place")
        ->type_name("KIND");
    add_dialect_files(*command, chosen->dialects);
    command->add_flag("--json", chosen->json, "As JSON, with everything");
    command->add_option("--out", chosen->out, "Also write whatif.json and whatif.txt into this folder")
        ->type_name("DIR")
        ->check(filled());
    command->callback([chosen, &exit_code] { exit_code = run(*chosen); });
}

} // namespace vgpusim::cli
