// Forecasts in words and as a document.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "../show/overview_tables.hpp"
#include "../show/short_lines.hpp"
#include "vgpualloc/explain/words.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuops/forecast/forecast.hpp"
#include "vgpuops/show/names.hpp"

namespace vgpuops::forecast {

namespace {

/// "2027-08-24".
std::string day_of(ticks time) {
    const std::chrono::sys_seconds second{std::chrono::seconds{time.count() / vgpualloc::ticks_per_second.count()}};
    return fmt::format("{:%Y-%m-%d}", second);
}

/// A day beside another one, without the year if it is the same: "08-24".
std::string short_day(ticks time, const std::optional<ticks>& beside) {
    constexpr std::size_t year_size = 5; // with its dash
    const std::string day = day_of(time);
    const bool is_same_year = beside && day_of(*beside).substr(0, year_size) == day.substr(0, year_size);
    return is_same_year ? day.substr(year_size) : day;
}

/// "08-09 to 09-10", "08-09 or never", "never".
std::string interval_words(const full_date& when) {
    if (!when.from) return "never";
    const std::string from = short_day(*when.from, when.about);
    return when.to ? fmt::format("{} to {}", from, short_day(*when.to, when.about)) : from + " or never";
}

/// GPUs to the tenth: "32.0".
std::string tenths_of(std::int64_t milli) { return show::gpus(show::rounded(milli, show::tenth)); }

/// "+0.29 a week (26 weeks)".
std::string growth_words(const usage_trend& trend) {
    constexpr double small = 0.01;
    constexpr double weeks_min = 2;
    const double growth = trend.growth == 0 ? 0.0 : trend.growth; // no "-0"
    const std::string rate =
        std::abs(growth) < small && growth != 0 ? fmt::format("{:+.4f}", growth) : fmt::format("{:+.2f}", growth);
    const double weeks = trend.last_weeks();
    const bool is_short = weeks < weeks_min;
    constexpr double days_of_week = 7;
    const auto span = static_cast<std::int64_t>(std::floor((is_short ? weeks * days_of_week : weeks) + 0.5));
    return fmt::format("{} a week ({})", rate, show::several(span, is_short ? "day" : "week"));
}

/// "has been above that since 2026-03-05"; the line is not followed to before its first point.
std::string above_words(const full_date& when, const usage_trend& trend, const std::string& capacity) {
    if (!when.about) return "is above " + capacity;
    if (*when.about < trend.first)
        return fmt::format("has been above {} since before {}", capacity, day_of(trend.first));
    return fmt::format("has been above {} since {}", capacity, day_of(*when.about));
}

std::string first_line(const cluster_forecast& forecast) {
    const full_date& when = forecast.in_service;
    const std::string capacity = tenths_of(when.capacity_milli);
    const std::string growth = growth_words(forecast.trend);
    switch (when.state) {
    case outlook::full:
        return fmt::format("Full already: all of the {} GPUs in service are used; growth {}.", capacity, growth);
    case outlook::passed:
        return fmt::format("The trend {}, at {}; {} are free today.",
                           above_words(when, forecast.trend, capacity + " GPUs in service"), growth,
                           tenths_of(forecast.parts[1]));
    case outlook::grows:
        return fmt::format("Full ({} GPUs in service) about {} ({} %: {}), at {}.", capacity, day_of(*when.about),
                           level_percent, interval_words(when), growth);
    case outlook::never:
        break;
    }
    return fmt::format("Not full ({} GPUs in service) at this growth ({} %: {}): {}.", capacity, level_percent,
                       interval_words(when), growth);
}

/// "With a100-3 back (36.0) about 2027-11-30 (11-10 to 12-23)."
std::string line_with_back(const full_date& when, const usage_trend& trend) {
    constexpr std::size_t pieces_max = 3; // of folded names
    const std::string start =
        fmt::format("With {} back ({})", printable(show::folded_names(when.nodes_back, pieces_max)),
                    tenths_of(when.capacity_milli));
    switch (when.state) {
    case outlook::full:
    case outlook::passed:
        return fmt::format("{} the trend {}.", start, above_words(when, trend, "that"));
    case outlook::grows:
        return fmt::format("{} about {} ({}).", start, day_of(*when.about), interval_words(when));
    case outlook::never:
        break;
    }
    return start + " not full at this growth" + (when.from ? " (" + interval_words(when) + ")." : ".");
}

bool has_interval(const full_date& when) { return when.state == outlook::grows || when.state == outlook::never; }

/// "4 GPUs" of "4 gpu"; what is no number of whole GPUs stays as it is.
std::string gpus_words(const std::string& asks) {
    std::int64_t count = 0;
    const char* const last = asks.data() + asks.size();
    const auto [end, failure] = std::from_chars(asks.data(), last, count);
    const std::string_view unit{end, static_cast<std::size_t>(last - end)};
    return failure == std::errc{} && unit == " gpu" ? show::several(count, "GPU") : printable(asks);
}

void add_scattered_line(const cluster_forecast& forecast, std::string& text) {
    if (forecast.scattered_asks.empty()) return;
    constexpr std::size_t words_max = 40; // a line
    const std::vector<std::string>& asks = forecast.scattered_asks;
    std::string who = "pods of " + gpus_words(asks.front());
    std::size_t shown = 1;
    while (shown < asks.size() && who.size() + asks[shown].size() < words_max) {
        who += " and of " + gpus_words(asks[shown++]);
    }
    if (shown < asks.size())
        who += fmt::format(" and {} more", show::several(static_cast<std::int64_t>(asks.size() - shown), "shape"));
    text += fmt::format("Full in sum comes last: {} wait today (scattered).\n", who);
}

/// Says where the trend is far from what is used today.
void add_note(const cluster_forecast& forecast, std::string& text) {
    constexpr double far = 0.1; // of what is in service
    constexpr double milli_in_gpu = 1000;
    const double trend_milli = forecast.trend.used_at(forecast.trend.last_weeks()) * milli_in_gpu;
    const auto [used, free, out] = forecast.parts;
    if (std::abs(trend_milli - static_cast<double>(used)) <= far * static_cast<double>(used + free)) return;
    text += fmt::format("note: the trend ends at {:.1f} GPUs used, these files have {}\n", trend_milli / milli_in_gpu,
                        tenths_of(used));
}

document day_json(const std::optional<ticks>& time) { return time ? document{day_of(*time)} : document{}; }

document date_json(const full_date& when) {
    constexpr std::array<std::string_view, 4> states{"full", "passed", "grows", "never"};
    return document::map({{"milli", when.capacity_milli},
                          {"nodes_back", document::list_of(when.nodes_back)},
                          {"state", states[static_cast<std::size_t>(when.state)]},
                          {"about", day_json(when.about)},
                          {"from", day_json(when.from)},
                          {"to", day_json(when.to)},
                          {"or_never", when.or_never}});
}

} // namespace

std::string forecast_text(const cluster_forecast& forecast) {
    std::string text = first_line(forecast) + "\n";
    bool is_interval_printed = has_interval(forecast.in_service);
    std::string second;
    if (forecast.with_back) {
        second = line_with_back(*forecast.with_back, forecast.trend);
        is_interval_printed = is_interval_printed || has_interval(*forecast.with_back);
    }
    if (is_interval_printed) second += (second.empty() ? "" : " ") + std::string{"The interval is the trend's alone."};
    if (!second.empty()) text += second + "\n";
    add_scattered_line(forecast, text);
    add_note(forecast, text);
    for (const std::string& line : explaining::warning_lines(forecast.warnings)) text += "warning: " + line + "\n";
    return show::with_short_lines(text);
}

std::string forecast_json(const cluster_forecast& forecast) {
    const usage_trend& trend = forecast.trend;
    document full = document::list({date_json(forecast.in_service)});
    if (forecast.with_back) full.push_back(date_json(*forecast.with_back));
    document warnings = document::list();
    for (const error& warning : forecast.warnings) warnings.push_back(warning.message());
    const document result = document::map(
        {{"schema", "vgpualloc.forecast/1"},
         {"today", document::map({{"gpus", forecast.gpus},
                                  {"used", forecast.parts[0]},
                                  {"free", forecast.parts[1]},
                                  {"out", forecast.parts[2]}})},
         {"trend", document::map({{"points", trend.points},
                                  {"first", day_of(trend.first)},
                                  {"last", day_of(trend.last)},
                                  {"gpus_a_week", trend.growth},
                                  {"gpus_at_last", trend.used_at(trend.last_weeks())},
                                  {"gpus_deviation", std::sqrt(trend.variance)}})},
         {"level_percent", level_percent},
         {"full", std::move(full)},
         {"scattered",
          document::map({{"pods", forecast.scattered_pods}, {"shapes", document::list_of(forecast.scattered_shapes)}})},
         {"warnings", std::move(warnings)}});
    return vgpuformats::print_json(result, 2) + "\n";
}

} // namespace vgpuops::forecast
