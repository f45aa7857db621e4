#include "vgpusim/study/compare_seeds.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "vgpualloc/version.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuformats/json.hpp"
#include "vgpureport/report.hpp"
#include "vgpusim/engine/latency.hpp"
#include "vgpusim/outputs/figures.hpp"
#include "vgpusim/outputs/queue_figures.hpp"
#include "vgpusim/outputs/report.hpp"
#include "vgpusim/study/parallel.hpp"

namespace vgpusim {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;
using vgpuformats::document;

namespace {

struct measured_value {
    double value = 0.0;
    std::size_t jobs = 0; ///< of which it is the mean, where it is one
};
using measured_run = std::array<measured_value, std::size(compared_measures)>;

/// A run until all runs of its seed are done, as their means are over one span.
struct kept_run {
    run_record record;
    measured_value wait{};
    measured_value slowdown{};
};

kept_run kept_of(run_record record, const simulation_input& input) {
    kept_run kept;
    if (record.has_queue) {
        const group_figures all = queue_figures_of(record, input).all;
        kept.wait = {.value = all.wait_s.mean, .jobs = all.wait_s.count};
        kept.slowdown = {.value = all.bounded_slowdown.mean, .jobs = all.bounded_slowdown.count};
    }
    kept.record = std::move(record);
    return kept;
}

/// Gives back what is large or of the input, and what no measure is made of.
void strip(run_record& record) {
    record.ledger.reset();
    record.at_peak.reset();
    record.result.pods = {};
    record.result.times = {};
    record.result.samples = {};
    record.result.stranded = {};
}

/// In the order of compared_measures.
measured_run measures_of(const kept_run& kept) {
    const run_figures figures = figures_of(kept.record);
    return {{{figures.served_ratio},
             {figures.allocation_mean_ratio},
             {figures.unusable_milli},
             {static_cast<double>(kept.record.rows.placed)},
             kept.wait,
             kept.slowdown,
             {figures.served_memory_ratio},
             {figures.served_compute_ratio}}};
}

} // namespace

expected<void> check_seeds(const run_config& config, const seed_range& seeds) {
    if (seeds.count() < 2) {
        return unexpected(error{.code = error_code::out_of_range,
                                .where = "",
                                .field = "--seeds",
                                .value = seeds.text(),
                                .expected = "two seeds or more; for one there is --seed"});
    }
    for (const auto& [key, path] : paths_of(config)) {
        if (path != vgpuformats::standard_input) continue;
        return unexpected(error{.code = error_code::unsupported,
                                .where = "",
                                .field = key,
                                .value = path,
                                .expected = "a file, because every seed reads it again"});
    }
    return {};
}

expected<seeds_comparison> compare_seeds(const run_config& config, const seed_range& seeds,
                                         const vgpuformats::input_source& source, loaded_input first_input,
                                         const std::vector<std::string>& policies, std::size_t jobs,
                                         const std::function<void(std::size_t)>& tell) {
    using shared_input = shared_while_used<expected<loaded_input>>;
    const std::size_t runs = seeds.count() * policies.size();
    std::vector<std::unique_ptr<shared_input>> inputs; // by seed; that of the first is kept
    for (std::size_t i = 0; i < seeds.count(); ++i) {
        inputs.push_back(std::make_unique<shared_input>(policies.size() + (i == 0 ? 1 : 0)));
    }
    static_cast<void>(inputs.front()->get([&] { return expected<loaded_input>{std::move(first_input)}; }));
    std::vector<kept_run> kept(runs); // by seed, then policy
    const std::uint64_t begin = now_ns();
    const double cpu_begin = cpu_seconds();
    const auto load = [&](std::size_t seed) -> const expected<loaded_input>& {
        return inputs[seed]->get([&] {
            run_config seeded = config;
            seeded.seed = seeds.at(seed);
            return load_input(seeded, source);
        });
    };
    const auto done = for_each_parallel(
        runs, jobs,
        [&](std::size_t piece) -> expected<void> {
            const std::size_t seed = piece / policies.size();
            const std::size_t policy = piece % policies.size();
            const auto& loaded = load(seed);
            if (!loaded) return unexpected(loaded.error());
            run_config one = config;
            one.policy = policies[policy];
            one.seed = seeds.at(seed);
            auto record = replay(one, *loaded, loaded->input.nodes, {});
            if (!record) return unexpected(std::move(record).error());
            kept[piece] = kept_of(*std::move(record), loaded->input);
            if (seed > 0) strip(kept[piece].record); // those of the first seed are shown
            inputs[seed]->done();
            return {};
        },
        tell);
    if (!done) return unexpected(done.error());
    std::vector<measured_run> measured; // as `kept`
    for (std::size_t seed = 0; seed < seeds.count(); ++seed) {
        const auto of_seed = std::span{kept}.subspan(seed * policies.size(), policies.size());
        std::vector<run_record*> compared;
        for (kept_run& run : of_seed) compared.push_back(&run.record);
        share_span(compared);
        for (const kept_run& run : of_seed) measured.push_back(measures_of(run));
    }
    seeds_comparison result{.config = config,
                            .seeds = seeds,
                            .measures = {},
                            .first_input = *load(0),
                            .first_runs = {},
                            .wall_s = static_cast<double>(now_ns() - begin) / 1e9,
                            .cpu_s = cpu_seconds() - cpu_begin,
                            .jobs = jobs};
    for (std::size_t policy = 0; policy < policies.size(); ++policy) {
        result.first_runs.push_back(std::move(kept[policy].record));
    }
    for (std::size_t m = 0; m < std::size(compared_measures); ++m) {
        if (compared_measures[m].of_queues && !result.first_runs.front().has_queue) continue;
        compared_figures figures{.measure = &compared_measures[m], .policies = {}};
        for (std::size_t policy = 0; policy < policies.size(); ++policy) {
            measured_policy values{.policy = policies[policy], .values = {}};
            for (std::size_t seed = 0; seed < seeds.count(); ++seed) {
                const measured_value& entry = measured[seed * policies.size() + policy][m];
                values.values.push_back(entry.value);
                if (compared_measures[m].of_queues) values.jobs.push_back(entry.jobs);
            }
            figures.policies.push_back(std::move(values));
        }
        result.measures.push_back(std::move(figures));
    }
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
    const double sign = is_more ? scale : -scale;
    if (!difference.seeds_matter) {
        return fmt::format("{}: {} is {} than {} by {:.3f} (the seed changes nothing: all runs are one).",
                           figures.measure->words, second.policy,
                           is_more == figures.measure->more_is_better ? "better" : "worse", first.policy,
                           sign * difference.mean);
    }
    return fmt::format("{}: {} is {} than {} by {:.3f} (95 % interval {:.3f} to {:.3f}).", figures.measure->words,
                       second.policy, is_more == figures.measure->more_is_better ? "better" : "worse", first.policy,
                       sign * difference.mean, sign * (is_more ? difference.low : difference.high),
                       sign * (is_more ? difference.high : difference.low));
}

namespace {

document json_of(const seeds_comparison& comparison) {
    document config;
    for (const auto& [key, value] : shown_settings(comparison.config)) {
        if (key != "policy" && key != "seed" && key != "out") config[key] = value;
    }
    document inputs = document::list();
    for (const input_file& file : comparison.first_input.files) {
        inputs.push_back(document::map({{"path", file.path}, {"sha256", file.sha256}}));
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
                                                 {"shown", !comparable              ? "not comparable"
                                                           : !difference.is_shown() ? "no difference"
                                                           : better                 ? "better"
                                                                                    : "worse"}}));
        }
    }
    document seeds = document::list();
    for (std::size_t i = 0; i < comparison.seeds.count(); ++i) seeds.push_back(comparison.seeds.at(i));
    return document::map(
        {{"version", vgpualloc::version},
         {"config", config},
         {"inputs", inputs},
         {"seeds", seeds},
         {"policies", policies},
         {"differences", differences},
         {"timing",
          document::map({{"wall_s", comparison.wall_s}, {"cpu_s", comparison.cpu_s}, {"jobs", comparison.jobs}})}});
}

} // namespace

named_texts seeds_comparison_files(const seeds_comparison& comparison) {
    std::vector<vgpureport::report_run> shown;
    for (const run_record& record : comparison.first_runs) shown.push_back(describe(record, comparison.first_input));
    rank_only_comparable(shown);
    std::string answer =
        fmt::format("Over seeds {}, 95 % confidence intervals of differences seed by seed.", comparison.seeds.text());
    for (const compared_figures& figures : comparison.measures) {
        for (std::size_t i = 1; i < figures.policies.size(); ++i) answer += " " + difference_in_words(figures, i);
    }
    shown.front().answer =
        answer + fmt::format(" All other figures on this page are those of seed {} alone.", comparison.seeds.first);
    named_texts files;
    files.emplace_back(summaries_name, vgpuformats::print_json(json_of(comparison), 2) + "\n");
    files.emplace_back("report.html", vgpureport::render_report(shown));
    return files;
}

} // namespace vgpusim
