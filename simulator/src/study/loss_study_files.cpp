#include "vgpusim/study/loss_study_files.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "study_texts.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/version.hpp"
#include "vgpuformats/json.hpp"
#include "vgpusim/outputs/csv_text.hpp"

namespace vgpusim {

namespace {

std::span<const loss_run> seeds_of(const experiment& study, const loss_results& results, const loss_cell& cell,
                                   std::size_t policy) {
    return results.seeds_of(study, {.list = cell.model, .load = cell.load, .policy = policy});
}

std::vector<seed_values> measures_of(std::span<const loss_run> runs) {
    std::vector<seed_values> values(std::size(loss_measures));
    for (const loss_run& run : runs) {
        values[0].by_seed.push_back(run.figures.pods.ratio());
        values[1].by_seed.push_back(run.figures.memory_ratio());
        values[2].by_seed.push_back(run.started > 0 ? static_cast<double>(run.moved) / static_cast<double>(run.started)
                                                    : 0.0);
        values[4].by_seed.push_back(run.figures.of_gpus.gpu_ratio());
        if (run.figures.filled_of == 0) continue;
        values[3].by_seed.push_back(static_cast<double>(run.figures.accepted.memory) /
                                    static_cast<double>(run.figures.filled_of));
    }
    return values;
}

/// How much of each class is accepted, of the seeds in which some of it arrives. Classes are those of the policy's own
/// workload.
std::vector<std::pair<std::string, seed_values>> classes_of(std::span<const loss_run> runs) {
    std::vector<std::pair<std::string, seed_values>> classes;
    for (std::size_t i = 0; i < runs.front().classes.size(); ++i) {
        auto& [name, values] = classes.emplace_back(runs.front().classes[i], seed_values{});
        for (const loss_run& run : runs) {
            const accepted_pods& pods = run.figures.of_classes[i];
            if (pods.arrived > 0) values.by_seed.push_back(pods.ratio());
        }
    }
    std::erase_if(classes, [](const auto& entry) { return entry.second.by_seed.empty(); });
    return classes;
}

/// How much of each size is accepted, of the seeds in which some of it arrives.
std::vector<std::pair<std::string, seed_values>> by_size_of(std::span<const loss_run> runs) {
    std::vector<std::pair<std::string, seed_values>> sizes;
    for (std::size_t i = 0; i < gpu_sizes.size(); ++i) {
        seed_values values;
        for (const loss_run& run : runs) {
            const accepted_size& pods = run.figures.of_gpus.by_size[i];
            if (pods.arrived > 0) values.by_seed.push_back(pods.accepted_ratio());
        }
        if (!values.by_seed.empty()) sizes.emplace_back(gpu_sizes[i].name, std::move(values));
    }
    return sizes;
}

std::vector<std::size_t> positions_of(const experiment& study, const std::vector<std::string>& names) {
    std::vector<std::size_t> positions;
    for (const std::string& name : names) {
        const auto known = std::ranges::find(study.lists.policies, name, &studied_policy::name);
        VGA_ASSERT(known != study.lists.policies.end(), "a study names policies that it has");
        positions.push_back(static_cast<std::size_t>(known - study.lists.policies.begin()));
    }
    return positions;
}

void add_differences(const experiment& study, loss_cell& cell) {
    if (study.lists.seeds.count() < 2) return;
    const auto baselines = positions_of(study, study.lists.baselines);
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
        // Of equal baselines the first that the study names.
        const auto best = std::ranges::max_element(
            baselines, {}, [&](std::size_t policy) { return cell.policies[policy][measure].mean(); });
        for (std::size_t policy = 0; policy < study.lists.policies.size(); ++policy) {
            if (!study.lists.against.empty()) add(policy, positions_of(study, {study.lists.against}).front(), false);
            if (best == baselines.end() || std::ranges::find(baselines, policy) != baselines.end()) continue;
            add(policy, *best, true);
        }
    }
}

document json_of(const seed_values& values) {
    document by_seed = document::list();
    for (const double value : values.by_seed) by_seed.push_back(value);
    return document::map({{"mean", values.mean()},
                          {"half_95", number_or_null(values.half_95())},
                          {"sd", number_or_null(values.deviation())},
                          {"by_seed", by_seed}});
}

document json_of_policy(const experiment& study, const loss_results& results, const loss_cell& cell,
                        std::size_t policy) {
    document entry = document::map({{"policy", study.lists.policies[policy].name}});
    for (std::size_t measure = 0; measure < std::size(loss_measures); ++measure) {
        const seed_values& values = cell.policies[policy][measure];
        if (!values.by_seed.empty()) entry[std::string{loss_measures[measure]}] = json_of(values);
    }
    document classes = document::map();
    for (const auto& [name, values] : classes_of(seeds_of(study, results, cell, policy))) classes[name] = values.mean();
    entry["accepted_ratio_by_class"] = std::move(classes);
    document sizes = document::map();
    for (const auto& [name, values] : by_size_of(seeds_of(study, results, cell, policy))) sizes[name] = values.mean();
    entry["accepted_ratio_by_size"] = std::move(sizes);
    return entry;
}

document json_of(const experiment& study, const loss_difference& of) {
    return document::map({{"measure", loss_measures[of.measure]},
                          {"policy", study.lists.policies[of.policy].name},
                          {"against", study.lists.policies[of.against].name},
                          {"best_baseline", of.is_best_baseline},
                          {"mean", of.difference.mean},
                          {"low_95", of.difference.low},
                          {"high_95", of.difference.high},
                          {"seeds_matter", of.difference.seeds_matter}});
}

document json_of_config(const experiment& study) {
    document config;
    for (const auto& [key, value] : shown_settings(study.run)) {
        if (key == "out" || key == "pods" || key == "policy" || key == "offered_load" || key == "seed") continue;
        config[key] = value;
    }
    config["seeds"] = study.lists.seeds.text();
    if (study.lists.arrivals) config["arrivals"] = *study.lists.arrivals;
    if (study.lists.node_total) config["node_total"] = *study.lists.node_total;
    if (!study.lists.against.empty()) config["against"] = study.lists.against;
    document baselines = document::list();
    for (const std::string& name : study.lists.baselines) baselines.push_back(name);
    config["baselines"] = std::move(baselines);
    return config;
}

document json_of_policies(const experiment& study) {
    document policies = document::list();
    for (const studied_policy& policy : study.lists.policies) {
        policies.push_back(document::map(
            {{"name", policy.name}, {"policy", policy.policy}, {"set", document::map_of(policy.settings)}}));
        if (!policy.mig_dialect.empty()) policies.items.back()["mig_dialect"] = policy.mig_dialect;
    }
    return policies;
}

} // namespace

std::vector<loss_cell> loss_cells_of(const experiment& study, const loss_results& results) {
    std::vector<loss_cell> cells;
    for (std::size_t model = 0; model < study.lists.pods.size(); ++model) {
        for (std::size_t load = 0; load < study.loads(); ++load) {
            loss_cell cell{.model = model, .load = load};
            for (std::size_t policy = 0; policy < study.lists.policies.size(); ++policy) {
                cell.policies.push_back(measures_of(seeds_of(study, results, cell, policy)));
            }
            add_differences(study, cell);
            cells.push_back(std::move(cell));
        }
    }
    return cells;
}

std::optional<double> load_of(const experiment& study, const loss_cell& cell) {
    return study.lists.loads.empty() ? std::nullopt : std::optional{study.lists.loads[cell.load]};
}

std::string loss_study_csv(const experiment& study, const loss_results& results) {
    std::string out{loss_table_header};
    for (const loss_cell& cell : loss_cells_of(study, results)) {
        const auto load = load_of(study, cell);
        for (std::size_t policy = 0; policy < study.lists.policies.size(); ++policy) {
            const std::string names = csv_text(study.lists.pods[cell.model]) + "," +
                                      (load ? fmt::format("{}", *load) : std::string{}) + "," +
                                      csv_text(study.lists.policies[policy].name);
            const auto add = [&](const std::string& measure, const seed_values& values) {
                fmt::format_to(std::back_inserter(out), "{},{},{:.6f},{},{},{}\n", names, csv_text(measure),
                               values.mean(), csv_number(values.half_95()), csv_number(values.deviation()),
                               values.by_seed.size());
            };
            for (std::size_t measure = 0; measure < std::size(loss_measures); ++measure) {
                const seed_values& values = cell.policies[policy][measure];
                if (!values.by_seed.empty()) add(std::string{loss_measures[measure]}, values);
            }
            for (const auto& [name, values] : classes_of(seeds_of(study, results, cell, policy))) {
                add("accepted_ratio:" + name, values);
            }
            for (const auto& [name, values] : by_size_of(seeds_of(study, results, cell, policy))) {
                add("accepted_ratio_by_size:" + name, values);
            }
        }
    }
    return out;
}

std::string loss_study_json(const experiment& study, const loss_results& results) {
    document cells = document::list();
    for (const loss_cell& cell : loss_cells_of(study, results)) {
        document policies = document::list();
        for (std::size_t policy = 0; policy < study.lists.policies.size(); ++policy) {
            policies.push_back(json_of_policy(study, results, cell, policy));
        }
        document differences = document::list();
        for (const loss_difference& difference : cell.differences) differences.push_back(json_of(study, difference));
        cells.push_back(document::map({{"model", study.lists.pods[cell.model]},
                                       {"load", number_or_null(load_of(study, cell))},
                                       {"policies", std::move(policies)},
                                       {"differences", std::move(differences)}}));
    }
    const document summary = document::map({{"version", vgpualloc::version},
                                            {"config", json_of_config(study)},
                                            {"policies", json_of_policies(study)},
                                            {"inputs", json_of(results.files)},
                                            {"runs", results.runs.size()},
                                            {"cells", cells},
                                            {"timing", timing_of(results, results.runs.size())}});
    return vgpuformats::print_json(summary, 2) + "\n";
}

} // namespace vgpusim
