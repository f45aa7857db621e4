#include "vgputraces/usage.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::ElementsAre;
using vgpualloc::ticks;
using vgputraces::usage_point;

constexpr std::int64_t ticks_of_second = 1'000'000;
constexpr std::int64_t midnight_s = 1'764'028'800; // 2025-11-25

auto usage_rows(const std::string& rows) { return vgputraces::read_usage("time,used\n" + rows, "used.csv"); }

std::string usage_refusal(const std::string& text) {
    const auto read_points = vgputraces::read_usage(text, "used.csv");
    return read_points ? "" : read_points.error().message();
}

/// Seconds after midnight of 2025-11-25.
std::int64_t seconds_after_midnight(const std::string& time) {
    const auto points = usage_rows(time + ",1\n");
    return points ? points->front().time.count() / ticks_of_second - midnight_s : -1;
}

TEST(usage_history, is_read_by_time) {
    const auto points = vgputraces::read_usage("used,node,time\n2.5,x,2025-11-26\n1,y,2025-11-25\n", "used.csv");
    ASSERT_TRUE(points.has_value()) << points.error().message();
    EXPECT_THAT(*points,
                ElementsAre(usage_point{.time = ticks{midnight_s * ticks_of_second}, .used_milli = 1000},
                            usage_point{.time = ticks{(midnight_s + 86'400) * ticks_of_second}, .used_milli = 2500}));
}

TEST(usage_history, has_times_as_iso_8601_writes_them) {
    EXPECT_EQ(seconds_after_midnight("2025-11-25"), 0);
    EXPECT_EQ(seconds_after_midnight("2025-11-25T13:00"), 13 * 3600);
    EXPECT_EQ(seconds_after_midnight("2025-11-25T13:00:05Z"), 13 * 3600 + 5);
    EXPECT_EQ(seconds_after_midnight("2025-11-25 13:00:05"), 13 * 3600 + 5);
    EXPECT_EQ(seconds_after_midnight("2025-11-25T13:00:05.9Z"), 13 * 3600 + 5);
    EXPECT_EQ(seconds_after_midnight("2025-11-25T13:00:05+01:30"), 11 * 3600 + 1805);
    EXPECT_EQ(seconds_after_midnight("2025-11-24T23:00-02:00"), 3600);
}

TEST(usage_history, names_line_field_and_value_of_what_is_wrong) {
    const std::string time = "expected a date or time of ISO 8601 that exists, as 2026-11-25 or 2026-11-25T13:00:00Z";
    for (const char* const wrong : {"yesterday", "2025-11-25X13:00", "2025-02-30", "2025-11-25T25:00:00Z",
                                    "2025-11-25T13", "2025-11-25T13:00:00+1", "2025-11-25T13:00:00+25:00"}) {
        EXPECT_EQ(usage_refusal("time,used\n2025-11-24,1\n" + std::string{wrong} + ",1\n"),
                  "used.csv:3: time: got '" + std::string{wrong} + "', " + time);
    }
    EXPECT_EQ(usage_refusal("time,used\n,1\n"), "used.csv:2: time: missing; " + time);
    EXPECT_EQ(usage_refusal("time,used\n2025-11-25,many\n"),
              "used.csv:2: used: got 'many', expected a number of GPUs from 0 to 10000000");
    EXPECT_EQ(usage_refusal("time,used\n2025-11-25,-1\n"),
              "used.csv:2: used: got '-1', expected a number of GPUs from 0 to 10000000");
    EXPECT_EQ(usage_refusal("time,used\n2025-11-25,1\n2025-11-25T00:00:00Z,2\n"),
              "used.csv:3: time: got '2025-11-25T00:00:00Z', expected every time once");
    EXPECT_EQ(usage_refusal("time,gpus\n2025-11-25,1\n"),
              "used.csv:1: used: missing; expected this column in the header");
    EXPECT_NE(usage_refusal("time,used\n").find("at least one row"), std::string::npos);
    EXPECT_NE(usage_refusal("").find("expected a header line"), std::string::npos);
}

TEST(usage_history, is_written_as_it_is_read) {
    const std::vector<usage_point> points{
        {.time = ticks{(midnight_s + 43'200) * ticks_of_second}, .used_milli = 20'005},
        {.time = ticks{(midnight_s + 129'600) * ticks_of_second}, .used_milli = 0}};
    const std::string text = vgputraces::write_usage(points);
    EXPECT_EQ(text, "time,used\n2025-11-25T12:00:00,20.005\n2025-11-26T12:00:00,0.000\n");
    EXPECT_EQ(vgputraces::read_usage(text, "used.csv").value(), points);
}

} // namespace
