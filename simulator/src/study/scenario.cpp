// Scenario files: what they set, and their checks.
#include "vgpusim/study/scenario.hpp"

#include "vgpualloc/core/config.hpp"
#include "vgpuformats/json.hpp"
#include "vgpusim/workload/input_reader.hpp"

namespace vgpusim {

namespace {

/// Where a scenario is read from: what it names is seen from there.
struct scenario_place {
    const vgpuformats::input_source& source;
    std::string name;

    [[nodiscard]] std::string resolve(const std::string& input) const { return source.resolve_from(name, input); }
    [[nodiscard]] std::string line_of(const document& value) const {
        return name + ":" + std::to_string(value.place.line);
    }
};

/// The rules of a mapping, whose manifests are sought from the scenario's folder.
document with_paths_from(const scenario_place& scenario, document rules) {
    for (document& rule : rules.items) {
        for (auto& [key, value] : rule.members) {
            if (key == "request" && value.is_text()) value.text = scenario.resolve(value.text);
        }
    }
    return rules;
}

expected<void> take_member(run_config& config, const scenario_place& place, const std::string& key,
                           const document& value) {
    const std::string where = place.line_of(value);
    const run_setting* entry = find_setting(key);
    if (entry == nullptr) return unexpected(unknown_setting(where, key));
    if (key == "mapping" && value.is_list()) {
        auto taken = entry->set(config, key, vgpuformats::print_json(with_paths_from(place, value)));
        if (!taken) taken.error().where = where;
        return taken;
    }
    if (value.is_null() || value.is_list() || value.is_map()) {
        error failure = bad_setting(key, vgpuformats::print_json(value), "a string, a number, true or false");
        failure.where = where;
        return unexpected(std::move(failure));
    }
    const std::string text = entry->is_path(value.text) ? place.resolve(value.text) : value.text;
    if (auto taken = entry->set(config, key, text); !taken) {
        taken.error().where = where;
        return taken;
    }
    return {};
}

/// The members of a baseline, set on `config` to see whether they are right. What it lacks is the run's.
expected<void> take_baseline(scenario& study, const scenario_place& place, const document& value) {
    const std::string where = place.line_of(value);
    if (!value.is_map() || value.members.empty()) {
        return unexpected(bad_value(error_code::malformed, "baseline", vgpuformats::print_json(value),
                                    "an object of the keys in which the baseline differs")
                              .at(where));
    }
    for (const auto& [key, setting] : value.members) {
        if (key == "out") {
            return unexpected(bad_value(error_code::unsupported, "baseline.out", setting.text,
                                        "no folder of its own: it goes to 'baseline' in that of the run")
                                  .at(place.line_of(setting)));
        }
        run_config taken;
        if (auto read = take_member(taken, place, key, setting); !read) return read;
        study.baseline.emplace_back(key, find_setting(key)->get(taken));
    }
    return {};
}

expected<std::vector<std::string>> texts_of(const scenario_place& place, const std::string& field,
                                            const document& list) {
    const auto not_texts = [&](const document& value) {
        error failure = bad_setting(field, vgpuformats::print_json(value), "a list of texts");
        failure.where = place.line_of(value);
        return unexpected(std::move(failure));
    };
    if (!list.is_list()) return not_texts(list);
    std::vector<std::string> texts;
    for (const document& item : list.items) {
        if (!item.is_text()) return not_texts(item);
        texts.push_back(item.text);
    }
    return texts;
}

/// What a document that is no good should have been, with its place.
error not_as_expected(const scenario_place& place, const std::string& field, const document& value,
                      const char* expectation) {
    error failure = bad_setting(field, vgpuformats::print_json(value), expectation);
    failure.where = place.line_of(value);
    return failure;
}

/// A name of a policy, or an object of name, policy and what is set in its runs.
expected<studied_policy> read_policy(const scenario_place& place, const document& value) {
    if (value.is_text()) return studied_policy{.name = value.text, .policy = value.text};
    const auto fail = [&](const document& at, const char* field, const char* expectation) {
        return unexpected(not_as_expected(place, field, at, expectation));
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
                if (auto read = take_member(taken, place, name, text); !read) return unexpected(read.error());
                result.settings.emplace_back(name, find_setting(name)->get(taken));
            }
        } else {
            return fail(setting, "study.policies", "the keys name, policy and mig_dialect, texts, and set, an object");
        }
    }
    if (result.policy.empty()) return fail(value, "study.policies", "an object with a policy");
    if (result.name.empty()) result.name = result.policy;
    return result;
}

expected<std::vector<double>> read_loads(const scenario_place& place, const document& list) {
    std::vector<double> loads;
    for (const document& item : list.items) {
        run_config taken;
        if (item.is_text() || item.is_list() || item.is_map() || !set_key(taken, "offered_load", item.text) ||
            taken.offered_load <= 0.0) {
            return unexpected(not_as_expected(place, "study.loads", item, "a list of numbers above 0, up to 1000"));
        }
        loads.push_back(taken.offered_load);
    }
    if (loads.empty()) return unexpected(not_as_expected(place, "study.loads", list, "a list of numbers"));
    return loads;
}

/// What of policies, lists and seeds a scenario leaves open, flags have to say.
expected<void> take_study(scenario& read, const scenario_place& place, const document& value) {
    read.study.emplace();
    const auto fail = [&](const document& at, const char* field, std::string text, const char* expectation) {
        error failure = bad_setting(field, text, expectation);
        failure.where = place.line_of(at);
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
            if (!setting.is_list()) return unexpected(not_as_expected(place, "study.policies", setting, "a list"));
            for (const document& item : setting.items) {
                auto policy = read_policy(place, item);
                if (!policy) return unexpected(std::move(policy).error());
                study.policies.push_back(*std::move(policy));
            }
        } else if (key == "pods" || key == "baselines") {
            auto texts = texts_of(place, "study." + key, setting);
            if (!texts) return unexpected(std::move(texts).error());
            if (key == "baselines") study.baselines = *texts;
            if (key == "baselines") continue;
            for (const std::string& list : *texts) study.pods.push_back(place.resolve(list));
        } else if (key == "loads") {
            auto loads = read_loads(place, setting);
            if (!loads) return unexpected(std::move(loads).error());
            study.loads = *std::move(loads);
        } else if (key == "arrivals" || key == "node_total") {
            const auto number = parse_arrivals(setting.text);
            if (!number) return unexpected(not_as_expected(place, "study." + key, setting, arrivals_expected));
            (key == "arrivals" ? study.arrivals : study.node_total) = *number;
        } else if (key == "against") {
            if (!setting.is_text()) return unexpected(not_as_expected(place, "study.against", setting, "a name"));
            study.against = setting.text;
        } else {
            return fail(setting, "study", key,
                        "one of the keys policies, pods, seeds, loads, arrivals, node_total, against, baselines");
        }
    }
    return {};
}

} // namespace

expected<scenario> read_scenario(const std::string& path, const vgpuformats::input_source& source) {
    const scenario_place place{.source = source, .name = path};
    const auto input = input_reader{source}.read(path);
    if (!input) return unexpected(input.error());
    const auto object = vgpuformats::parse_json(input->text, path);
    if (!object) return unexpected(object.error());
    if (!object->is_map()) {
        return unexpected(error{error_code::malformed, path, "", "", "a scenario is a JSON object"});
    }
    scenario study;
    for (const auto& [key, value] : object->members) {
        if (key == "name" || key == "description") continue;
        auto taken = key == "baseline" ? take_baseline(study, place, value)
                     : key == "study"  ? take_study(study, place, value)
                                       : take_member(study.config, place, key, value);
        if (!taken) return unexpected(std::move(taken.error()));
    }
    return study;
}

} // namespace vgpusim
