#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpuops/import/imported_workload.hpp"

namespace {

namespace importing = vgpuops::importing;
using testing::ElementsAre;
using testing::IsEmpty;
using vgpualloc::ticks;
using vgputraces::accounted_job;

constexpr std::int64_t ticks_of_hour = std::int64_t{3600} * 1'000'000;
constexpr std::int64_t monday = std::int64_t{20'416} * 24; // 2025-11-24, in hours

/// A job with GPUs from one hour after that Monday began to another one.
accounted_job job(std::int64_t gpus, double from_hour, double to_hour) {
    const auto time_of = [](double hour) {
        return ticks{monday * ticks_of_hour + static_cast<std::int64_t>(hour * static_cast<double>(ticks_of_hour))};
    };
    return {.start = time_of(from_hour), .end = time_of(to_hour), .gpus = gpus};
}

/// The mean of each day or week, in milli-GPU.
std::vector<std::int64_t> means(const std::vector<accounted_job>& jobs) {
    std::vector<std::int64_t> result;
    for (const auto& point : importing::usage_of(jobs)) result.push_back(point.used_milli);
    return result;
}

TEST(imported_usage, is_the_mean_of_full_days) {
    // Records cover the time from hour 12, the first end, to hour 80, the last start: two full days.
    const std::vector<accounted_job> jobs{job(1, 0, 12), job(4, 6, 36), job(2, 30, 60), job(8, 80, 90)};
    // Day 2: 4 GPUs for 12 h, 2 for 18 h. Day 3: 2 GPUs for 12 h.
    EXPECT_THAT(means(jobs), ElementsAre(3500, 1000));
    const auto points = importing::usage_of(jobs);
    EXPECT_EQ(points.front().time, ticks{(monday + 36) * ticks_of_hour}) << "the middle of the day";
}

TEST(imported_usage, is_of_the_time_that_the_source_covers) {
    const ticks day{24 * ticks_of_hour};
    const ticks begin{monday * ticks_of_hour};
    const auto points = importing::usage_of({job(1, -90, 12), job(4, 36, 72)},
                                            vgputraces::covered_span{.begin = begin, .end = begin + day * 4});
    ASSERT_EQ(points.size(), 4U);
    EXPECT_EQ(points[0].used_milli, 500);
    EXPECT_EQ(points[1].used_milli, 2000);
    EXPECT_EQ(points[3].used_milli, 0);
}

TEST(imported_usage, is_exact_where_jobs_begin_and_end_within_a_day) {
    // 3 GPUs for 8 h and 7 GPUs for 90 min: (24 + 10.5) / 24 GPUs.
    EXPECT_THAT(means({job(0, -5, 0), job(3, 1, 9), job(7, 8, 9.5), job(0, 24, 25)}), ElementsAre(1438));
}

TEST(imported_usage, counts_a_job_that_runs_to_the_end) {
    std::vector<accounted_job> jobs{job(0, -5, 0), job(5, 12, 13), job(0, 72, 73)};
    jobs[1].is_running = true;
    EXPECT_THAT(means(jobs), ElementsAre(2500, 5000, 5000));
}

TEST(imported_usage, has_weeks_from_monday_where_records_cover_more_than_eight) {
    constexpr std::int64_t week = 168;
    std::vector<accounted_job> jobs{job(0, -30, -20), job(14, 24, 48), job(0, 9 * week, 9 * week + 1)};
    const auto points = importing::usage_of(jobs);
    ASSERT_EQ(points.size(), 9U);
    EXPECT_EQ(points.front().time, ticks{(monday + week / 2) * ticks_of_hour}) << "Thursday at noon";
    EXPECT_EQ(points.front().used_milli, 2000);
    EXPECT_EQ(points.back().used_milli, 0);
    jobs.back() = job(0, 8 * week - 20, 8 * week);
    EXPECT_EQ(importing::usage_of(jobs).size(), 8U * 7U - 1U) << "8 weeks are days";
}

TEST(imported_usage, is_empty_without_a_full_day) {
    EXPECT_THAT(means({job(1, 0, 12), job(4, 20, 36)}), IsEmpty());
    EXPECT_THAT(means({}), IsEmpty());
}

TEST(imported_usage, stands_absurd_numbers_of_gpus) {
    std::vector<accounted_job> jobs(3, job(9'000'000'000'000, 0, 24));
    jobs.push_back(job(0, -5, 0));
    jobs.push_back(job(0, 24, 25));
    EXPECT_THAT(means(jobs), ElementsAre(1'000'000'000'000'000));
}

} // namespace
