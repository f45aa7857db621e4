#include "vgputraces/philly.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using vgpualloc::ticks;
using vgputraces::trace_job;

class philly : public testing::Test {
protected:
    [[nodiscard]] static auto jobs(const std::string& lines, bool skip = false) {
        return vgputraces::read_philly("timestamp,duration,num_gpus,gpu_time,cluster\n" + lines, "p.csv",
                                       {.skip_bad = skip});
    }
    /// What is wrong with a line.
    [[nodiscard]] static std::string failure(const std::string& line) {
        const auto list = jobs(line + "\n");
        return list ? "" : list.error().message();
    }
    /// Seconds between two times.
    [[nodiscard]] static double between(const std::string& first, const std::string& second) {
        const auto list = jobs(first + ",1,1,1,vc\n" + second + ",1,1,1,vc\n");
        return list ? static_cast<double>(list->jobs.back().arrival.count()) / 1e6 : -1.0;
    }
};

TEST_F(philly, orders_by_arrival_and_keeps_the_row_as_the_name) {
    const auto list = jobs("2017-10-09 07:00:10,66.5,2,133.0,vc1\n2017-10-09 07:00:00,3,1,3,vc2\n"
                           "2017-10-09 07:00:10,0,0,0,\n");
    ASSERT_TRUE(list.has_value()) << list.error().message();
    const ticks half_more{66'500'000};
    const ticks three{3'000'000};
    EXPECT_THAT(list->jobs, ElementsAre(trace_job{.name = "1",
                                                  .row = 1,
                                                  .arrival = {},
                                                  .duration = three,
                                                  .estimate = three,
                                                  .devices = 1,
                                                  .cpu = {},
                                                  .memory = {},
                                                  .queue = "vc2"},
                                        trace_job{.name = "0",
                                                  .row = 0,
                                                  .arrival = ticks{10'000'000},
                                                  .duration = half_more,
                                                  .estimate = half_more,
                                                  .devices = 2,
                                                  .cpu = {},
                                                  .memory = {},
                                                  .queue = "vc1"},
                                        trace_job{.name = "2",
                                                  .row = 2,
                                                  .arrival = ticks{10'000'000},
                                                  .duration = ticks{0},
                                                  .estimate = ticks{0},
                                                  .devices = 0,
                                                  .cpu = {},
                                                  .memory = {},
                                                  .queue = ""}));
}

TEST_F(philly, counts_days_of_24_hours_by_the_gregorian_calendar) {
    EXPECT_EQ(between("2016-02-28 00:00:00", "2016-03-01 00:00:00"), 2 * 86400);
    EXPECT_EQ(between("2017-02-28 23:59:59", "2017-03-01 00:00:00"), 1);
    EXPECT_EQ(between("2000-02-29 00:00:00", "2000-03-01 00:00:00"), 86400);
    EXPECT_EQ(between("1900-02-28 00:00:00", "1900-03-01 00:00:00"), 86400);
    // Clocks in Seattle went back an hour that night.
    EXPECT_EQ(between("2017-11-05 00:30:00", "2017-11-05 03:30:00"), 3 * 3600);
    EXPECT_EQ(between("2017-01-01 00:00:00.25", "2017-01-01 00:00:01.0"), 0.75);
    EXPECT_EQ(between("0001-01-01 00:00:00", "9999-12-31 23:59:59"), 315'537'897'599.0);
}

TEST_F(philly, refuses_times_that_do_not_exist) {
    for (const char* time :
         {"2017-02-30 00:00:00", "2017-02-29 00:00:00", "1900-02-29 00:00:00", "2017-13-01 00:00:00",
          "2017-00-01 00:00:00", "2017-01-00 00:00:00", "2017-01-01 24:00:00", "2017-01-01 00:60:00",
          "2017-01-01 00:00:60", "2017-1-1 00:00:00", "2017-01-01", "2017-01-01T00:00:00", "2017-01-01 00:00:00.",
          "2017-01-01 00:00:00.x", "1507532515", "-017-01-01 00:00:00", "NaN", "2017-01-01 00:00:00 "}) {
        EXPECT_THAT(failure(std::string{time} + ",1,1,1,vc"),
                    HasSubstr("p.csv:2: timestamp: got '" + std::string{time} + "', expected a date and time"));
    }
    EXPECT_THAT(failure(",1,1,1,vc"), HasSubstr("p.csv:2: timestamp: missing; expected a date and time"));
}

TEST_F(philly, refuses_durations_and_gpus_that_are_no_amounts) {
    for (const char* bad : {"-1", "-0.5", "NaN", "inf", "1e3", "0x10", " 1", "1 ", "+1", ".5", "1.2.3", "1000000000001",
                            "1000000000000.5", "99999999999999999999999", "\xff"}) {
        EXPECT_THAT(failure("2017-01-01 00:00:00," + std::string{bad} + ",1,1,vc"),
                    HasSubstr("p.csv:2: duration: got '"));
    }
    for (const char* bad : {"-1", "1.0", "1e3", "x", "10000001", "99999999999999999999"}) {
        EXPECT_THAT(failure("2017-01-01 00:00:00,1," + std::string{bad} + ",1,vc"),
                    HasSubstr("p.csv:2: num_gpus: got '" + std::string{bad} + "', expected a whole number from 0 to"));
    }
    EXPECT_THAT(failure("2017-01-01 00:00:00,,1,1,vc"), HasSubstr("p.csv:2: duration: missing; expected a number of"));
    EXPECT_THAT(failure("2017-01-01 00:00:00,1,1,1,v\x01"), HasSubstr("p.csv:2: cluster: got"));
    EXPECT_THAT(failure("2017-01-01 00:00:00,1,1,1"), HasSubstr("p.csv:2: expected 5 fields, found 4"));
    EXPECT_EQ(failure("2017-01-01 00:00:00,1000000000000,10000000,1,vc"), "");
}

TEST_F(philly, rounds_to_the_microsecond) {
    const auto list = jobs("2017-01-01 00:00:00,0.0000004,1,1,vc\n2017-01-01 00:00:00,0.0000005,1,1,vc\n"
                           "2017-01-01 00:00:00,1.9999999,1,1,vc\n");
    ASSERT_TRUE(list.has_value());
    EXPECT_EQ(list->jobs[0].duration, ticks{0});
    EXPECT_EQ(list->jobs[1].duration, ticks{1});
    EXPECT_EQ(list->jobs[2].duration, ticks{2'000'000});
}

TEST_F(philly, needs_its_columns_and_ignores_others) {
    for (const char* missing : {"timestamp", "duration", "num_gpus", "cluster"}) {
        std::string header = "timestamp,duration,num_gpus,cluster";
        header.replace(header.find(missing), std::string{missing}.size(), "other");
        const auto list = vgputraces::read_philly(header + "\n", "p.csv");
        ASSERT_FALSE(list.has_value());
        EXPECT_THAT(list.error().message(), HasSubstr("p.csv:1: " + std::string{missing} + ": missing"));
    }
    const auto list = vgputraces::read_philly("\xEF\xBB\xBF"
                                              "cluster,num_gpus,more,duration,timestamp\r\n"
                                              "vc,4,?,7,2017-01-01 00:00:00\r\n\r\n",
                                              "p.csv");
    ASSERT_TRUE(list.has_value()) << list.error().message();
    EXPECT_EQ(list->jobs.front().devices, 4);
}

TEST_F(philly, measures_arrivals_from_the_earliest_row_that_is_kept) {
    const auto list = jobs("2017-01-01 00:00:00,-1,1,1,vc\n2017-01-01 00:00:09,1,1,1,vc\n2017-01-01 00:00:05,1,1,1\n"
                           "2017-01-01 00:00:08,1,1,1,vc\n",
                           true);
    ASSERT_TRUE(list.has_value()) << list.error().message();
    EXPECT_EQ(list->skipped.count, 2);
    EXPECT_EQ(list->jobs[0].name, "3");
    EXPECT_EQ(list->jobs[1].arrival, ticks{1'000'000});
    EXPECT_THAT(failure(""), HasSubstr("expected at least one job"));
}

} // namespace
