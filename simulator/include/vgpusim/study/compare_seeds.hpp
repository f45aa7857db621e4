// The same workload under several policies with several seeds, and whether the policies differ.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpusim/outputs/run_files.hpp"
#include "vgpusim/study/compare.hpp"
#include "vgpusim/study/experiment.hpp"
#include "vgpusim/study/statistics.hpp"

namespace vgpusim {

/// A figure that policies are compared by.
struct compared_measure {
    std::string_view name;  ///< in compare.json
    std::string_view words; ///< for people, with its unit
    double scale = 1.0;     ///< from the figure to that unit
    bool more_is_better = true;
    bool is_judged = true;  ///< whether one policy is called better by it; else it has more or less
    bool of_queues = false; ///< only where jobs wait
};

inline constexpr compared_measure compared_measures[] = {
    {.name = "served_ratio", .words = "served, % of GPUs", .scale = 100.0},
    {.name = "allocation_mean_ratio", .words = "allocated, % of GPUs", .scale = 100.0},
    {.name = "fragmentation_mean_milli", .words = "idle but unusable, GPUs", .scale = 0.001, .more_is_better = false},
    {.name = "pods_placed", .words = "pods placed", .is_judged = false}, // who starves large pods places more of them
    {.name = "wait_mean_s", .words = "mean wait, s", .more_is_better = false, .of_queues = true},
    {.name = "bounded_slowdown_mean", .words = "mean slowdown", .more_is_better = false, .of_queues = true},
    {.name = "served_memory_ratio", .words = "memory served, % of GPUs", .scale = 100.0},
    {.name = "served_compute_ratio", .words = "compute served, % of GPUs", .scale = 100.0},
    {.name = "accepted_gpu_ratio", .words = "accepted, % of the GPUs asked for", .scale = 100.0},
};

struct measured_value {
    double value = 0.0;
    std::size_t jobs = 0; ///< of measures of_queues: how many jobs the value is the mean of
};
using run_measures = std::array<measured_value, std::size(compared_measures)>;

/// The measures of_queues, which need the input; without a queue they are of no job.
struct measured_waits {
    measured_value wait{};
    measured_value slowdown{};
};
[[nodiscard]] measured_waits mean_waits_of(const run_record& run, const simulation_input& input);
[[nodiscard]] run_measures measures_of(const run_record& run, const measured_waits& waits);

/// A run until all that it is compared with are done: means are then over one span (share_span()).
struct unmeasured_run {
    unmeasured_run() = default;
    unmeasured_run(run_record run, const simulation_input& input)
        : record{std::move(run)}, waits{mean_waits_of(record, input)} {}

    /// Gives back what is large or of the input, and what no measure is made of.
    void strip();
    [[nodiscard]] run_measures measures() const { return measures_of(record, waits); }

    run_record record;
    measured_waits waits{};
};

/// A measure of one policy, by seed.
struct measured_policy {
    std::string policy;
    std::vector<double> values;
    std::vector<std::size_t> jobs{}; ///< of measures of_queues: how many jobs the value is the mean of
};

struct compared_figures {
    const compared_measure* measure = nullptr;
    std::vector<measured_policy> policies; ///< in the order of the comparison; what differs is told against the first
};

/// Whether a policy's values are of as many jobs as those of the first one, seed by seed, and of any: a policy that
/// starts only what need not wait would have the shortest waits.
[[nodiscard]] bool is_comparable(const compared_figures& figures, std::size_t policy);

struct seeds_comparison {
    experiment plan;
    experiment_notes notes;
    std::vector<compared_figures> measures;
    loaded_input first_input; ///< that of the first seed
    /// The runs of the first seed, by policy: what report.html shows curves of.
    std::vector<run_record> first_runs;
};

/// Refuses a single seed, which has no confidence interval, and lists from standard input, which every seed reads anew.
[[nodiscard]] expected<void> check_seeds(const run_config& config, const seed_range& seeds);

/// Replays every policy with every seed. `first_input` is what `config` loads with the first seed; the other seeds load
/// theirs. Of each run only the measures are kept, but for those of the first seed.
[[nodiscard]] expected<seeds_comparison>
compare_seeds(const run_config& config, const seed_range& seeds, const vgpuformats::input_source& source,
              loaded_input first_input, const std::vector<std::string>& policies, const experiment_control& control);

/// "spread serves …": what the differences of the measure show of a policy against the first one, in a sentence, or
/// that no difference is shown, or that the two cannot be compared (is_comparable()).
[[nodiscard]] std::string difference_in_words(const compared_figures& figures, std::size_t policy);

/// compare.json and report.html.
[[nodiscard]] named_texts seeds_comparison_files(const seeds_comparison& comparison);

} // namespace vgpusim
