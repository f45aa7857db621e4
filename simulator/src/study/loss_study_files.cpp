#include "vgpusim/study/loss_study_files.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include <fmt/format.h>

#include "study_timing.hpp"
#include "vgpualloc/version.hpp"
#include "vgpuformats/json.hpp"
#include "vgpusim/outputs/csv_text.hpp"

namespace vgpusim {

using vgpuformats::document;

std::optional<double> loss_values::half_95() const {
    if (by_seed.size() < 2) return std::nullopt;
    return t_quantile_975(by_seed.size() - 1) * deviation_of(by_seed) / std::sqrt(static_cast<double>(by_seed.size()));
}

namespace {

/// The runs of a policy in a cell, by seed.
std::span<const loss_run> seeds_of(const loss_study& study, const loss_results& results, std::size_t cell,
                                   std::size_t policy) {
    const std::size_t seeds = study.seeds.count();
    return std::span{results.runs}.subspan((cell * study.policies.size() + policy) * seeds, seeds);
}

std::vector<loss_values> measures_of(std::span<const loss_run> runs) {
    std::vector<loss_values> values(std::size(loss_measures));
    for (const loss_run& run : runs) {
        values[0].by_seed.push_back(run.figures.pods.ratio());
        values[1].by_seed.push_back(run.figures.memory_ratio());
        values[2].by_seed.push_back(run.started > 0 ? static_cast<double>(run.moved) / static_cast<double>(run.started)
                                                    : 0.0);
        if (run.figures.filled_of == 0) continue;
        values[3].by_seed.push_back(static_cast<double>(run.figures.accepted.memory) /
                                    static_cast<double>(run.figures.filled_of));
    }
    return values;
}

/// How much of each class is accepted, of the seeds in which some of it arrives. Classes are those of the policy's own
/// workload.
std::vector<std::pair<std::string, loss_values>> classes_of(std::span<const loss_run> runs) {
    std::vector<std::pair<std::string, loss_values>> classes;
    for (std::size_t i = 0; i < runs.front().classes.size(); ++i) {
        auto& [name, values] = classes.emplace_back(runs.front().classes[i], loss_values{});
        for (const loss_run& run : runs) {
            const accepted_pods& pods = run.figures.of_classes[i];
            if (pods.arrived > 0) values.by_seed.push_back(pods.ratio());
        }
    }
    std::erase_if(classes, [](const auto& entry) { return entry.second.by_seed.empty(); });
    return classes;
}

/// The baseline with the highest mean; of equal ones the first that the study names.
std::size_t best_baseline(const loss_study& study, const loss_cell& cell, std::size_t measure) {
    return *std::ranges::max_element(study.baselines, {},
                                     [&](std::size_t policy) { return cell.policies[policy][measure].mean(); });
}

void add_differences(const loss_study& study, loss_cell& cell) {
    if (study.seeds.count() < 2) return;
    for (std::size_t measure = 0; measure < std::size(loss_measures); ++measure) {
        if (measure == moved_measure || cell.policies.front()[measure].by_seed.empty()) continue;
        const auto add = [&](std::size_t policy, std::size_t against, bool is_best) {
            if (policy == against) return;
            cell.differences.push_back({.policy = policy,
                                        .against = against,
                                        .measure = measure,
                                        .is_best_baseline = is_best,
                                        .difference = paired_difference_of(cell.policies[against][measure].by_seed,
                                                                           cell.policies[policy][measure].by_seed)});
        };
        for (std::size_t policy = 0; policy < study.policies.size(); ++policy) {
            if (study.against) add(policy, *study.against, false);
            if (!study.baselines.empty() && std::ranges::find(study.baselines, policy) == study.baselines.end()) {
                add(policy, best_baseline(study, cell, measure), true);
            }
        }
    }
}

/// The load as the study says it; empty where it is the model's.
std::string load_text(double load) { return load > 0.0 ? fmt::format("{}", load) : std::string{}; }

document number_or_null(const std::optional<double>& value) { return value ? document{*value} : document{}; }

document json_of(const loss_values& values) {
    document by_seed = document::list();
    for (const double value : values.by_seed) by_seed.push_back(value);
    const bool has_deviation = values.by_seed.size() > 1;
    return document::map({{"mean", values.mean()},
                          {"half_95", number_or_null(values.half_95())},
                          {"sd", has_deviation ? document{deviation_of(values.by_seed)} : document{}},
                          {"by_seed", by_seed}});
}

document json_of_policy(const loss_study& study, const loss_results& results, std::size_t number, const loss_cell& cell,
                        std::size_t policy) {
    const auto runs = seeds_of(study, results, number, policy);
    document entry = document::map({{"policy", study.policies[policy].name}});
    for (std::size_t measure = 0; measure < std::size(loss_measures); ++measure) {
        const loss_values& values = cell.policies[policy][measure];
        if (!values.by_seed.empty()) entry[std::string{loss_measures[measure]}] = json_of(values);
    }
    document classes = document::map();
    for (const auto& [name, values] : classes_of(runs)) classes[name] = values.mean();
    entry["accepted_ratio_by_class"] = std::move(classes);
    return entry;
}

document json_of(const loss_study& study, const loss_difference& of) {
    return document::map({{"measure", loss_measures[of.measure]},
                          {"policy", study.policies[of.policy].name},
                          {"against", study.policies[of.against].name},
                          {"best_baseline", of.is_best_baseline},
                          {"mean", of.difference.mean},
                          {"low_95", of.difference.low},
                          {"high_95", of.difference.high},
                          {"seeds_matter", of.difference.seeds_matter}});
}

document json_of_config(const loss_study& study) {
    document config;
    for (const auto& [key, value] : shown_settings(study.run)) {
        if (key == "out" || key == "pods" || key == "policy" || key == "offered_load" || key == "seed") continue;
        config[key] = value;
    }
    config["seeds"] = study.seeds.text();
    if (study.arrivals) config["arrivals"] = *study.arrivals;
    if (study.node_total) config["node_total"] = *study.node_total;
    if (study.against) config["against"] = study.policies[*study.against].name;
    document baselines = document::list();
    for (const std::size_t policy : study.baselines) baselines.push_back(study.policies[policy].name);
    config["baselines"] = std::move(baselines);
    return config;
}

document json_of_policies(const loss_study& study) {
    document policies = document::list();
    for (const studied_policy& policy : study.policies) {
        policies.push_back(document::map(
            {{"name", policy.name}, {"policy", policy.policy}, {"set", document::map_of(policy.settings)}}));
        if (!policy.mig_dialect.empty()) policies.items.back()["mig_dialect"] = policy.mig_dialect;
    }
    return policies;
}

} // namespace

std::vector<loss_cell> loss_cells_of(const loss_study& study, const loss_results& results) {
    std::vector<loss_cell> cells;
    for (std::size_t number = 0; number < study.cells(); ++number) {
        loss_cell cell{.model = number / study.loads.size(), .load = number % study.loads.size()};
        for (std::size_t policy = 0; policy < study.policies.size(); ++policy) {
            cell.policies.push_back(measures_of(seeds_of(study, results, number, policy)));
        }
        add_differences(study, cell);
        cells.push_back(std::move(cell));
    }
    return cells;
}

std::string loss_study_csv(const loss_study& study, const loss_results& results) {
    std::string out{loss_table_header};
    const auto cells = loss_cells_of(study, results);
    for (std::size_t number = 0; number < cells.size(); ++number) {
        const loss_cell& cell = cells[number];
        for (std::size_t policy = 0; policy < study.policies.size(); ++policy) {
            const std::string names = csv_text(study.models[cell.model]) + "," + load_text(study.loads[cell.load]) +
                                      "," + csv_text(study.policies[policy].name);
            const auto add = [&](const std::string& measure, const loss_values& values) {
                fmt::format_to(std::back_inserter(out), "{},{},{:.6f},", names, csv_text(measure), values.mean());
                if (const auto half = values.half_95()) {
                    fmt::format_to(std::back_inserter(out), "{:.6f},{:.6f}", *half, deviation_of(values.by_seed));
                } else {
                    out += ",";
                }
                fmt::format_to(std::back_inserter(out), ",{}\n", values.by_seed.size());
            };
            for (std::size_t measure = 0; measure < std::size(loss_measures); ++measure) {
                const loss_values& values = cell.policies[policy][measure];
                if (!values.by_seed.empty()) add(std::string{loss_measures[measure]}, values);
            }
            for (const auto& [name, values] : classes_of(seeds_of(study, results, number, policy))) {
                add("accepted_ratio:" + name, values);
            }
        }
    }
    return out;
}

std::string loss_study_json(const loss_study& study, const loss_results& results) {
    document files = document::list();
    for (const input_file& file : results.files) {
        files.push_back(document::map({{"path", file.path}, {"sha256", file.sha256}}));
    }
    document cells = document::list();
    const auto all_cells = loss_cells_of(study, results);
    for (std::size_t number = 0; number < all_cells.size(); ++number) {
        const loss_cell& cell = all_cells[number];
        const double load = study.loads[cell.load];
        document entry =
            document::map({{"model", study.models[cell.model]}, {"load", load > 0.0 ? document{load} : document{}}});
        document policies = document::list();
        for (std::size_t policy = 0; policy < study.policies.size(); ++policy) {
            policies.push_back(json_of_policy(study, results, number, cell, policy));
        }
        entry["policies"] = std::move(policies);
        document differences = document::list();
        for (const loss_difference& difference : cell.differences) differences.push_back(json_of(study, difference));
        entry["differences"] = std::move(differences);
        cells.push_back(std::move(entry));
    }
    const document summary = document::map({{"version", vgpualloc::version},
                                            {"config", json_of_config(study)},
                                            {"policies", json_of_policies(study)},
                                            {"inputs", files},
                                            {"runs", results.runs.size()},
                                            {"cells", cells},
                                            {"timing", timing_of(results)}});
    return vgpuformats::print_json(summary, 2) + "\n";
}

} // namespace vgpusim
