// A straight line through the use of a cluster over time, by least squares, and when it reaches a number of GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "vgpuops/core_names.hpp"
#include "vgputraces/usage.hpp"

namespace vgpuops::forecast {

using vgpualloc::ticks;

inline constexpr std::int64_t points_min = 3; ///< of two the scatter about the line is not known

/// Time is in weeks since the first point, use in GPUs.
struct usage_trend {
    std::int64_t points = 0;
    ticks first{};
    ticks last{};
    double time_mean = 0;
    double time_squares = 0; ///< sum of squared distances from time_mean
    double used_mean = 0;
    double growth = 0;   ///< GPUs a week
    double variance = 0; ///< of the points about the line: squared residuals divided by points - 2

    /// GPUs that the line has at a time in weeks since the first point.
    [[nodiscard]] double used_at(double weeks) const { return used_mean + growth * (weeks - time_mean); }
    [[nodiscard]] double last_weeks() const;         ///< from the first to the last point
    [[nodiscard]] ticks time_of(double weeks) const; ///< to the minute
};

/// The points are ascending by time, each at a time of its own. Error missing for fewer than points_min.
[[nodiscard]] expected<usage_trend> fit_trend(std::span<const vgputraces::usage_point> points);

/// Confidence of intervals, in percent.
inline constexpr int level_percent = 90;

/// Where the line reaches a level after the last point, in weeks since the first one.
struct crossing {
    std::optional<double> about{}; ///< of the fitted line; absent: it does not grow
    /// The interval. Both absent: at this confidence never. Only `to` absent: from then on, or never.
    std::optional<double> from{};
    std::optional<double> to{};
};

/// All times after the last point at which the level is not refuted: (level - line(x))^2 <= t^2 v (1/n + (x - m)^2 /
/// S), t of Student's distribution with n - 2 degrees of freedom. This is Fieller's set, which has no end where a line
/// that does not grow is not refuted; parts of it that are apart are joined. It is of the line and not of single
/// points. `level` is above the line at the last point.
[[nodiscard]] crossing crossing_of(const usage_trend& trend, double level);

/// The number t for which a variable with Student's distribution is between -t and t with this probability, from 0.01
/// to 0.999. `degrees` is at least 1; more than 100,000 count as 100,000. No function of libm but the square root is
/// used, so that the result is the same everywhere.
[[nodiscard]] double two_sided_t(double probability, std::int64_t degrees);

} // namespace vgpuops::forecast
