// The self-contained HTML report of one run, or of several runs side by side.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/core/units.hpp"

namespace vgpureport {

/// The cluster after one event.
struct report_sample {
    vgpualloc::ticks time;
    vgpualloc::milli_gpu arrived;
    vgpualloc::milli_gpu allocated;
    double fragmentation_milli = 0.0;
    std::int64_t used_nodes = 0;
    std::int64_t used_gpus = 0;
};

/// One node at the end of the run: what is used of each of its GPUs.
struct report_node {
    std::string name;
    std::string model;
    std::vector<vgpualloc::milli_gpu> used; ///< per GPU in index order, 0 to 1000
    double cpu_used_ratio = 0.0;            ///< 0 to 1
};

/// Everything the report shows of one run.
struct report_run {
    std::string policy;
    vgpualloc::milli_gpu total;
    std::int64_t pods_arrived = 0;
    std::int64_t pods_placed = 0;
    std::vector<std::pair<std::string, std::int64_t>> failures; ///< rejection code, pods; most frequent first
    std::vector<report_sample> samples; ///< in event order; may be millions: the report thins them
    std::vector<report_node> nodes;     ///< in node-list order; may be 100,000: the report groups them
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

/// The library that this program was built with; empty where the build found none.
[[nodiscard]] chart_library built_in_charts();

/// The page: curves of allocation and fragmentation against arrived load, the node × GPU occupancy picture, placed and
/// failed pods with reasons, the configuration. Opens without a network. `runs` is not empty; two runs or more are
/// drawn in the same axes and compared in one table. Without a chart library a sentence stands in place of the curves.
[[nodiscard]] std::string render_report(const std::vector<report_run>& runs,
                                        const chart_library& charts = built_in_charts());

} // namespace vgpureport
