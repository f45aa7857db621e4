// The settings of a run: keys and their checks.
#include "vgpusim/workload/settings.hpp"

#include <algorithm>
#include <array>

#include "settings_keys.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/policy/dual_price.hpp"
#include "vgpusim/workload/seed.hpp"

namespace vgpusim {

namespace {

using namespace keys;

constexpr std::array settings{
    run_setting{.name = "format",
                .type = setting_type::choice,
                .values = "openb, kubernetes, model, philly, dlrm or swf",
                .help = "Format of the lists (vgpusim dialects)",
                .flag = "--format",
                .placeholder = "FORMAT",
                .set = set_text<&run_config::format>,
                .get = text_of<&run_config::format>},
    run_setting{.name = "nodes",
                .type = setting_type::input,
                .values = "name of an input",
                .help =
                    "Node list; - is standard input; a bare name that is not here is looked for in $VGPUALLOC_TRACES",
                .flag = "--nodes",
                .placeholder = "FILE",
                .set = set_text<&run_config::nodes>,
                .get = text_of<&run_config::nodes>},
    run_setting{.name = "pods",
                .type = setting_type::input,
                .values = "name of an input",
                .help = "Pod list, or table of arrivals (docs/workload.md), likewise",
                .flag = "--pods",
                .placeholder = "FILE",
                .set = set_text<&run_config::pods>,
                .get = text_of<&run_config::pods>},
    run_setting{.name = "classes",
                .type = setting_type::input,
                .values = "name of an input",
                .help = "With --format kubernetes: manifests of the classes of pods",
                .flag = "--classes",
                .placeholder = "FILE",
                .set = set_text<&run_config::classes>,
                .get = text_of<&run_config::classes>},
    run_setting{.name = "queues",
                .type = setting_type::input,
                .values = "name of an input",
                .help = "Queues and their quotas; for every format but openb",
                .flag = "--queues",
                .placeholder = "FILE",
                .set = set_text<&run_config::queues>,
                .get = text_of<&run_config::queues>},
    run_setting{.name = "config",
                .type = setting_type::input,
                .values = "name of an input",
                .help = "Device configuration, as explain takes it, for Kubernetes objects: nodes, classes, mappings",
                .flag = "--config",
                .placeholder = "FILE",
                .set = set_text<&run_config::config>,
                .get = text_of<&run_config::config>},
    run_setting{
        .name = "scheduler_config",
        .type = setting_type::input,
        .values = "name of an input",
        .help =
            "With --format kubernetes: Volcano's volcano-scheduler.conf, for compat:volcano and its exclusive rules",
        .flag = "--scheduler-config",
        .placeholder = "FILE",
        .set = set_text<&run_config::scheduler_config>,
        .get = text_of<&run_config::scheduler_config>},
    run_setting{.name = "catalog",
                .type = setting_type::input,
                .values = "name of an input",
                .help = "Catalog file: devices that are not built in, and what they draw (docs/catalog.md)",
                .flag = "--file",
                .placeholder = "FILE",
                .set = set_text<&run_config::catalog>,
                .get = text_of<&run_config::catalog>},
    run_setting{.name = "events",
                .type = setting_type::input,
                .values = "name of an input",
                .help = "What happens to nodes and devices: they fail, drain, leave, join",
                .flag = "--events",
                .placeholder = "FILE",
                .set = set_text<&run_config::events>,
                .get = text_of<&run_config::events>},
    run_setting{.name = "failures",
                .type = setting_type::input,
                .values = "name of an input",
                .help = "Model that draws failures of nodes and devices",
                .flag = "--failures",
                .placeholder = "FILE",
                .set = set_text<&run_config::failures>,
                .get = text_of<&run_config::failures>},
    run_setting{.name = "autoscaler",
                .type = setting_type::input,
                .values = "name of an input",
                .help = "Nodes that are added for pods that wait",
                .flag = "--autoscaler",
                .placeholder = "FILE",
                .set = set_text<&run_config::autoscaler>,
                .get = text_of<&run_config::autoscaler>},
    run_setting{.name = "policy",
                .type = setting_type::text,
                .values = "name of a policy",
                .help = "Policy (vgpusim policies), or weighted:NAME=WEIGHT,…",
                .flag = "",
                .placeholder = "POLICY",
                .set = set_text<&run_config::policy>,
                .get = text_of<&run_config::policy>},
    run_setting{.name = "device_policy",
                .type = setting_type::text,
                .values = "name of a policy, or empty",
                .help = "Policy for the choice of devices on a node; default: the same policy",
                .flag = "--device-policy",
                .placeholder = "POLICY",
                .set = set_text<&run_config::device_policy>,
                .get = text_of<&run_config::device_policy>},
    run_setting{.name = "mode",
                .type = setting_type::text,
                .values = "name of a mode",
                .help = "How every GPU is shared: exclusive, hami_core or mps",
                .flag = "--mode",
                .placeholder = "MODE",
                .set = set_text<&run_config::mode>,
                .get = text_of<&run_config::mode>},
    run_setting{.name = "tune",
                .type = setting_type::real,
                .values = "0 to 1000",
                .help = "Copy or drop pods until they ask for this multiple of all GPUs, 0 = leave as is; where pods "
                        "leave this is no load, see --offered-load",
                .flag = "--tune",
                .placeholder = "NUMBER",
                .set = set_multiple<&run_config::tune>,
                .get = real_of<&run_config::tune>},
    run_setting{.name = "offered_load",
                .type = setting_type::real,
                .values = "0 to 1000",
                .help = "With --departures: move the arrivals apart or together until arrival rate x duration x GPUs "
                        "asked for is this multiple of all GPUs, 0 = leave as is",
                .flag = "--offered-load",
                .placeholder = "NUMBER",
                .set = set_multiple<&run_config::offered_load>,
                .get = real_of<&run_config::offered_load>},
    run_setting{.name = "seed",
                .type = setting_type::whole,
                .values = "−2^63 to 2^64 − 1; a negative number stands for itself plus 2^64",
                .help = "Of the shuffle, the tuning, the node order and policies that draw",
                .flag = "--seed",
                .placeholder = "INTEGER",
                .set = set_seed,
                .get = whole_of<&run_config::seed>},
    run_setting{.name = "departures",
                .type = setting_type::truth,
                .values = "true or false",
                .help = "Use the trace's creation and deletion times",
                .flag = "--departures",
                .placeholder = "",
                .set = set_truth<&run_config::departures>,
                .get = truth_of<&run_config::departures>},
    run_setting{.name = "mapping",
                .type = setting_type::rules,
                .values = "JSON list of rules",
                .help = "Rules for what jobs of a trace ask for (docs/traces.md)",
                .flag = "",
                .placeholder = "",
                .set = set_mapping,
                .get = text_of<&run_config::mapping>},
    run_setting{.name = "skip_bad_rows",
                .type = setting_type::truth,
                .values = "true or false",
                .help = "Count and list rows of the pod list that cannot be read, instead of ending there",
                .flag = "--skip-bad-rows",
                .placeholder = "",
                .set = set_truth<&run_config::skip_bad_rows>,
                .get = truth_of<&run_config::skip_bad_rows>},
    run_setting{.name = "discipline",
                .type = setting_type::choice,
                .values = "try_once, fifo, easy, conservative, priority, gang, priority+fifo or priority+easy",
                .help = "When waiting pods are tried: try_once, fifo, easy, conservative, priority, gang, "
                        "priority+fifo, priority+easy (docs/queues.md)",
                .flag = "--discipline",
                .placeholder = "NAME",
                .set = set_discipline,
                .get = text_of<&run_config::discipline>},
    run_setting{.name = "after_failure",
                .type = setting_type::choice,
                .values = "requeue or lose",
                .help = "What becomes of a job that a failure stops",
                .flag = "",
                .placeholder = "",
                .set = set_choice<&run_config::after_failure, after_failure_words>,
                .get = choice_of<&run_config::after_failure, after_failure_words>},
    run_setting{.name = "layout_change_s",
                .type = setting_type::whole,
                .values = "0 to 10^9",
                .help = "Seconds that making a MIG instance takes",
                .flag = "",
                .placeholder = "",
                .set = set_seconds<&run_config::layout_change_s>,
                .get = whole_of<&run_config::layout_change_s>},
    run_setting{.name = "defragment",
                .type = setting_type::choice,
                .values = "never, on_loss or periodic",
                .help = "When pods are moved (docs/queues.md)",
                .flag = "",
                .placeholder = "",
                .set = set_choice<&run_config::defragment, defragment_words>,
                .get = choice_of<&run_config::defragment, defragment_words>},
    run_setting{.name = "defragment_every_s",
                .type = setting_type::whole,
                .values = "1 to 10^9",
                .help = "Seconds from one periodic round of moves to the next",
                .flag = "",
                .placeholder = "",
                .set = set_interval,
                .get = whole_of<&run_config::defragment_every_s>},
    run_setting{.name = "defragment_moves_max",
                .type = setting_type::whole,
                .values = "1 to 16",
                .help = "Moves for one pod that would be lost",
                .flag = "",
                .placeholder = "",
                .set = set_moves_max,
                .get = whole_of<&run_config::defragment_moves_max>},
    run_setting{.name = "defragment_share",
                .type = setting_type::real,
                .values = "0 to 1",
                .help = "Moves that every pod that starts allows",
                .flag = "",
                .placeholder = "",
                .set = set_share,
                .get = real_of<&run_config::defragment_share>},
    run_setting{.name = "move_downtime_s",
                .type = setting_type::whole,
                .values = "0 to 10^9",
                .help = "Seconds that a pod stands still when it is moved",
                .flag = "",
                .placeholder = "",
                .set = set_seconds<&run_config::move_downtime_s>,
                .get = whole_of<&run_config::move_downtime_s>},
    run_setting{.name = "move_copy_s_per_gib",
                .type = setting_type::whole,
                .values = "0 to 10^9",
                .help = "Seconds to copy a GiB of device memory, during which a pod has both places",
                .flag = "",
                .placeholder = "",
                .set = set_seconds<&run_config::move_copy_s_per_gib>,
                .get = whole_of<&run_config::move_copy_s_per_gib>},
    run_setting{.name = "prices",
                .type = setting_type::input,
                .values = "name of an input",
                .help = "Prices for dual_price: prices.json of an earlier run; default: solved from the pod list "
                        "(docs/price-policy.md)",
                .flag = "--prices",
                .placeholder = "FILE",
                .set = set_text<&run_config::prices>,
                .get = text_of<&run_config::prices>},
    run_setting{.name = "price_demand",
                .type = setting_type::choice,
                .values = "known or learned",
                .help = "What prices of dual_price are solved from: the pod list, or the arrivals of the run",
                .flag = "",
                .placeholder = "",
                .set = set_choice<&run_config::price_demand, price_demand_words>,
                .get = choice_of<&run_config::price_demand, price_demand_words>},
    run_setting{.name = "price_every",
                .type = setting_type::whole,
                .values = "1 to 10^7",
                .help = "Arrivals from one solution of learned prices to the next",
                .flag = "",
                .placeholder = "",
                .set = set_arrivals<&run_config::price_every>,
                .get = whole_of<&run_config::price_every>},
    run_setting{.name = "price_window",
                .type = setting_type::whole,
                .values = "1 to 10^7",
                .help = "Arrivals in which the weight of one falls to 1/e, where prices are learned",
                .flag = "",
                .placeholder = "",
                .set = set_arrivals<&run_config::price_window>,
                .get = whole_of<&run_config::price_window>},
    run_setting{.name = "sample_interval_s",
                .type = setting_type::whole,
                .values = "0 to 10^9",
                .help = "Seconds between rows of timeseries.csv; 0 = every event",
                .flag = "--sample-interval-s",
                .placeholder = "SECONDS",
                .set = set_seconds<&run_config::sample_interval_s>,
                .get = whole_of<&run_config::sample_interval_s>},
    run_setting{.name = "trace",
                .type = setting_type::truth,
                .values = "true or false",
                .help = "Also write trace.json, which Perfetto (https://ui.perfetto.dev) opens",
                .flag = "--trace",
                .placeholder = "",
                .set = set_truth<&run_config::trace>,
                .get = truth_of<&run_config::trace>},
    run_setting{.name = "out",
                .type = setting_type::text,
                .values = "name of a folder",
                .help = "Folder for the output files; those of an earlier run are replaced",
                .flag = "--out",
                .placeholder = "FOLDER",
                .set = set_text<&run_config::out>,
                .get = text_of<&run_config::out>},
};

} // namespace

std::string_view to_string(setting_type type) noexcept {
    constexpr std::array<std::string_view, 7> words{"text",        "input",         "choice", "whole number",
                                                    "real number", "true or false", "rules"};
    return words[static_cast<std::size_t>(type)];
}

std::span<const run_setting> all_settings() { return settings; }

const run_setting* find_setting(std::string_view name) {
    const auto setting = std::ranges::find(settings, name, &run_setting::name);
    return setting == settings.end() ? nullptr : &*setting;
}

error unknown_setting(std::string where, std::string_view name) {
    std::string known;
    for (const run_setting& other : settings) known += (known.empty() ? "" : ", ") + std::string{other.name};
    return bad_value(error_code::unknown_name, "", name, "one of the keys " + known).at(std::move(where));
}

error bad_setting(std::string_view key, std::string_view value, const char* expectation) {
    if (value.empty()) return bad_input(error_code::missing, key, "missing", expectation);
    return bad_value(error_code::malformed, key, value, expectation);
}

error unknown_discipline(std::string_view name) {
    std::string known;
    for (const std::string_view other : discipline_names) known += (known.empty() ? "" : ", ") + std::string{other};
    return bad_value(error_code::unknown_name, "discipline", name, "one of " + known);
}

std::optional<std::int64_t> parse_arrivals(std::string_view text) {
    std::int64_t arrivals = 0;
    if (!parse_whole(text, arrivals) || arrivals < 1 || arrivals > arrivals_max) return std::nullopt;
    return arrivals;
}

run_config with_settings(run_config config, const std::vector<std::pair<std::string, std::string>>& changes) {
    for (const auto& [key, value] : changes) {
        const auto taken = find_setting(key)->set(config, key, value);
        VGA_ASSERT(taken.has_value(), "settings of scenarios are checked when they are read");
    }
    return config;
}

expected<void> set_key(run_config& config, std::string_view key, std::string_view value) {
    const run_setting* known = find_setting(key);
    if (known == nullptr) return unexpected(unknown_setting("", key));
    return known->set(config, key, value);
}

std::vector<std::pair<std::string, std::string>> paths_of(const run_config& config) {
    std::vector<std::pair<std::string, std::string>> paths;
    for (const run_setting& key : settings) {
        if (key.is_path()) paths.emplace_back(key.name, key.get(config));
    }
    return paths;
}

std::vector<std::pair<std::string, std::string>> effective(const run_config& config) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const run_setting& key : settings) all.emplace_back(key.name, key.get(config));
    return all;
}

std::vector<std::pair<std::string, std::string>> changed_settings(const run_config& config) {
    const run_config defaults;
    auto changed = effective(config);
    std::erase_if(changed,
                  [&](const auto& setting) { return setting.second == find_setting(setting.first)->get(defaults); });
    return changed;
}

std::vector<std::pair<std::string, std::string>> shown_settings(const run_config& config) {
    auto all = effective(config);
    const bool moves = config.defragment != defragment::never;
    const bool prices = uses_prices(config);
    std::erase_if(all, [&](const auto& setting) {
        const std::string& key = setting.first;
        return (!moves && (key.starts_with("defragment") || key.starts_with("move_"))) ||
               (!prices && key.starts_with("price"));
    });
    return all;
}

expected<void> check_prices(const run_config& config, const std::vector<std::string>& policies) {
    std::string names;
    for (const std::string& policy : policies) {
        run_config under = config;
        under.policy = policy;
        if (uses_prices(under)) return {};
        names += (names.empty() ? "" : ", ") + policy;
    }
    for (const auto& [key, value] : changed_settings(config)) {
        if (!key.starts_with("price")) continue;
        return unexpected(bad_value(error_code::unsupported, key, value,
                                    "no such setting: " + names + " has no use for it (dual_price has)"));
    }
    return {};
}

bool uses_prices(const run_config& config) {
    constexpr std::string_view with_prices = vgpualloc::policies::dual_price::id;
    return config.policy.find(with_prices) != std::string::npos ||
           config.device_policy.find(with_prices) != std::string::npos;
}

} // namespace vgpusim
