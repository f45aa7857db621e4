// The table of formats.
#include "vgpusim/study/formats.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lists.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpusim/discipline/all.hpp"
#include "vgpusim/study/run.hpp"
#include "vgpusim/workload/cluster_events.hpp"
#include "vgpusim/workload/kubernetes.hpp"
#include "vgpusim/workload/prices.hpp"

namespace vgpusim {

namespace {

constexpr std::array<std::string_view, 7> keys_openb_ignores{"classes",          "config", "mapping",   "queues",
                                                             "scheduler_config", "start",  "start_ends"};
constexpr std::array<std::string_view, 3> keys_kubernetes_ignores{"mapping", "mode", "skip_bad_rows"};
constexpr std::array<std::string_view, 9> keys_models_ignore{
    "classes", "departures", "mapping", "mode", "nodes", "skip_bad_rows", "start", "start_ends", "tune"};
/// A list of jobs says itself when they leave, and is replayed as it is.
constexpr std::array<std::string_view, 6> keys_jobs_ignore{"classes", "departures", "scheduler_config",
                                                           "start",   "start_ends", "tune"};

constexpr std::array formats{
    input_format{.name = "openb",
                 .summary = "node and pod lists of the Alibaba openb trace (cluster-trace-gpu-v2023), CSV",
                 .load = load_openb,
                 .keys_without_use = keys_openb_ignores},
    input_format{.name = "kubernetes",
                 .summary = "Node objects, manifests of pods and a table of arrivals (docs/workload.md)",
                 .load = load_kubernetes,
                 .keys_without_use = keys_kubernetes_ignores},
    input_format{.name = model_format,
                 .summary = "a model of a cluster and its workload, made in the process (docs/trace-model.md), JSON",
                 .load = load_model,
                 .keys_without_use = keys_models_ignore},
    input_format{.name = "philly",
                 .summary = "jobs of the Microsoft Philly trace, CSV",
                 .load = load_philly,
                 .keys_without_use = keys_jobs_ignore},
    input_format{.name = "dlrm",
                 .summary = "instances of the Alibaba DLRM trace (cluster-trace-gpu-v2025), CSV",
                 .load = load_dlrm,
                 .keys_without_use = keys_jobs_ignore},
    input_format{.name = "swf",
                 .summary = "jobs of a log in the Standard Workload Format",
                 .load = load_swf,
                 .keys_without_use = keys_jobs_ignore},
};

/// Refuses what is set and has no effect.
expected<void> check_keys(const run_config& config, const input_format& format) {
    for (const auto& [key, value] : changed_settings(config)) {
        if (std::ranges::find(format.keys_without_use, key) == format.keys_without_use.end()) continue;
        return unexpected(bad_value(error_code::unsupported, key, value,
                                    "no such setting: format " + std::string{format.name} + " has no use for it"));
    }
    return {};
}

} // namespace

void warn_left_out(std::int64_t rows, const std::string& reason, const std::string& name, loaded_input& loaded) {
    loaded.warnings.push_back(
        {.code = error_code::unsupported,
         .where = name,
         .field = "",
         .value = "",
         .expected = std::to_string(rows) + (rows == 1 ? " row is" : " rows are") + " left out: " + reason});
}

void tell_skipped(const vgputraces::skipped_rows& skipped, const std::string& name, loaded_input& loaded) {
    if (skipped.count > 0) {
        warn_left_out(skipped.count, "bad, the first of them " + skipped.first.front().message(), name, loaded);
    }
    loaded.skipped = skipped;
}

void warn_of_other_prices(const run_config& config, const std::optional<vgpualloc::learned_prices>& prices,
                          const vgpualloc::cluster& nodes, std::vector<error>& warnings) {
    if (!prices || prices->rests.devices.empty()) return;
    for (const auto& of_kind : prices->rests.devices) {
        if (std::ranges::any_of(nodes.kinds, [&of_kind](const auto& kind) { return of_kind.is_of(kind); })) return;
    }
    const auto& first = prices->rests.devices.front();
    warnings.push_back({.code = error_code::unsupported,
                        .where = config.prices,
                        .field = "devices",
                        .value = "model '" + first.model + "', mode " + first.mode + ", memory_mib " +
                                 std::to_string(first.memory.count()) + ", compute " +
                                 std::to_string(first.cores.count()),
                        .expected = "kinds of devices that the cluster has; these prices say nothing of its devices"});
}

std::span<const input_format> all_formats() { return formats; }

std::string format_names() { return vgpuformats::joined(formats, &input_format::name); }

expected<std::optional<vgpualloc::learned_prices>> load_prices(const run_config& config, input_reader& from) {
    if (config.prices.empty() || !find_setting("prices")->is_path(config.prices)) return std::nullopt;
    auto prices = from.read_text(config.prices, read_prices);
    if (!prices) return unexpected(std::move(prices).error());
    return *std::move(prices);
}

namespace {

/// Refuses an autoscaler beside a discipline that keeps nobody waiting.
expected<void> check_autoscaler(const run_config& config) {
    if (config.autoscaler.empty()) return {};
    const auto rules = find_discipline(config.discipline);
    if (!rules) return unexpected(rules.error());
    if ((*rules)->make()->keeps_waiting()) return {};
    return unexpected(bad_value(error_code::unsupported, "autoscaler", config.autoscaler,
                                "a discipline with a queue: under " + config.discipline + " nobody waits for a node"));
}

/// Adds what is read alike for every format.
expected<loaded_input> with_other_files(const run_config& config, input_reader& from, expected<loaded_input> loaded) {
    if (!loaded) return loaded;
    auto prices = load_prices(config, from);
    if (!prices) return unexpected(std::move(prices).error());
    loaded->prices = *std::move(prices);
    warn_of_other_prices(config, loaded->prices, loaded->input.nodes, loaded->warnings);
    if (auto checked = check_autoscaler(config); !checked) return unexpected(std::move(checked).error());
    if (auto added = load_cluster_events(config, from, loaded->input); !added) {
        return unexpected(std::move(added).error());
    }
    loaded->files = from.records();
    return loaded;
}

} // namespace

expected<loaded_input> load_input(const run_config& config, const vgpuformats::input_source& source,
                                  const stop_signal& stop) {
    return load_input(config, source, model_changes{}, stop);
}

expected<loaded_input> load_input(const run_config& config, const vgpuformats::input_source& source,
                                  const model_changes& changes, const stop_signal& stop) {
    const auto* const format = std::ranges::find(formats, config.format, &input_format::name);
    if (format == formats.end()) {
        return unexpected(bad_value(error_code::unknown_name, "format", config.format, "one of " + format_names()));
    }
    if (const auto checked = check_keys(config, *format); !checked) return unexpected(checked.error());
    input_reader from{source, records_kept::all, stop};
    return with_other_files(
        config, from, format->name == model_format ? load_model(config, changes, from) : format->load(config, from));
}

} // namespace vgpusim
