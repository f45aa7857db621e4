// Configuration of a run: keys, scenario files, their checks.
#include "vgpusim/study/config.hpp"

#include <array>
#include <filesystem>
#include <system_error>

#include "config_keys.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/policy/dual_price.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuformats/json.hpp"
#include "vgpusim/discipline/all.hpp"
#include "vgpusim/study/seed.hpp"
#include "vgputraces/locate.hpp"

namespace vgpusim {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;

namespace {

using namespace keys;

const std::array config_keys{
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
    config_key{.name = "tune",
               .set = set_multiple<&run_config::tune>,
               .get = [](const run_config& c) { return decimal(c.tune); }},
    config_key{.name = "offered_load",
               .set = set_multiple<&run_config::offered_load>,
               .get = [](const run_config& c) { return decimal(c.offered_load); }},
    config_key{.name = "seed", .set = set_seed, .get = [](const run_config& c) { return std::to_string(c.seed); }},
    switch_key<&run_config::departures>("departures"),
    config_key{.name = "mapping", .set = set_mapping, .get = [](const run_config& c) { return c.mapping; }},
    switch_key<&run_config::skip_bad_rows>("skip_bad_rows"),
    config_key{.name = "discipline", .set = set_discipline, .get = [](const run_config& c) { return c.discipline; }},
    config_key{
        .name = "after_failure", .set = set_after_failure, .get = [](const run_config& c) { return c.after_failure; }},
    config_key{.name = "layout_change_s",
               .set = set_seconds<&run_config::layout_change_s>,
               .get = [](const run_config& c) { return std::to_string(c.layout_change_s); }},
    config_key{.name = "defragment", .set = set_defragment, .get = [](const run_config& c) { return c.defragment; }},
    config_key{.name = "defragment_every_s",
               .set = set_interval,
               .get = [](const run_config& c) { return std::to_string(c.defragment_every_s); }},
    config_key{.name = "defragment_moves_max",
               .set = set_moves_max,
               .get = [](const run_config& c) { return std::to_string(c.defragment_moves_max); }},
    config_key{.name = "defragment_share",
               .set = set_share,
               .get = [](const run_config& c) { return decimal(c.defragment_share); }},
    config_key{.name = "move_downtime_s",
               .set = set_seconds<&run_config::move_downtime_s>,
               .get = [](const run_config& c) { return std::to_string(c.move_downtime_s); }},
    config_key{.name = "move_copy_s_per_gib",
               .set = set_seconds<&run_config::move_copy_s_per_gib>,
               .get = [](const run_config& c) { return std::to_string(c.move_copy_s_per_gib); }},
    text_key<&run_config::prices>("prices", true),
    config_key{
        .name = "price_demand", .set = set_price_demand, .get = [](const run_config& c) { return c.price_demand; }},
    config_key{.name = "price_every",
               .set = set_arrivals<&run_config::price_every>,
               .get = [](const run_config& c) { return std::to_string(c.price_every); }},
    config_key{.name = "price_window",
               .set = set_arrivals<&run_config::price_window>,
               .get = [](const run_config& c) { return std::to_string(c.price_window); }},
    config_key{.name = "sample_interval_s",
               .set = set_seconds<&run_config::sample_interval_s>,
               .get = [](const run_config& c) { return std::to_string(c.sample_interval_s); }},
    switch_key<&run_config::trace>("trace"),
    text_key<&run_config::out>("out"),
};

const config_key* find_key(std::string_view name) {
    for (const config_key& candidate : config_keys) {
        if (candidate.name == name) return &candidate;
    }
    return nullptr;
}

error unknown_key(std::string where, std::string_view key) {
    std::string known;
    for (const config_key& candidate : config_keys) known += (known.empty() ? "" : ", ") + std::string{candidate.name};
    return {.code = error_code::unknown_name,
            .where = std::move(where),
            .field = "",
            .value = std::string{key},
            .expected = "one of the keys " + known};
}

std::string from_folder_of(const std::string& scenario, const std::string& path) {
    const std::filesystem::path relative{path};
    if (relative.empty() || relative.is_absolute() || path == vgpuformats::standard_input) return path;
    const auto beside = (std::filesystem::path{scenario}.parent_path() / relative).lexically_normal();
    std::error_code absent;
    if (std::filesystem::exists(beside, absent)) return beside.string();
    const std::string listed = vgputraces::find_trace(path);
    return listed.empty() ? beside.string() : listed;
}

/// The rules of a mapping, whose manifests are sought from the scenario's folder.
vgpuformats::document with_paths_from(const std::string& scenario, vgpuformats::document rules) {
    for (vgpuformats::document& rule : rules.items) {
        for (auto& [key, value] : rule.members) {
            if (key == "request" && value.is_text()) value.text = from_folder_of(scenario, value.text);
        }
    }
    return rules;
}

expected<void> take_member(run_config& config, const std::string& path, const std::string& key,
                           const vgpuformats::document& value) {
    const std::string where = path + ":" + std::to_string(value.place.line);
    const config_key* entry = find_key(key);
    if (entry == nullptr) return unexpected(unknown_key(where, key));
    if (key == "mapping" && value.is_list()) {
        auto taken = entry->set(config, key, vgpuformats::print_json(with_paths_from(path, value)));
        if (!taken) taken.error().where = where;
        return taken;
    }
    if (value.is_null() || value.is_list() || value.is_map()) {
        error failure = bad_value(key, vgpuformats::print_json(value), "a string, a number, true or false");
        failure.where = where;
        return unexpected(std::move(failure));
    }
    const std::string text = entry->is_path ? from_folder_of(path, value.text) : value.text;
    if (auto taken = entry->set(config, key, text); !taken) {
        taken.error().where = where;
        return taken;
    }
    return {};
}

/// The members of a baseline, set on `config` to see whether they are right. What it lacks is the run's.
expected<void> take_baseline(scenario& study, const std::string& path, const vgpuformats::document& value) {
    const std::string where = path + ":" + std::to_string(value.place.line);
    if (!value.is_map() || value.members.empty()) {
        return unexpected(error{.code = error_code::malformed,
                                .where = where,
                                .field = "baseline",
                                .value = vgpuformats::print_json(value),
                                .expected = "an object of the keys in which the baseline differs"});
    }
    for (const auto& [key, setting] : value.members) {
        if (key == "out") {
            return unexpected(error{.code = error_code::unsupported,
                                    .where = path + ":" + std::to_string(setting.place.line),
                                    .field = "baseline.out",
                                    .value = setting.text,
                                    .expected = "no folder of its own: it goes to 'baseline' in that of the run"});
        }
        run_config taken;
        if (auto read = take_member(taken, path, key, setting); !read) return read;
        study.baseline.emplace_back(key, find_key(key)->get(taken));
    }
    return {};
}

expected<std::vector<std::string>> texts_of(const std::string& path, const std::string& field,
                                            const vgpuformats::document& list) {
    const auto not_texts = [&](const vgpuformats::document& value) {
        error failure = bad_value(field, vgpuformats::print_json(value), "a list of texts");
        failure.where = path + ":" + std::to_string(value.place.line);
        return unexpected(std::move(failure));
    };
    if (!list.is_list()) return not_texts(list);
    std::vector<std::string> texts;
    for (const vgpuformats::document& item : list.items) {
        if (!item.is_text()) return not_texts(item);
        texts.push_back(item.text);
    }
    return texts;
}

/// What a document that is no good should have been, with its place.
error not_as_expected(const std::string& path, const std::string& field, const vgpuformats::document& value,
                      const char* expectation) {
    error failure = bad_value(field, vgpuformats::print_json(value), expectation);
    failure.where = path + ":" + std::to_string(value.place.line);
    return failure;
}

/// A name of a policy, or an object of name, policy and what is set in its runs.
expected<studied_policy> read_policy(const std::string& path, const vgpuformats::document& value) {
    if (value.is_text()) return studied_policy{.name = value.text, .policy = value.text};
    const auto fail = [&](const vgpuformats::document& at, const char* field, const char* expectation) {
        return unexpected(not_as_expected(path, field, at, expectation));
    };
    if (!value.is_map()) return fail(value, "study.policies", "a name, or an object of name, policy and set");
    studied_policy result;
    for (const auto& [key, setting] : value.members) {
        const bool is_text = key == "name" || key == "policy" || key == "mig_dialect";
        if (is_text && !setting.is_text()) return fail(setting, "study.policies", "a text");
        if (key == "name") {
            result.name = setting.text;
        } else if (key == "policy") {
            result.policy = setting.text;
        } else if (key == "mig_dialect") {
            result.mig_dialect = setting.text;
        } else if (key == "set" && setting.is_map()) {
            for (const auto& [name, text] : setting.members) {
                run_config taken;
                if (auto read = take_member(taken, path, name, text); !read) return unexpected(read.error());
                result.settings.emplace_back(name, find_key(name)->get(taken));
            }
        } else {
            return fail(setting, "study.policies", "the keys name, policy and mig_dialect, texts, and set, an object");
        }
    }
    if (result.policy.empty()) return fail(value, "study.policies", "an object with a policy");
    if (result.name.empty()) result.name = result.policy;
    return result;
}

expected<std::vector<double>> read_loads(const std::string& path, const vgpuformats::document& list) {
    std::vector<double> loads;
    for (const vgpuformats::document& item : list.items) {
        run_config taken;
        if (item.is_text() || item.is_list() || item.is_map() ||
            !set_multiple<&run_config::offered_load>(taken, "offered_load", item.text) || taken.offered_load <= 0.0) {
            return unexpected(not_as_expected(path, "study.loads", item, "a list of numbers above 0, up to 1000"));
        }
        loads.push_back(taken.offered_load);
    }
    if (loads.empty()) return unexpected(not_as_expected(path, "study.loads", list, "a list of numbers"));
    return loads;
}

/// What of policies, lists and seeds a scenario leaves open, flags have to say.
expected<void> take_study(scenario& read, const std::string& path, const vgpuformats::document& value) {
    read.study.emplace();
    const auto fail = [&](const vgpuformats::document& at, const char* field, std::string text,
                          const char* expectation) {
        error failure = bad_value(field, text, expectation);
        failure.where = path + ":" + std::to_string(at.place.line);
        return unexpected(std::move(failure));
    };
    if (!value.is_map()) {
        return fail(value, "study", vgpuformats::print_json(value), "an object of policies, pods and seeds");
    }
    study_lists& study = *read.study;
    for (const auto& [key, setting] : value.members) {
        if (key == "seeds") {
            const auto seeds = setting.is_text() ? parse_seed_range(setting.text) : std::nullopt;
            if (!seeds) return fail(setting, "study.seeds", vgpuformats::print_json(setting), seeds_expected);
            study.seeds = *seeds;
        } else if (key == "policies") {
            if (!setting.is_list()) return unexpected(not_as_expected(path, "study.policies", setting, "a list"));
            for (const vgpuformats::document& item : setting.items) {
                auto policy = read_policy(path, item);
                if (!policy) return unexpected(std::move(policy).error());
                study.policies.push_back(*std::move(policy));
            }
        } else if (key == "pods" || key == "baselines") {
            auto texts = texts_of(path, "study." + key, setting);
            if (!texts) return unexpected(std::move(texts).error());
            if (key == "baselines") study.baselines = *texts;
            if (key == "baselines") continue;
            for (const std::string& list : *texts) study.pods.push_back(from_folder_of(path, list));
        } else if (key == "loads") {
            auto loads = read_loads(path, setting);
            if (!loads) return unexpected(std::move(loads).error());
            study.loads = *std::move(loads);
        } else if (key == "arrivals" || key == "node_total") {
            const auto number = parse_arrivals(setting.text);
            if (!number) return unexpected(not_as_expected(path, "study." + key, setting, arrivals_expected));
            (key == "arrivals" ? study.arrivals : study.node_total) = *number;
        } else if (key == "against") {
            if (!setting.is_text()) return unexpected(not_as_expected(path, "study.against", setting, "a name"));
            study.against = setting.text;
        } else {
            return fail(setting, "study", key,
                        "one of the keys policies, pods, seeds, loads, arrivals, node_total, against, baselines");
        }
    }
    return {};
}

} // namespace

std::optional<std::int64_t> parse_arrivals(std::string_view text) {
    std::int64_t arrivals = 0;
    if (!parse_whole(text, arrivals) || arrivals < 1 || arrivals > arrivals_max) return std::nullopt;
    return arrivals;
}

run_config with_settings(run_config config, const std::vector<std::pair<std::string, std::string>>& settings) {
    for (const auto& [key, value] : settings) {
        const auto taken = find_key(key)->set(config, key, value);
        VGA_ASSERT(taken.has_value(), "settings of scenarios are checked when they are read");
    }
    return config;
}

expected<void> set_key(run_config& config, std::string_view key, std::string_view value) {
    const config_key* known = find_key(key);
    if (known == nullptr) return unexpected(unknown_key("", key));
    return known->set(config, key, value);
}

expected<scenario> read_scenario(const std::string& path) {
    const auto input = vgpuformats::read_input(path);
    if (!input) return unexpected(input.error());
    const auto object = vgpuformats::parse_json(input->text, path);
    if (!object) return unexpected(object.error());
    if (!object->is_map()) {
        return unexpected(error{error_code::malformed, path, "", "", "a scenario is a JSON object"});
    }
    scenario study;
    for (const auto& [key, value] : object->members) {
        if (key == "name" || key == "description") continue;
        auto taken = key == "baseline" ? take_baseline(study, path, value)
                     : key == "study"  ? take_study(study, path, value)
                                       : take_member(study.config, path, key, value);
        if (!taken) return unexpected(std::move(taken.error()));
    }
    return study;
}

std::vector<std::pair<std::string, std::string>> paths_of(const run_config& config) {
    std::vector<std::pair<std::string, std::string>> paths;
    for (const config_key& key : config_keys) {
        if (key.is_path) paths.emplace_back(key.name, key.get(config));
    }
    return paths;
}

std::vector<std::pair<std::string, std::string>> effective(const run_config& config) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const config_key& key : config_keys) all.emplace_back(key.name, key.get(config));
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
