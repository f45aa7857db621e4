// Forecasts: the trend against what a cluster has.
#include "vgpuops/forecast/forecast.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "vgpuops/show/names.hpp"

namespace vgpuops::forecast {

namespace {

constexpr double milli_of_gpu = 1000;
constexpr double weeks_max = 5218; ///< 100 years

/// A time, unless it is later than anybody plans.
std::optional<ticks> planned_time(const usage_trend& trend, std::optional<double> weeks) {
    if (!weeks || *weeks > trend.last_weeks() + weeks_max) return std::nullopt;
    return trend.time_of(*weeks);
}

full_date date_of_full(const usage_trend& trend, std::int64_t capacity_milli, bool is_full) {
    full_date result{.capacity_milli = capacity_milli};
    const double level = static_cast<double>(capacity_milli) / milli_of_gpu;
    if (is_full) {
        result.state = outlook::full;
        return result;
    }
    if (trend.used_at(trend.last_weeks()) >= level) {
        result.state = outlook::passed;
        if (trend.growth > 0) {
            const double weeks = trend.time_mean + (level - trend.used_mean) / trend.growth;
            if (weeks >= trend.last_weeks() - weeks_max) result.about = trend.time_of(weeks);
        }
        return result;
    }
    const crossing when = crossing_of(trend, level);
    result.about = planned_time(trend, when.about);
    result.state = result.about ? outlook::grows : outlook::never;
    result.from = planned_time(trend, when.from);
    result.to = planned_time(trend, when.to);
    result.or_never = result.from && !result.to;
    return result;
}

std::vector<std::string> nodes_out(const show::overview& seen) {
    std::set<std::string> names;
    for (const show::device_row& row : seen.rows) {
        for (const auto& [because, node] : row.out_because) names.insert(node);
    }
    return {names.begin(), names.end()};
}

/// What the pods of a shape ask of devices: its name without CPU and rules.
std::string device_words(const show::shape_row& shape) {
    std::string rest;
    if (shape.cpu_milli > 0) rest += ", " + show::thousandths(shape.cpu_milli) + " cpu";
    for (const std::string& rule : shape.rules) rest += ", " + rule;
    const bool is_whole = shape.name.size() > rest.size() && shape.name.ends_with(rest);
    return is_whole ? shape.name.substr(0, shape.name.size() - rest.size()) : shape.name;
}

void add_scattered(const show::overview& seen, cluster_forecast& to) {
    to.scattered_pods = std::ranges::count(seen.waiting, show::verdict::scattered, &show::waiting_pod::why);
    for (const show::shape_row& shape : seen.shapes) {
        if (shape.wait == 0 || shape.first_verdict != show::verdict::scattered) continue;
        to.scattered_shapes.push_back(shape.name);
        std::string words = device_words(shape);
        const bool is_known = std::ranges::find(to.scattered_asks, words) != to.scattered_asks.end();
        if (!is_known) to.scattered_asks.push_back(std::move(words));
    }
}

} // namespace

expected<cluster_forecast> forecast_of(const show::overview& seen, const usage_trend& trend) {
    if (seen.gpus == 0) return unexpected(bad_input(error_code::missing, "", "no GPU on these nodes"));
    cluster_forecast result{.trend = trend, .gpus = seen.gpus, .parts = seen.parts, .warnings = seen.warnings};
    const auto [used, free, out] = seen.parts;
    result.in_service = date_of_full(trend, used + free, free == 0);
    if (out > 0) {
        result.with_back = date_of_full(trend, used + free + out, false);
        result.with_back->nodes_back = nodes_out(seen);
    }
    add_scattered(seen, result);
    return result;
}

} // namespace vgpuops::forecast
