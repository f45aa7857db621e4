// The numbers that sum a run up, and which run is best by each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data.hpp"
#include "vgpureport/report.hpp"

namespace vgpureport {

enum class better { higher, lower, neither };

/// One row of the comparison: a number of every run.
struct measure {
    std::string_view title;
    std::string_view unit; ///< stands after the number, with its space where one belongs
    std::string_view unit_of_difference;
    int decimals = 0;
    better direction = better::neither;
    std::vector<std::optional<double>> values; ///< per run; empty where the run has no such number

    /// The value of one run as the page shows it.
    [[nodiscard]] std::string shown(std::size_t run) const;
};

/// Who is best by one measure. Values that read the same on the page count as equal, so the page never contradicts
/// itself.
struct verdict {
    std::vector<bool> best; ///< per run; all false if there is nothing to win
    std::string margin;     ///< "+2.31 points (2.5 %)" over the next best, "equal", or nothing
};
[[nodiscard]] verdict judge(const measure& row);

[[nodiscard]] std::vector<measure> measures_of(const std::vector<report_run>& runs, const timeline& axes);

[[nodiscard]] inline std::int64_t failed(const report_run& run) { return run.pods_arrived - run.pods_placed; }

} // namespace vgpureport
