// The data island of the report: what the page's scripts draw, as compact JSON. docs/report.md describes the fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vgpureport/report.hpp"

namespace vgpureport {

/// No curve has more points than this; a screen shows no more.
inline constexpr std::size_t points_max = 1'200;

/// No occupancy picture has more columns than this; beyond it a column stands for several nodes.
inline constexpr std::size_t columns_max = 4'000;

/// What the horizontal axis may mean for these runs.
struct timeline {
    bool has_departures = false; ///< pods end in one of the runs
    bool has_clock = false;      ///< simulated time spans at least a second
};
[[nodiscard]] timeline timeline_of(const std::vector<report_run>& runs);

/// The moment whose state is drawn, as it ends a heading.
[[nodiscard]] inline std::string_view moment_shown(const timeline& axes) {
    return axes.has_departures ? "when the most was allocated" : "at the end of the run";
}

/// One label per run: its policy, numbered where two runs share one.
[[nodiscard]] std::vector<std::string> labels_of(const std::vector<report_run>& runs);

/// Thousandths of a percent: the page gets integers only, which are short, exact to print and the same on every
/// machine.
[[nodiscard]] std::int64_t milli_percent(vgpualloc::milli_gpu part, vgpualloc::milli_gpu whole);

struct measure;
/// `rows` say what the legends show while nothing is pointed at.
void append_data(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels,
                 const std::vector<measure>& rows, const vgpualloc::stop_signal& stop);

} // namespace vgpureport
