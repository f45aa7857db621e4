// The self-contained HTML report of one run, or of several runs side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/core/stop.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpureport/history.hpp"

namespace vgpureport {

/// The cluster after one event.
struct report_sample {
    vgpualloc::ticks time;
    vgpualloc::milli_gpu arrived;
    vgpualloc::milli_gpu allocated;
    vgpualloc::milli_gpu served; ///< asked for by the pods that run
    double fragmentation_milli = 0.0;
    std::int64_t used_nodes = 0;
    std::int64_t used_gpus = 0;
};

/// One node at the moment that the report shows: what is used of each of its GPUs.
struct report_node {
    std::string name;
    std::string model;
    std::vector<vgpualloc::milli_gpu> used; ///< per GPU in index order, 0 to 1000
    double cpu_used_ratio = 0.0;            ///< 0 to 1
    /// Per GPU, how many slices it has where it is cut into slices in fixed places (MIG), else 0; empty: none is.
    std::vector<std::uint16_t> slices{};
};

/// The figures that sum a run up, as fractions of all GPUs, 0 to 1. Where pods leave they are means over time, but for
/// the peak; where pods stay they are those of the end.
struct report_figures {
    double served = 0.0;
    double served_memory = 0.0;
    double served_compute = 0.0;
    double allocated = 0.0;
    double allocated_peak = 0.0;
    double fragmentation = 0.0;         ///< idle but of no use
    double fragmentation_of_idle = 0.0; ///< the same as a fraction of what is idle
    std::int64_t used_gpus = 0;         ///< at the moment that is shown
    std::int64_t used_nodes = 0;
};

/// How many pods of one kind of request arrived and how many of them failed.
struct report_class {
    std::string name;
    std::int64_t arrived = 0;
    std::int64_t failed = 0;
};

/// Pods that ask for about as many GPUs: how many of them were accepted, and how long those waited.
struct report_size {
    std::string name;
    std::int64_t arrived = 0;
    std::int64_t accepted = 0;
    std::optional<double> wait_s; ///< mean; empty where nothing waits or none was accepted
};

/// A quantity after every sample, drawn as a curve of its own: the length of the queue, power, ….
struct report_series {
    std::string key;            ///< of all runs of a report: curves of one key share a chart
    std::string title;          ///< of the chart
    std::string unit;           ///< "W"; empty for counts
    std::vector<double> values; ///< one per report_run::samples
};

/// Durations of some jobs, from which the curve of their distribution is drawn.
struct report_distribution {
    std::string group; ///< a queue or class; empty: all jobs of the run
    std::vector<double> seconds;
};

/// How a quantity is spread over the jobs of one class or queue.
struct report_spread {
    std::string measure; ///< "Wait"; rows of one measure share a table
    std::string unit;    ///< "s"; empty for a ratio
    std::string by;      ///< "class" or "queue"; empty: the row of all jobs
    std::string group;   ///< its name; empty where `by` is
    std::int64_t jobs = 0;
    double mean = 0.0;
    double p50 = 0.0;
    double p95 = 0.0;
    double p99 = 0.0;
    double max = 0.0;
};

/// Which of two values is the better one.
enum class better { higher, lower, neither };

/// A number that sums the run up, besides report_figures: fairness, preemptions, lost pods, energy, ….
struct report_figure {
    std::string name;
    std::string unit; ///< stands after the number; empty for a count or ratio
    int decimals = 0;
    better direction = better::neither;
    std::optional<double> value; ///< empty: does not apply to this run
    bool headline = false;       ///< also shown as a card
};

/// Everything the report shows of one run.
struct report_run {
    std::string policy;
    std::string answer; ///< what the run shows, as sentences; may be empty
    vgpualloc::milli_gpu total;
    std::int64_t pods_arrived = 0;
    std::int64_t pods_placed = 0;
    bool pods_leave = false;     ///< then the state shown is that of the peak of allocation, else that of the end
    vgpualloc::ticks peak_after; ///< the peak, from the first arrival on; of no meaning where pods stay
    std::optional<double> accepted_gpus; ///< of the GPUs that pods asked for, 0 to 1; empty where none was asked for
    report_figures figures;
    std::vector<report_class> classes;                          ///< by what was asked for, in the order of the table
    std::vector<report_size> sizes;                             ///< smallest first, those that arrived
    std::vector<std::pair<std::string, std::int64_t>> failures; ///< rejection code, pods; most frequent first
    std::vector<report_sample> samples;       ///< in event order; may be millions: the report thins them
    std::vector<report_node> nodes;           ///< in node-list order; may be 100,000: the report groups them
    occupancy_history history;                ///< without events, the picture is that of `nodes` alone
    std::optional<vgpualloc::ticks> shown_at; ///< the moment that `nodes` is of; absent: the end
    std::vector<report_series> series;        ///< further curves
    std::vector<report_distribution> waits;   ///< from arrival to start
    std::vector<report_spread> spreads;       ///< in the order of the tables
    std::vector<report_figure> more_figures;  ///< in the order of the comparison
    std::vector<std::pair<std::string, std::string>> facts; ///< effective configuration and inputs, shown as a table
    double decisions_per_second = 0.0;
    double latency_p50_us = 0.0;
    double latency_p99_us = 0.0;
};

/// The script library that draws the curves, as the text of its files. An empty script: the page has no curves.
struct chart_library {
    std::string_view script;
    std::string_view style;
    std::string_view licence;
};

/// One seed shows a lead of a percentage point no better than this: over the seeds of one small cluster, policies that
/// lie that close change places. A smaller lead is shown, but nobody is called best for it.
inline constexpr double lead_min_pct = 1.0;

/// The library that this program was built with; empty where the build found none.
[[nodiscard]] chart_library built_in_charts();

/// The page: curves of allocation and fragmentation against arrived load, the node × GPU occupancy picture, placed and
/// failed pods with reasons, the configuration. Opens without a network. `runs` is not empty; two runs or more are
/// drawn in the same axes and compared in one table. Without a chart library a sentence stands in place of the curves.
/// Once an end is wanted, the page is cut short.
[[nodiscard]] std::string render_report(const std::vector<report_run>& runs,
                                        const chart_library& charts = built_in_charts(),
                                        const vgpualloc::stop_signal& stop = {});

} // namespace vgpureport
