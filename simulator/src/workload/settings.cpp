// The settings of a run: keys and their checks.
#include "vgpusim/workload/settings.hpp"

#include <algorithm>
#include <array>

#include "settings_keys.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/policy/dual_price.hpp"
#include "vgpusim/workload/seed.hpp"

namespace vgpusim {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;

namespace {

using namespace keys;

const std::array all_settings{
    text_key<&run_config::format>("format"),
    text_key<&run_config::nodes>("nodes", true),
    text_key<&run_config::pods>("pods", true),
    text_key<&run_config::classes>("classes", true),
    text_key<&run_config::queues>("queues", true),
    text_key<&run_config::config>("config", true),
    text_key<&run_config::scheduler_config>("scheduler_config", true),
    text_key<&run_config::catalog>("catalog", true),
    text_key<&run_config::events>("events", true),
    text_key<&run_config::failures>("failures", true),
    text_key<&run_config::autoscaler>("autoscaler", true),
    text_key<&run_config::policy>("policy"),
    text_key<&run_config::device_policy>("device_policy"),
    text_key<&run_config::mode>("mode"),
    run_setting{.name = "tune",
                .set = set_multiple<&run_config::tune>,
                .get = [](const run_config& c) { return decimal(c.tune); }},
    run_setting{.name = "offered_load",
                .set = set_multiple<&run_config::offered_load>,
                .get = [](const run_config& c) { return decimal(c.offered_load); }},
    run_setting{.name = "seed", .set = set_seed, .get = [](const run_config& c) { return std::to_string(c.seed); }},
    switch_key<&run_config::departures>("departures"),
    run_setting{.name = "mapping", .set = set_mapping, .get = [](const run_config& c) { return c.mapping; }},
    switch_key<&run_config::skip_bad_rows>("skip_bad_rows"),
    run_setting{.name = "discipline", .set = set_discipline, .get = [](const run_config& c) { return c.discipline; }},
    run_setting{
        .name = "after_failure", .set = set_after_failure, .get = [](const run_config& c) { return c.after_failure; }},
    run_setting{.name = "layout_change_s",
                .set = set_seconds<&run_config::layout_change_s>,
                .get = [](const run_config& c) { return std::to_string(c.layout_change_s); }},
    run_setting{.name = "defragment", .set = set_defragment, .get = [](const run_config& c) { return c.defragment; }},
    run_setting{.name = "defragment_every_s",
                .set = set_interval,
                .get = [](const run_config& c) { return std::to_string(c.defragment_every_s); }},
    run_setting{.name = "defragment_moves_max",
                .set = set_moves_max,
                .get = [](const run_config& c) { return std::to_string(c.defragment_moves_max); }},
    run_setting{.name = "defragment_share",
                .set = set_share,
                .get = [](const run_config& c) { return decimal(c.defragment_share); }},
    run_setting{.name = "move_downtime_s",
                .set = set_seconds<&run_config::move_downtime_s>,
                .get = [](const run_config& c) { return std::to_string(c.move_downtime_s); }},
    run_setting{.name = "move_copy_s_per_gib",
                .set = set_seconds<&run_config::move_copy_s_per_gib>,
                .get = [](const run_config& c) { return std::to_string(c.move_copy_s_per_gib); }},
    text_key<&run_config::prices>("prices", true),
    run_setting{
        .name = "price_demand", .set = set_price_demand, .get = [](const run_config& c) { return c.price_demand; }},
    run_setting{.name = "price_every",
                .set = set_arrivals<&run_config::price_every>,
                .get = [](const run_config& c) { return std::to_string(c.price_every); }},
    run_setting{.name = "price_window",
                .set = set_arrivals<&run_config::price_window>,
                .get = [](const run_config& c) { return std::to_string(c.price_window); }},
    run_setting{.name = "sample_interval_s",
                .set = set_seconds<&run_config::sample_interval_s>,
                .get = [](const run_config& c) { return std::to_string(c.sample_interval_s); }},
    switch_key<&run_config::trace>("trace"),
    text_key<&run_config::out>("out"),
};

} // namespace

const run_setting* find_setting(std::string_view name) {
    const auto setting = std::ranges::find(all_settings, name, &run_setting::name);
    return setting == all_settings.end() ? nullptr : &*setting;
}

error unknown_setting(std::string where, std::string_view name) {
    std::string known;
    for (const run_setting& other : all_settings) known += (known.empty() ? "" : ", ") + std::string{other.name};
    return {.code = error_code::unknown_name,
            .where = std::move(where),
            .field = "",
            .value = std::string{name},
            .expected = "one of the keys " + known};
}

error bad_setting(std::string_view key, std::string_view value, const char* expectation) {
    const bool absent = value.empty();
    return {.code = absent ? error_code::missing : error_code::malformed,
            .where = "",
            .field = std::string{key},
            .value = std::string{value},
            .expected = (absent ? "missing; expected " : "") + std::string{expectation}};
}

error unknown_discipline(std::string_view name) {
    std::string known;
    for (const std::string_view other : discipline_names) known += (known.empty() ? "" : ", ") + std::string{other};
    return {.code = error_code::unknown_name,
            .where = "",
            .field = "discipline",
            .value = std::string{name},
            .expected = "one of " + known};
}

std::optional<std::int64_t> parse_arrivals(std::string_view text) {
    std::int64_t arrivals = 0;
    if (!parse_whole(text, arrivals) || arrivals < 1 || arrivals > arrivals_max) return std::nullopt;
    return arrivals;
}

run_config with_settings(run_config config, const std::vector<std::pair<std::string, std::string>>& settings) {
    for (const auto& [key, value] : settings) {
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
    for (const run_setting& key : all_settings) {
        if (key.is_path) paths.emplace_back(key.name, key.get(config));
    }
    return paths;
}

std::vector<std::pair<std::string, std::string>> effective(const run_config& config) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const run_setting& key : all_settings) all.emplace_back(key.name, key.get(config));
    return all;
}

std::vector<std::pair<std::string, std::string>> shown_settings(const run_config& config) {
    auto all = effective(config);
    const bool moves = config.defragment != "never";
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
    const auto defaults = effective(run_config{});
    const auto settings = effective(config);
    for (std::size_t i = 0; i < settings.size(); ++i) {
        const auto& [key, value] = settings[i];
        if (!key.starts_with("price") || value == defaults[i].second) continue;
        return unexpected(error{.code = error_code::unsupported,
                                .where = "",
                                .field = key,
                                .value = value,
                                .expected = "no such setting: " + names + " has no use for it (dual_price has)"});
    }
    return {};
}

bool uses_prices(const run_config& config) {
    constexpr std::string_view with_prices = vgpualloc::policies::dual_price::id;
    return config.policy.find(with_prices) != std::string::npos ||
           config.device_policy.find(with_prices) != std::string::npos;
}

} // namespace vgpusim
