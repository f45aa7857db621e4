#include "vgpusim/study/compare_seeds.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "study_texts.hpp"
#include "vgpualloc/version.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuformats/json.hpp"
#include "vgpureport/report.hpp"
#include "vgpusim/outputs/figures.hpp"
#include "vgpusim/outputs/queue_figures.hpp"
#include "vgpusim/outputs/report.hpp"

namespace vgpusim {

measured_waits mean_waits_of(const run_record& run, const simulation_input& input) {
    if (!run.has_queue) return {};
    const group_figures all = queue_figures_of(run, input).all;
    return {.wait = {.value = all.wait_s.mean, .jobs = all.wait_s.count},
            .slowdown = {.value = all.bounded_slowdown.mean, .jobs = all.bounded_slowdown.count}};
}

void unmeasured_run::strip() {
    record.ledger.reset();
    record.at_peak.reset();
    record.result.pods = {};
    record.result.times = {};
    record.result.samples = {};
    record.result.stranded = {};
}

run_measures measures_of(const run_record& run, const measured_waits& waits) {
    const run_figures figures = figures_of(run);
    return {{{figures.served_ratio},
             {figures.allocation_mean_ratio},
             {figures.unusable_milli},
             {static_cast<double>(run.rows.placed)},
             waits.wait,
             waits.slowdown,
             {figures.served_memory_ratio},
             {figures.served_compute_ratio},
             {run.accepted.gpu_ratio()}}};
}

expected<void> check_seeds(const run_config& config, const seed_range& seeds) {
    if (seeds.count() < 2) {
        return unexpected(
            bad_value(error_code::out_of_range, "--seeds", seeds.text(), "two seeds or more; for one there is --seed"));
    }
    for (const auto& [key, path] : paths_of(config)) {
        if (path != vgpuformats::standard_input) continue;
        return unexpected(bad_value(error_code::unsupported, key, path, "a file, because every seed reads it again"));
    }
    return {};
}

expected<seeds_comparison> compare_seeds(const run_config& config, const seed_range& seeds,
                                         const vgpuformats::input_source& source, loaded_input first_input,
                                         const std::vector<std::string>& policies, const experiment_control& control) {
    seeds_comparison result{.plan = experiment_of(config, policies, seeds),
                            .notes = {},
                            .measures = {},
                            .first_input = std::move(first_input),
                            .first_runs = {}};
    const auto load_other = loader_from(source, result.plan, control.stop);
    const auto load = [&](const cell& where, const run_config& seeded) -> expected<shared_input> {
        if (where.seed == 0) return shared_input{shared_input{}, &result.first_input}; // which `result` owns
        return load_other(where, seeded);
    };
    const auto measure = [&](const cell_run& run) -> expected<unmeasured_run> {
        const bool is_shown = run.where.seed == 0;
        auto record = replay(run.config, run.loaded, run.loaded.input.nodes, {},
                             {.kept = is_shown ? kept_of_run::everything : kept_of_run::figures, .stop = control.stop});
        if (!record) return unexpected(std::move(record).error());
        unmeasured_run kept{*std::move(record), run.loaded.input};
        if (!is_shown) kept.strip();
        return kept;
    };
    auto results = run_experiment<unmeasured_run>(result.plan, load, measure, control);
    if (!results) return unexpected(std::move(results).error());
    const auto run_of = [&](std::size_t policy, std::size_t seed) -> unmeasured_run& {
        return results->runs[result.plan.position_of({.policy = policy, .seed = seed})];
    };
    for (std::size_t seed = 0; seed < seeds.count(); ++seed) {
        std::vector<run_record*> compared;
        for (std::size_t policy = 0; policy < policies.size(); ++policy) {
            compared.push_back(&run_of(policy, seed).record);
        }
        share_span(compared);
    }
    for (std::size_t m = 0; m < std::size(compared_measures); ++m) {
        if (compared_measures[m].of_queues && !run_of(0, 0).record.has_queue) continue;
        compared_figures figures{.measure = &compared_measures[m], .policies = {}};
        for (std::size_t policy = 0; policy < policies.size(); ++policy) {
            measured_policy values{.policy = policies[policy], .values = {}};
            for (std::size_t seed = 0; seed < seeds.count(); ++seed) {
                const measured_value measured = run_of(policy, seed).measures()[m];
                values.values.push_back(measured.value);
                if (compared_measures[m].of_queues) values.jobs.push_back(measured.jobs);
            }
            figures.policies.push_back(std::move(values));
        }
        result.measures.push_back(std::move(figures));
    }
    for (std::size_t policy = 0; policy < policies.size(); ++policy) {
        result.first_runs.push_back(std::move(run_of(policy, 0).record));
    }
    result.notes = *std::move(results);
    return result;
}

bool is_comparable(const compared_figures& figures, std::size_t policy) {
    const auto& jobs = figures.policies.front().jobs;
    return std::ranges::find(jobs, std::size_t{0}) == jobs.end() && jobs == figures.policies[policy].jobs;
}

std::string difference_in_words(const compared_figures& figures, std::size_t policy) {
    const auto& first = figures.policies.front();
    const auto& second = figures.policies[policy];
    if (!is_comparable(figures, policy)) {
        const auto total = [](const measured_policy& of) {
            return std::accumulate(of.jobs.begin(), of.jobs.end(), std::size_t{0});
        };
        return fmt::format("{}: {} and {} are not compared, as theirs are of {} and {} jobs.", figures.measure->words,
                           second.policy, first.policy, total(second), total(first));
    }
    const auto difference = paired_difference_of(first.values, second.values);
    const double scale = figures.measure->scale;
    if (!difference.is_shown()) {
        return fmt::format("{}: no difference shown between {} and {} (95 % interval {:+.3f} to {:+.3f}).",
                           figures.measure->words, second.policy, first.policy, scale * difference.low,
                           scale * difference.high);
    }
    // An interval that shows a difference lies on one side of zero, so that "better by" speaks of amounts.
    const bool is_more = difference.mean > 0.0;
    const bool is_better = is_more == figures.measure->more_is_better;
    const char* word = !figures.measure->is_judged ? (is_more ? "has more" : "has less")
                       : is_better                 ? "is better"
                                                   : "is worse";
    const double sign = is_more ? scale : -scale;
    if (!difference.seeds_matter) {
        return fmt::format("{}: {} {} than {} by {:.3f} (the seed changes nothing: all runs are one).",
                           figures.measure->words, second.policy, word, first.policy, sign * difference.mean);
    }
    return fmt::format("{}: {} {} than {} by {:.3f} (95 % interval {:.3f} to {:.3f}).", figures.measure->words,
                       second.policy, word, first.policy, sign * difference.mean,
                       sign * (is_more ? difference.low : difference.high),
                       sign * (is_more ? difference.high : difference.low));
}

namespace {

document json_of(const seeds_comparison& comparison) {
    document config;
    for (const auto& [key, value] : shown_settings(comparison.plan.run)) {
        if (key != "policy" && key != "seed" && key != "out") config[key] = value;
    }
    document policies = document::list();
    for (const measured_policy& of : comparison.measures.front().policies) {
        document entry = document::map({{"policy", of.policy}});
        for (const compared_figures& figures : comparison.measures) {
            const auto& values = figures.policies[policies.items.size()].values;
            const auto& jobs = figures.policies[policies.items.size()].jobs;
            const bool of_some = std::ranges::find(jobs, std::size_t{0}) == jobs.end();
            document by_seed = document::list();
            for (std::size_t seed = 0; seed < values.size(); ++seed) {
                by_seed.push_back(jobs.empty() || jobs[seed] > 0 ? document{values[seed]} : document{});
            }
            entry[std::string{figures.measure->name}] =
                document::map({{"mean", of_some ? document{mean_of(values)} : document{}},
                               {"sd", of_some ? document{deviation_of(values)} : document{}},
                               {"by_seed", by_seed}});
        }
        policies.push_back(std::move(entry));
    }
    document differences = document::list();
    for (const compared_figures& figures : comparison.measures) {
        for (std::size_t i = 1; i < figures.policies.size(); ++i) {
            const auto difference = paired_difference_of(figures.policies[0].values, figures.policies[i].values);
            const bool better = (difference.mean > 0.0) == figures.measure->more_is_better;
            const bool comparable = is_comparable(figures, i);
            const auto number = [comparable](double value) { return comparable ? document{value} : document{}; };
            differences.push_back(document::map({{"measure", figures.measure->name},
                                                 {"policy", figures.policies[i].policy},
                                                 {"against", figures.policies[0].policy},
                                                 {"mean", number(difference.mean)},
                                                 {"low_95", number(difference.low)},
                                                 {"high_95", number(difference.high)},
                                                 {"seeds_matter", difference.seeds_matter},
                                                 {"judged", figures.measure->is_judged},
                                                 {"shown", !comparable              ? "not comparable"
                                                           : !difference.is_shown() ? "no difference"
                                                           : better                 ? "better"
                                                                                    : "worse"}}));
        }
    }
    document seeds = document::list();
    const seed_range& range = comparison.plan.lists.seeds;
    for (std::size_t i = 0; i < range.count(); ++i) seeds.push_back(range.at(i));
    const experiment_notes& notes = comparison.notes;
    return document::map(
        {{"version", vgpualloc::version},
         {"config", config},
         {"inputs", json_of(comparison.first_input.files)},
         {"seeds", seeds},
         {"policies", policies},
         {"differences", differences},
         {"timing", document::map({{"wall_s", notes.wall_s}, {"cpu_s", notes.cpu_s}, {"jobs", notes.jobs}})}});
}

} // namespace

named_texts seeds_comparison_files(const seeds_comparison& comparison) {
    std::vector<vgpureport::report_run> shown;
    for (const run_record& record : comparison.first_runs) shown.push_back(describe(record, comparison.first_input));
    rank_only_comparable(shown);
    std::string answer = fmt::format("Over seeds {}, 95 % confidence intervals of differences seed by seed.",
                                     comparison.plan.lists.seeds.text());
    for (const compared_figures& figures : comparison.measures) {
        for (std::size_t i = 1; i < figures.policies.size(); ++i) answer += " " + difference_in_words(figures, i);
    }
    shown.front().answer = answer + fmt::format(" All other figures on this page are those of seed {} alone.",
                                                comparison.plan.lists.seeds.first);
    named_texts files;
    files.emplace_back(summaries_name, vgpuformats::print_json(json_of(comparison), 2) + "\n");
    files.emplace_back("report.html", vgpureport::render_report(shown));
    return files;
}

} // namespace vgpusim
