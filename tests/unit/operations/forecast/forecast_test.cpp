#include "vgpuops/forecast/forecast.hpp"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpuformats/json.hpp"

namespace {

namespace forecast = vgpuops::forecast;
namespace show = vgpuops::show;
using testing::HasSubstr;
using testing::Not;
using vgpualloc::ticks;

constexpr std::int64_t ticks_of_day = std::int64_t{24} * 3600 * 1'000'000;

/// A line that begins on 2026-01-01 with `start` GPUs, of 11 weekly points that are `scatter` GPUs above or below it.
forecast::usage_trend trend_of(double start, double growth, double scatter = 0) {
    constexpr std::int64_t first_day = 20'454;
    constexpr std::array<int, 11> sides{1, -1, -1, 1, 0, 0, 0, 1, -1, -1, 1}; // without a slope of their own
    std::vector<vgputraces::usage_point> points;
    for (std::size_t week = 0; week < sides.size(); ++week) {
        const double gpus = start + growth * static_cast<double>(week) + scatter * sides[week];
        points.push_back({.time = ticks{(first_day + 7 * static_cast<std::int64_t>(week)) * ticks_of_day},
                          .used_milli = static_cast<std::int64_t>(gpus * 1000 + 0.5)});
    }
    return forecast::fit_trend(points).value();
}

/// Eight GPUs of which some are out of service on node n2.
show::overview cluster(std::int64_t used, std::int64_t free, std::int64_t out) {
    show::overview seen{.gpus = (used + free + out) / 1000, .parts = {used, free, out}};
    seen.rows.push_back({.kind = "T4 whole", .nodes = {"n1", "n2"}, .gpus = seen.gpus, .parts = seen.parts});
    if (out > 0) seen.rows.front().out_because = {{"cordoned", "n2"}};
    return seen;
}

std::string text_of(const show::overview& seen, const forecast::usage_trend& trend) {
    return forecast::forecast_text(forecast::forecast_of(seen, trend).value());
}

TEST(cluster_forecast, tells_when_what_is_in_service_and_what_comes_back_is_full) {
    // 10 weeks after the first point 3 are used; 3 more take 15 weeks, 2 more again 10 weeks.
    EXPECT_EQ(text_of(cluster(3000, 3000, 2000), trend_of(1, 0.2)),
              "Full (6.0 GPUs in service) about 2026-06-25 (90 %: 06-25 to 06-25), at +0.20 a week (10 weeks).\n"
              "With n2 back (8.0) about 2026-09-03 (09-03 to 09-03). The interval is the trend's alone.\n");
}

TEST(cluster_forecast, has_one_date_where_nothing_is_out_of_service) {
    EXPECT_EQ(text_of(cluster(3000, 5000, 0), trend_of(1, 0.2)),
              "Full (8.0 GPUs in service) about 2026-09-03 (90 %: 09-03 to 09-03), at +0.20 a week (10 weeks).\n"
              "The interval is the trend's alone.\n");
}

TEST(cluster_forecast, names_the_year_where_it_is_another_one) {
    const std::string text = text_of(cluster(3000, 5000, 0), trend_of(3, 0.1, 0.1));
    EXPECT_THAT(text, HasSubstr("about 2026-12-"));
    EXPECT_THAT(text, HasSubstr(" to 2027-"));
}

TEST(cluster_forecast, tells_that_growth_may_be_none) {
    EXPECT_THAT(text_of(cluster(3000, 5000, 0), trend_of(2.5, 0.02, 1)), HasSubstr(" or never), at +0.02 a week"));
    EXPECT_THAT(text_of(cluster(3000, 5000, 0), trend_of(3.5, -0.02, 1)),
                testing::MatchesRegex("Not full \\(8\\.0 GPUs in service\\) at this growth \\(90 %: 20..-..-.. or "
                                      "never\\): -0\\.02 a week \\(10 weeks\\)\\.\n.*"));
}

TEST(cluster_forecast, is_never_full_without_growth) {
    EXPECT_EQ(text_of(cluster(3000, 3000, 2000), trend_of(3, 0)),
              "Not full (6.0 GPUs in service) at this growth (90 %: never): +0.00 a week (10 weeks).\n"
              "With n2 back (8.0) not full at this growth. The interval is the trend's alone.\n");
    EXPECT_THAT(text_of(cluster(3000, 5000, 0), trend_of(3, 0.0005)), HasSubstr("never): +0.0005 a week"))
        << "more than 100 years later";
}

TEST(cluster_forecast, is_full_where_nothing_is_free) {
    EXPECT_EQ(text_of(cluster(6000, 0, 2000), trend_of(4, 0.2)),
              "Full already: all of the 6.0 GPUs in service are used; growth +0.20 a week (10 weeks).\n"
              "With n2 back (8.0) about 2026-05-21 (05-21 to 05-21). The interval is the trend's alone.\n");
}

TEST(cluster_forecast, says_that_the_trend_is_above_what_is_not_full) {
    const std::string text = text_of(cluster(3000, 3000, 2000), trend_of(5, 0.2));
    EXPECT_THAT(text,
                HasSubstr("The trend has been above 6.0 GPUs in service since 2026-02-05, at +0.20 a week (10 weeks);\n"
                          "  3.0 are free today.\n"));
    EXPECT_THAT(text, HasSubstr("note: the trend ends at 7.0 GPUs used, these files have 3.0\n"));
    EXPECT_THAT(text_of(cluster(3000, 3000, 0), trend_of(8, -0.1)),
                HasSubstr("The trend is above 6.0 GPUs in service, at -0.10 a week (10 weeks); 3.0 are free today.\n"));
}

TEST(cluster_forecast, has_a_note_only_where_trend_and_cluster_differ) {
    EXPECT_THAT(text_of(cluster(3000, 5000, 0), trend_of(1.7, 0.2)), Not(HasSubstr("note:")));
    EXPECT_THAT(text_of(cluster(3000, 5000, 0), trend_of(1.9, 0.2)), HasSubstr("note:"));
}

TEST(cluster_forecast, names_the_pods_that_are_scattered_today) {
    show::overview seen = cluster(3000, 5000, 0);
    const auto add_shape = [&](const std::string& name, show::verdict why) {
        seen.shapes.push_back({.name = name, .wait = 1, .first_verdict = why});
        seen.waiting.push_back({.name = "ns/" + name, .why = why});
    };
    add_shape("4 gpu, 48 cpu", show::verdict::scattered);
    seen.shapes.back().cpu_milli = 48'000;
    add_shape("1 gpu", show::verdict::gate);
    EXPECT_THAT(text_of(seen, trend_of(1, 0.2)),
                HasSubstr("Full in sum comes last: pods of 4 GPUs wait today (scattered).\n"));
    add_shape("4 gpu, pool=dev", show::verdict::scattered);
    seen.shapes.back().rules = {"pool=dev"};
    add_shape("2 gpu", show::verdict::scattered);
    EXPECT_THAT(text_of(seen, trend_of(1, 0.2)), HasSubstr(": pods of 4 GPUs and of 2 GPUs wait today (scattered).\n"));
    add_shape("32768 MiB, 60 cores, L40S", show::verdict::scattered);
    EXPECT_THAT(text_of(seen, trend_of(1, 0.2)), HasSubstr(": pods of 4 GPUs and of 2 GPUs and 1 shape more wait"));
}

TEST(cluster_forecast, needs_a_gpu) {
    const auto refused = forecast::forecast_of({}, trend_of(1, 0.2));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().message(), "no GPU on these nodes");
}

TEST(cluster_forecast, is_a_document_with_every_member) {
    const auto seen = forecast::forecast_of(cluster(3000, 3000, 2000), trend_of(1, 0.2)).value();
    const auto json = vgpuformats::parse_json(forecast::forecast_json(seen), "f.json");
    ASSERT_TRUE(json.has_value());
    const std::string text = forecast::forecast_json(seen);
    for (const char* const member : {"schema", "today", "trend", "level_percent", "full", "scattered", "warnings"}) {
        EXPECT_THAT(text, HasSubstr("\"" + std::string{member} + "\":"));
    }
    EXPECT_THAT(text, HasSubstr("\"about\": \"2026-06-25\""));
    EXPECT_THAT(text, HasSubstr("\"about\": \"2026-09-03\""));
}

} // namespace
