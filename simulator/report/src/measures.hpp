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

/// One row of the comparison: a number of every run.
struct measure {
    std::string name;
    std::string_view when; ///< the moment or time that the number is of; may be empty
    std::string unit;      ///< stands after the number, with its space where one belongs
    std::string unit_of_difference;
    int decimals = 0;
    better direction = better::neither;
    double lead_min = 0.0;    ///< a smaller difference may be chance, and nobody is best by it
    std::string_view curve{}; ///< whose legend says this number while nothing is pointed at; may be empty
    bool is_headline = false; ///< of a further figure: it is also shown as a card
    std::vector<std::optional<double>> values{}; ///< per run; empty where the run has no such number

    /// Name and moment.
    [[nodiscard]] std::string title() const;
    /// The value of one run as the page shows it.
    [[nodiscard]] std::string shown(std::size_t run) const;
};

/// Who is best by one measure. Values that read the same on the page count as equal, so the page never contradicts
/// itself.
struct verdict {
    std::vector<bool> best; ///< per run; all false if there is nothing to win
    /// "+2.31 points (2.5 %)" over the next best, with a remark if that may be chance; "equal"; or nothing
    std::string margin;
};
[[nodiscard]] verdict judge(const measure& row);

[[nodiscard]] std::vector<measure> measures_of(const std::vector<report_run>& runs, const timeline& axes);

[[nodiscard]] inline std::int64_t failed(const report_run& run) { return run.pods_arrived - run.pods_placed; }

} // namespace vgpureport
