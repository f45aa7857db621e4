#include "vgpusim/study/waiting_goal.hpp"

#include <gtest/gtest.h>

namespace {

using vgpualloc::ticks;
using vgpusim::measure_of;
using vgpusim::read_goal;

constexpr ticks goal_second{1'000'000};

TEST(waiting_goal, is_read) {
    const auto goal = read_goal("  p95 wait  <=  1.5h ");
    ASSERT_TRUE(goal) << goal.error().message();
    EXPECT_EQ(goal->text, "p95 wait <= 1.5h");
    EXPECT_EQ(goal->percent, 95);
    EXPECT_EQ(goal->limit, 5400 * goal_second);
    EXPECT_EQ(read_goal("max wait <= 0s")->percent, 100);
    EXPECT_EQ(read_goal("mean wait <= 2d")->limit, 172'800 * goal_second);
}

TEST(waiting_goal, refuses_other_texts) {
    for (const char* const text :
         {"", "p95 wait", "p95 wait <= 30", "p95 wait < 30m", "p0 wait <= 1m", "p095 wait <= 1m", "p95 wait <= -0s",
          "p100 wait <= 1m", "p9x wait <= 1m", "p95 slowdown <= 1m", "p95 wait <= -1m", "p95 wait <= 1m now"}) {
        const auto goal = read_goal(text);
        ASSERT_FALSE(goal) << text;
        EXPECT_EQ(goal.error().where, "--goal");
    }
}

TEST(waiting_goal, quantiles_are_by_nearest_rank_and_endless_waits_come_last) {
    const auto measure = [](const char* text, std::vector<ticks> waits, std::size_t endless) {
        return measure_of(read_goal(text).value(), std::move(waits), endless);
    };
    std::vector<ticks> waits;
    for (int i = 1; i <= 19; ++i) waits.push_back(i * goal_second);
    EXPECT_EQ(measure("p95 wait <= 1s", waits, 0), 19 * goal_second); // rank 18.05
    EXPECT_EQ(measure("p50 wait <= 1s", waits, 0), 10 * goal_second);
    EXPECT_EQ(measure("p95 wait <= 1s", waits, 1), 19 * goal_second); // rank 19 of 20
    EXPECT_EQ(measure("p96 wait <= 1s", waits, 1), std::nullopt);
    EXPECT_EQ(measure("max wait <= 1s", waits, 0), 19 * goal_second);
    EXPECT_EQ(measure("mean wait <= 1s", waits, 0), 10 * goal_second);
    EXPECT_EQ(measure("mean wait <= 1s", waits, 1), std::nullopt);
    EXPECT_EQ(measure("max wait <= 1s", {}, 0), ticks{});
}

} // namespace
