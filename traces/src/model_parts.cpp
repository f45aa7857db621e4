// Reading what the models of both generators have in common.
#include "model_parts.hpp"

#include "generator_limits.hpp"

namespace vgputraces {

std::string read_name(const cursor& text, std::string_view allowed, const std::string& expected) {
    std::string name = text.text();
    const bool fits = !name.empty() && name.size() <= limits::name_chars_max;
    if (!fits || name.find_first_not_of(allowed) != std::string::npos) text.fail(error_code::malformed, expected);
    return name;
}

namespace {

constexpr std::string_view prefix_chars = "abcdefghijklmnopqrstuvwxyz0123456789-.";

/// Rounded half up to whole microseconds.
ticks read_interval(const cursor& seconds) {
    const double number = seconds.real(limits::interval_s_min, limits::seconds_max);
    return ticks{static_cast<std::int64_t>(number * 1e6 + 0.5)};
}

} // namespace

std::string read_prefix(const cursor& text) {
    return read_name(text, prefix_chars, "1 to 40 lower-case letters, digits, '-' or '.'");
}

std::int64_t read_weight(const cursor& object) { return object.at("weight").integer({0, limits::weight_max}); }

duration_quantiles read_durations(const cursor& list) {
    duration_quantiles points;
    for (const auto& entry : list.items(2, limits::list_entries_max)) {
        const auto pair = entry.items(2, 2);
        if (pair.size() != 2) return {};
        points.push_back({pair[0].real(0, 1), pair[1].real(0, limits::seconds_max)});
        if (points.size() == 1 && points[0].probability > 0) {
            pair[0].fail(error_code::out_of_range, "0 in the first point");
        }
        if (points.size() == 1) continue;
        const auto& before = points[points.size() - 2];
        if (points.back().probability <= before.probability) {
            pair[0].fail(error_code::out_of_range, "probabilities that increase from point to point");
        }
        if (points.back().seconds < before.seconds) {
            pair[1].fail(error_code::out_of_range, "seconds that never decrease from point to point");
        }
    }
    if (!points.empty() && points.back().probability < 1) {
        list.fail(error_code::out_of_range, "a last point with probability 1");
    }
    return points;
}

arrival_model read_arrivals(const cursor& object, load_key load) {
    arrival_model arrivals;
    const cursor process = object.at("process");
    const std::string name = process.text();
    if (name == "batch") {
        object.only({"process"});
    } else if (name == "fixed") {
        object.only({"process", "interval_s"});
        arrivals.process = arrival_process::fixed;
        arrivals.interval = read_interval(object.at("interval_s"));
    } else if (name == "poisson") {
        arrivals.process = arrival_process::poisson;
        if (load == load_key::allowed && object.has("load")) {
            object.only({"process", "load", "hourly_weights"});
            arrivals.load = object.at("load").real(limits::load_min, limits::load_max);
        } else {
            object.only({"process", "mean_interarrival_s", "hourly_weights"});
            arrivals.interval = read_interval(object.at("mean_interarrival_s"));
        }
    } else {
        process.fail(error_code::unknown_name, "batch, fixed or poisson");
    }
    if (arrivals.process != arrival_process::poisson || !object.has("hourly_weights")) return arrivals;
    const cursor list = object.at("hourly_weights");
    const auto hours = list.items(24, 24);
    if (hours.size() != 24) return arrivals;
    auto& weights = arrivals.hourly_weights.emplace();
    for (std::size_t hour = 0; hour < 24; ++hour) weights[hour] = hours[hour].integer({0, limits::weight_max});
    require_some_weight(list, weights, [](std::int64_t weight) { return weight; });
    return arrivals;
}

} // namespace vgputraces
