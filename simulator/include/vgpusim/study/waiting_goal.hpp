// A goal for how long pods wait: "p95 wait <= 30m".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

struct waiting_goal {
    std::string text{};    ///< as "p95 wait <= 30m"
    std::string measure{}; ///< "mean", "p50" to "p99", "max"
    int percent = 0;       ///< of a quantile; 100 for max, 0 for the mean
    ticks limit{};
};

/// Reads "MEASURE wait <= TIME": mean, p1 to p99, or max; a number with the unit s, m, h or d. Errors, at --goal:
/// malformed.
[[nodiscard]] expected<waiting_goal> read_goal(std::string_view text);

/// The measure of these waits, of which so many more never end. A quantile is by nearest rank, as in summary.json.
/// None: the wait is without end, as it is of a mean with any such pod. Of no pods it is 0.
[[nodiscard]] std::optional<ticks> measure_of(const waiting_goal& goal, std::vector<ticks> waits, std::size_t endless);

} // namespace vgpusim
