// The settings of a run: keys and their checks.
#include "vgpusim/workload/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "settings_keys.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/policy/bid_price.hpp"
#include "vgpualloc/policy/dual_price.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpusim/workload/seed.hpp"

namespace vgpusim {

namespace {

constexpr auto table_of_settings() {
    using namespace keys;
    return std::array{
        run_setting{.name = "format",
                    .type = setting_type::choice,
                    .values = "openb, kubernetes, model, philly, dlrm or swf",
                    .help = "Format of the lists (vgpusim dialects)",
                    .flag = "--format",
                    .placeholder = "FORMAT",
                    .set = set_text<&run_config::format>,
                    .get = text_of<&run_config::format>},
        input<&run_config::nodes>(
            "nodes", "--nodes",
            "Node list; - is standard input; a bare name that is not here is looked for in $VGPUALLOC_TRACES"),
        input<&run_config::pods>("pods", "--pods", "Pod list, or table of arrivals (docs/workload.md), likewise"),
        input<&run_config::classes>("classes", "--classes",
                                    "With --format kubernetes: manifests of the classes of pods"),
        input<&run_config::start>("start", "--start",
                                  "With --format kubernetes, in place of --nodes: a cluster with its pods, with which "
                                  "the run begins (docs/workload.md)"),
        input<&run_config::start_ends>(
            "start_ends", "--start-ends",
            "When pods end that run there: drawn (from the rows of their class, the default), stay, or a table of pod "
            "and end",
            ends_words),
        input<&run_config::queues>("queues", "--queues", "Queues and their quotas; for every format but openb"),
        input<&run_config::config>(
            "config", "--config",
            "Device configuration, as explain takes it, for Kubernetes objects: nodes, classes, mappings"),
        input<&run_config::scheduler_config>(
            "scheduler_config", "--scheduler-config",
            "With --format kubernetes: Volcano's volcano-scheduler.conf, for compat:volcano and its exclusive rules"),
        input<&run_config::catalog>(
            "catalog", "--file", "Catalog file: devices that are not built in, and what they draw (docs/catalog.md)"),
        input<&run_config::events>("events", "--events",
                                   "What happens to nodes and devices: they fail, drain, leave, join"),
        input<&run_config::failures>("failures", "--failures", "Model that draws failures of nodes and devices"),
        input<&run_config::autoscaler>("autoscaler", "--autoscaler", "Nodes that are added for pods that wait"),
        text<&run_config::policy>("policy", "", "name of a policy", "POLICY",
                                  "Policy (vgpusim policies), or weighted:NAME=WEIGHT,…"),
        text<&run_config::device_policy>("device_policy", "--device-policy", "name of a policy, or empty", "POLICY",
                                         "Policy for the choice of devices on a node; default: the same policy"),
        text<&run_config::mode>("mode", "--mode", "name of a mode", "MODE",
                                "How every GPU is shared: exclusive, hami_core or mps"),
        number<&run_config::tune, multiple>(
            "tune", "--tune",
            "Copy or drop pods until they ask for this multiple of all GPUs, 0 = leave as is; where pods "
            "leave this is no load, see --offered-load"),
        number<&run_config::offered_load, multiple>(
            "offered_load", "--offered-load",
            "With --departures: move the arrivals apart or together until arrival rate x duration x GPUs "
            "requested is this multiple of all GPUs, 0 = leave as is"),
        run_setting{.name = "seed",
                    .type = setting_type::whole,
                    .values = "−2^63 to 2^64 − 1; a negative number stands for itself plus 2^64",
                    .help = "Random seed of the shuffle, the tuning, the node order and randomised policies",
                    .flag = "--seed",
                    .placeholder = "INTEGER",
                    .set = set_seed,
                    .get = number_of<&run_config::seed>},
        truth<&run_config::departures>("departures", "--departures", "Use the trace's creation and deletion times"),
        run_setting{.name = "mapping",
                    .type = setting_type::rules,
                    .values = "JSON list of rules",
                    .help = "Rules for what jobs of a trace ask for (docs/traces.md)",
                    .flag = "",
                    .placeholder = "",
                    .set = set_mapping,
                    .get = text_of<&run_config::mapping>},
        truth<&run_config::skip_bad_rows>(
            "skip_bad_rows", "--skip-bad-rows",
            "Count and list rows of the pod list that cannot be read, instead of ending there"),
        run_setting{.name = "discipline",
                    .type = setting_type::choice,
                    .values = "try_once, fifo, easy, conservative, priority, gang, priority+fifo or priority+easy",
                    .help = "When waiting pods are tried: try_once, fifo, easy, conservative, priority, gang, "
                            "priority+fifo, priority+easy (docs/queues.md)",
                    .flag = "--discipline",
                    .placeholder = "NAME",
                    .set = set_discipline,
                    .get = text_of<&run_config::discipline>},
        choice<&run_config::after_failure, after_failure_words>("after_failure", "requeue or lose",
                                                                "What happens to a job that a failure stops"),
        number<&run_config::layout_change_s, seconds>("layout_change_s", "",
                                                      "Seconds that making a MIG instance takes"),
        choice<&run_config::defragment, defragment_words>("defragment", "never, on_loss or periodic",
                                                          "When pods are moved (docs/queues.md)"),
        number<&run_config::defragment_every_s, interval>("defragment_every_s", "",
                                                          "Seconds from one periodic round of moves to the next"),
        number<&run_config::defragment_moves_max, moves>("defragment_moves_max", "",
                                                         "Moves for one pod that would be lost"),
        number<&run_config::defragment_share, share>("defragment_share", "", "Moves that every pod that starts allows"),
        number<&run_config::move_downtime_s, seconds>("move_downtime_s", "",
                                                      "Seconds for which a moved pod does not run"),
        number<&run_config::move_copy_s_per_gib, seconds>(
            "move_copy_s_per_gib", "", "Seconds to copy a GiB of device memory, during which a pod has both places"),
        input<&run_config::prices>(
            "prices", "--prices",
            "Prices for bid_price and dual_price: online (learned of the arrivals, the default of bid_price), lp "
            "(solved "
            "from the pod list, the default of dual_price), or prices.json of an earlier run (docs/price-policy.md)",
            prices_words),
        choice<&run_config::price_demand, price_demand_words>(
            "price_demand", "known or learned",
            "What prices are solved from: the pod list, or the arrivals of the run"),
        number<&run_config::price_every, arrivals>("price_every", "",
                                                   "Arrivals from one solution of learned prices to the next"),
        number<&run_config::price_window, arrivals>(
            "price_window", "", "Arrivals in which the weight of one falls to 1/e, where prices are learned"),
        number<&run_config::sample_interval_s, seconds>("sample_interval_s", "--sample-interval-s",
                                                        "Seconds between rows of timeseries.csv; 0 = every event"),
        truth<&run_config::trace>("trace", "--trace",
                                  "Also write trace.json, which Perfetto (https://ui.perfetto.dev) opens"),
        text<&run_config::out>("out", "--out", "name of a folder", "FOLDER",
                               "Folder for the output files; those of an earlier run are replaced"),
    };
}

constexpr auto settings = table_of_settings();

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
    const std::string known = vgpuformats::joined(settings, &run_setting::name);
    return bad_value(error_code::unknown_name, "", name, "one of the keys " + known).at(std::move(where));
}

error bad_setting(std::string_view key, std::string_view value, const char* expectation) {
    if (value.empty()) return bad_input(error_code::missing, key, "missing", expectation);
    return bad_value(error_code::malformed, key, value, expectation);
}

error bad_number(std::string_view key, std::string_view value, const char* expectation, bool is_whole) {
    error failure = bad_setting(key, value, expectation);
    double number = 0.0;
    const auto [end, parsed] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool is_number = parsed != std::errc::invalid_argument && end == value.data() + value.size() &&
                           !std::isnan(number) && !(is_whole && value.find_first_not_of("-0123456789") < value.size());
    if (is_number) failure.code = error_code::out_of_range;
    return failure;
}

error unknown_discipline(std::string_view name) {
    return bad_value(error_code::unknown_name, "discipline", name, "one of " + vgpuformats::joined(discipline_names));
}

std::optional<std::int64_t> parse_arrivals(std::string_view text) { return keys::parse_in(keys::arrivals, text); }

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
        if (key.is_path(key.get(config))) paths.emplace_back(key.name, key.get(config));
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
        return (config.start.empty() && key.starts_with("start")) ||
               (!moves && (key.starts_with("defragment") || key.starts_with("move_"))) ||
               (!prices && key.starts_with("price"));
    });
    for (auto& [key, value] : all) {
        if (key == "prices") value = prices_from(config);
    }
    return all;
}

namespace {

bool names(const run_config& config, std::string_view policy) {
    return config.policy.find(policy) != std::string::npos || config.device_policy.find(policy) != std::string::npos;
}

} // namespace

expected<void> check_prices(const run_config& config, const std::vector<std::string>& policies) {
    bool uses_any = false;
    bool solves_any = false;
    for (const std::string& policy : policies) {
        run_config under = config;
        under.policy = policy;
        if (!uses_prices(under)) continue;
        uses_any = true;
        if (config.prices == prices_online && names(under, vgpualloc::policies::dual_price::id)) {
            return unexpected(bad_value(error_code::unsupported, "prices", config.prices,
                                        "lp or a prices.json for dual_price: bid_price alone learns its prices"));
        }
        if (prices_from(under) != prices_online) solves_any = true;
    }
    for (const auto& [key, value] : changed_settings(config)) {
        if (!key.starts_with("price")) continue;
        if (!uses_any) {
            return unexpected(bad_value(error_code::unsupported, key, value,
                                        "no such setting: " + vgpuformats::joined(policies) +
                                            " has no use for it (bid_price and dual_price have)"));
        }
        if (!solves_any && key.starts_with("price_")) {
            return unexpected(bad_value(error_code::unsupported, key, value,
                                        "no such setting, or prices=lp beside it: it says how prices are solved"));
        }
    }
    return {};
}

bool uses_prices(const run_config& config) {
    return names(config, vgpualloc::policies::dual_price::id) || names(config, vgpualloc::policies::bid_price::id);
}

std::string prices_from(const run_config& config) {
    if (!config.prices.empty()) return config.prices;
    const bool learns = !names(config, vgpualloc::policies::dual_price::id);
    return std::string{learns ? prices_online : prices_solved};
}

} // namespace vgpusim
