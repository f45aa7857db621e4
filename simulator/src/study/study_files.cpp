#include "vgpusim/study/study_files.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "study_texts.hpp"
#include "vgpualloc/version.hpp"
#include "vgpuformats/json.hpp"
#include "vgpusim/outputs/csv_text.hpp"
#include "vgpusim/study/statistics.hpp"

namespace vgpusim {

namespace {

/// The runs of a policy on a list, by seed.
std::span<const studied_run> seeds_of(const experiment& study, const study_results& results, std::size_t policy,
                                      std::size_t list) {
    return results.seeds_of(study, {.list = list, .policy = policy});
}

/// A metric at a load in the runs that have that load.
seed_values values_at(std::span<const studied_run> runs, std::size_t pct, std::size_t metric) {
    seed_values values;
    for (const studied_run& run : runs) {
        if (pct < run.curve.size() && run.curve[pct]) values.by_seed.push_back((*run.curve[pct])[metric]);
    }
    return values;
}

/// As seen by all policies: loads do not depend on them.
std::size_t last_common_load(std::span<const studied_run> runs) {
    std::size_t common = load_pct_max + 1;
    for (const studied_run& run : runs) common = std::min(common, run.curve.size());
    const auto all_have = [runs](std::size_t pct) {
        return std::ranges::all_of(runs, [pct](const studied_run& run) { return run.curve[pct].has_value(); });
    };
    while (common > 0 && !all_have(common - 1)) --common;
    return common;
}

/// What the runs of a headline accepted. A size counts in the seeds in which pods of it arrive.
void add_accepted(std::span<const studied_run> runs, study_headline& headline) {
    for (const studied_run& run : runs) {
        headline.accepted_gpus.by_seed.push_back(run.accepted.gpu_ratio());
        headline.accepted_pods.by_seed.push_back(run.accepted.pods.accepted_ratio());
    }
    for (std::size_t i = 0; i < gpu_sizes.size(); ++i) {
        seed_values values;
        for (const studied_run& run : runs) {
            const accepted_size& pods = run.accepted.by_size[i];
            if (pods.arrived > 0) values.by_seed.push_back(pods.accepted_ratio());
        }
        if (!values.by_seed.empty()) headline.by_size.emplace_back(gpu_sizes[i].name, std::move(values));
    }
}

document json_of_seeds(const seed_values& values) {
    return document::map({{"mean", values.mean()}, {"sd", values.deviation().value_or(0.0)}});
}

} // namespace

std::string study_csv(const experiment& study, const study_results& results) {
    std::string out{study_table_header};
    for (std::size_t policy = 0; policy < study.lists.policies.size(); ++policy) {
        for (std::size_t list = 0; list < study.lists.pods.size(); ++list) {
            const auto runs = seeds_of(study, results, policy, list);
            std::size_t loads = 0;
            for (const studied_run& run : runs) loads = std::max(loads, run.curve.size());
            const std::string names =
                csv_text(study.lists.policies[policy].name) + "," + csv_text(study.lists.pods[list]);
            for (std::size_t pct = 0; pct < loads; ++pct) {
                for (std::size_t metric = 0; metric < load_metric_names.size(); ++metric) {
                    const auto values = values_at(runs, pct, metric);
                    if (values.by_seed.empty()) continue;
                    fmt::format_to(std::back_inserter(out), "{},{},{},{:.6f},{},{}\n", names, pct,
                                   load_metric_names[metric], values.mean(), csv_number(values.deviation()),
                                   values.by_seed.size());
                }
            }
        }
    }
    return out;
}

std::vector<study_headline> headlines_of(const experiment& study, const study_results& results) {
    std::vector<study_headline> headlines;
    for (std::size_t list = 0; list < study.lists.pods.size(); ++list) {
        for (std::size_t policy = 0; policy < study.lists.policies.size(); ++policy) {
            const auto runs = seeds_of(study, results, policy, list);
            const std::size_t loads = last_common_load(runs);
            if (loads == 0) continue;
            study_headline headline{
                .policy = study.lists.policies[policy].name, .list = study.lists.pods[list], .load_pct = loads - 1};
            for (std::size_t metric = 0; metric < load_metric_names.size(); ++metric) {
                const auto values = values_at(runs, headline.load_pct, metric);
                headline.mean[metric] = values.mean();
                headline.deviation[metric] = values.deviation().value_or(0.0);
            }
            std::vector<double> failed;
            for (const studied_run& run : runs) failed.push_back(static_cast<double>(run.failed));
            headline.failed = mean_of(failed);
            add_accepted(runs, headline);
            headlines.push_back(std::move(headline));
        }
    }
    return headlines;
}

std::string study_json(const experiment& study, const std::vector<input_file>& files,
                       const std::vector<std::size_t>& list_sizes, const study_results& results) {
    document policies = document::list();
    for (const studied_policy& entry : study.lists.policies) policies.push_back(entry.name);
    document lists = document::list();
    for (std::size_t list = 0; list < study.lists.pods.size(); ++list) {
        lists.push_back(document::map({{"list", study.lists.pods[list]}, {"pods", list_sizes[list]}}));
    }
    document headlines = document::list();
    for (const study_headline& headline : headlines_of(study, results)) {
        document entry =
            document::map({{"policy", headline.policy}, {"list", headline.list}, {"load_pct", headline.load_pct}});
        for (std::size_t metric = 0; metric < load_metric_names.size(); ++metric) {
            entry[std::string{load_metric_names[metric]}] =
                document::map({{"mean", headline.mean[metric]}, {"sd", headline.deviation[metric]}});
        }
        entry["pods_failed_mean"] = headline.failed;
        entry["accepted_ratio"] = json_of_seeds(headline.accepted_pods);
        entry["accepted_gpu_ratio"] = json_of_seeds(headline.accepted_gpus);
        document sizes = document::map();
        for (const auto& [name, values] : headline.by_size) sizes[std::string{name}] = json_of_seeds(values);
        entry["accepted_ratio_by_size"] = std::move(sizes);
        headlines.push_back(std::move(entry));
    }
    const document config = document::map({{"nodes", study.run.nodes},
                                           {"device_policy", study.run.device_policy},
                                           {"mode", study.run.mode},
                                           {"tune", study.run.tune},
                                           {"seeds", study.lists.seeds.text()}});
    const document summary = document::map({{"version", vgpualloc::version},
                                            {"config", config},
                                            {"policies", policies},
                                            {"lists", lists},
                                            {"inputs", json_of(files)},
                                            {"runs", results.runs.size()},
                                            {"headlines", headlines},
                                            {"timing", timing_of(results, results.runs.size())}});
    return vgpuformats::print_json(summary, 2) + "\n";
}

} // namespace vgpusim
