// Trends by least squares.
#include "vgpuops/forecast/trend.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace vgpuops::forecast {

namespace {

constexpr double ticks_per_week = 7.0 * 24 * 3600 * static_cast<double>(vgpualloc::ticks_per_second.count());
constexpr double milli_per_gpu = 1000;

/// For x of 0 and more: the angle is halved until few terms of the series are enough.
double arc_tangent(double x) {
    constexpr int halvings = 4;
    constexpr int terms = 12;
    for (int i = 0; i < halvings; ++i) x /= 1 + std::sqrt(1 + x * x);
    double sum = 0;
    double power = x;
    for (int i = 0; i < terms; ++i) {
        sum += power / (2 * i + 1);
        power *= -x * x;
    }
    return sum * (1 << halvings);
}

/// The probability that a variable with Student's distribution is between -t and t: Abramowitz and Stegun, 26.7.3 and
/// 26.7.4.
double probability_within(double t, std::int64_t degrees) {
    const auto freedom = static_cast<double>(degrees);
    const double cosine_squared = freedom / (freedom + t * t);
    const double sine = t / std::sqrt(freedom + t * t);
    const bool is_odd = degrees % 2 == 1;
    double term = is_odd ? std::sqrt(cosine_squared) : 1.0;
    double sum = 0;
    for (std::int64_t power = is_odd ? 1 : 0; power <= degrees - 2; power += 2) {
        sum += term;
        term *= cosine_squared * static_cast<double>(power + 1) / static_cast<double>(power + 2);
    }
    if (!is_odd) return sine * sum;
    return 2 / std::numbers::pi * (arc_tangent(t / std::sqrt(freedom)) + sine * sum);
}

} // namespace

double two_sided_t(double probability, std::int64_t degrees) {
    constexpr std::int64_t degrees_max = 100'000;
    constexpr int halvings = 60;
    degrees = std::min(degrees, degrees_max);
    double high = 1;
    while (probability_within(high, degrees) < probability) high *= 2;
    double low = 0;
    for (int i = 0; i < halvings; ++i) {
        const double middle = (low + high) / 2;
        (probability_within(middle, degrees) < probability ? low : high) = middle;
    }
    return high;
}

double usage_trend::last_weeks() const { return static_cast<double>((last - first).count()) / ticks_per_week; }

ticks usage_trend::time_of(double weeks) const {
    constexpr double minutes_per_week = 7.0 * 24 * 60;
    const auto minutes = static_cast<std::int64_t>(std::floor(weeks * minutes_per_week + 0.5));
    return first + ticks{minutes * 60 * vgpualloc::ticks_per_second.count()};
}

expected<usage_trend> fit_trend(std::span<const vgputraces::usage_point> points) {
    if (std::ssize(points) < points_min) {
        return unexpected(bad_input(error_code::missing, "",
                                    std::to_string(points.size()) + (points.size() == 1 ? " row" : " rows"),
                                    "at least " + std::to_string(points_min) + " for a trend and its interval"));
    }
    usage_trend result{.points = std::ssize(points), .first = points.front().time, .last = points.back().time};
    const auto weeks_of = [&](const vgputraces::usage_point& point) {
        return static_cast<double>((point.time - result.first).count()) / ticks_per_week;
    };
    const auto gpus_of = [](const vgputraces::usage_point& point) {
        return static_cast<double>(point.used_milli) / milli_per_gpu;
    };
    const auto count = static_cast<double>(points.size());
    for (const auto& point : points) {
        result.time_mean += weeks_of(point) / count;
        result.used_mean += gpus_of(point) / count;
    }
    double products = 0;
    for (const auto& point : points) {
        const double distance = weeks_of(point) - result.time_mean;
        result.time_squares += distance * distance;
        products += distance * (gpus_of(point) - result.used_mean);
    }
    result.growth = products / result.time_squares;
    for (const auto& point : points) {
        const double residual = gpus_of(point) - result.used_at(weeks_of(point));
        result.variance += residual * residual / (count - 2);
    }
    return result;
}

crossing crossing_of(const usage_trend& trend, double level) {
    constexpr double percent = 100;
    const double t = two_sided_t(level_percent / percent, trend.points - 2);
    const double spread = t * t * trend.variance;
    const double of_mean = spread / static_cast<double>(trend.points);
    const double distance = level - trend.used_mean;
    // With u = x - time_mean the set is square u^2 - 2 half u + rest <= 0.
    const double square = trend.growth * trend.growth - spread / trend.time_squares;
    const double half = distance * trend.growth;
    const double rest = distance * distance - of_mean;
    const double root_squared =
        spread * (square / static_cast<double>(trend.points) + distance * distance / trend.time_squares);
    const double last = trend.last_weeks() - trend.time_mean;
    crossing result;
    if (trend.growth > 0) result.about = trend.time_mean + distance / trend.growth;
    std::vector<double> ends; // where the set begins or ends, after the last point
    if (root_squared >= 0) {
        const double sum = half + (half < 0 ? -1 : 1) * std::sqrt(root_squared);
        if (square != 0) ends.push_back(sum / square);
        if (sum != 0) ends.push_back(rest / sum);
    }
    std::erase_if(ends, [&](double end) { return end <= last; });
    const bool has_last = (square * last - 2 * half) * last + rest <= 0;
    const bool is_endless = square < 0 || (square == 0 && half > 0);
    if (!has_last && ends.empty()) return result;
    result.from = trend.time_mean + (has_last ? last : std::ranges::min(ends));
    if (!is_endless && !ends.empty()) result.to = trend.time_mean + std::ranges::max(ends);
    return result;
}

} // namespace vgpuops::forecast
