#include "vgpusim/outputs/figures.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../workloads.hpp"

namespace {

using vgpusim_test::at;
using vgpusim_test::share;
using vgpusim_test::whole;

vgpusim::run_figures figures_on_four(std::vector<vgputraces::openb_pod> pods, bool departures,
                                     const char* mode = "hami_core", std::int64_t interval_s = 0) {
    vgpusim::run_config config;
    config.departures = departures;
    config.mode = mode;
    config.sample_interval_s = interval_s;
    return vgpusim::figures_of(vgpusim_test::run_of(4, std::move(pods), config));
}

std::vector<vgputraces::openb_pod> four_two_one() {
    return {at(whole("a", 4), 0, 1), at(whole("b", 2), 1, 3), at(whole("c", 1), 4, 5)};
}

TEST(figures, where_pods_leave_they_are_means_over_time_and_the_peak) {
    const auto figures = figures_on_four(four_two_one(), true);
    // Four GPUs for one second, two for two, none for one, one for one: nine of twenty GPU seconds.
    EXPECT_DOUBLE_EQ(figures.allocation_mean_ratio, 9.0 / 20.0);
    EXPECT_DOUBLE_EQ(figures.served_ratio, 9.0 / 20.0);
    EXPECT_DOUBLE_EQ(figures.allocation_until_last_arrival_ratio, 8.0 / 16.0); // the last one comes after four
    EXPECT_EQ(figures.allocation_peak_ratio, 1.0);
    EXPECT_EQ(figures.allocation_end_ratio, 0.0);
    EXPECT_GT(figures.unusable_milli, 0.0);
    EXPECT_DOUBLE_EQ(figures.unusable_of_all_ratio, figures.unusable_milli / 4000.0);
    EXPECT_DOUBLE_EQ(figures.unusable_of_idle_ratio, figures.unusable_milli / 2200.0);
}

TEST(figures, how_often_the_state_is_written_down_changes_nothing) {
    const auto every_event = figures_on_four(four_two_one(), true);
    const auto rarely = figures_on_four(four_two_one(), true, "hami_core", 100);
    EXPECT_EQ(every_event.served_ratio, rarely.served_ratio);
    EXPECT_EQ(every_event.allocation_mean_ratio, rarely.allocation_mean_ratio);
    EXPECT_EQ(every_event.allocation_peak_ratio, rarely.allocation_peak_ratio);
    EXPECT_EQ(every_event.unusable_milli, rarely.unusable_milli);
}

TEST(figures, a_gpu_that_a_tenth_blocks_serves_a_tenth) {
    const std::vector<vgputraces::openb_pod> tenths{share("a", 100), share("b", 100), share("c", 100)};
    const auto alone = figures_on_four(tenths, false, "exclusive");
    EXPECT_DOUBLE_EQ(alone.allocation_mean_ratio, 0.75);
    EXPECT_DOUBLE_EQ(alone.served_ratio, 0.075);
    const auto shared = figures_on_four(tenths, false);
    EXPECT_DOUBLE_EQ(shared.allocation_mean_ratio, 0.075);
    EXPECT_DOUBLE_EQ(shared.served_ratio, 0.075);
}

TEST(figures, the_same_over_time) {
    const std::vector<vgputraces::openb_pod> tenths{at(share("a", 100), 0, 10), at(share("b", 100), 5, 10)};
    const auto alone = figures_on_four(tenths, true, "exclusive");
    EXPECT_DOUBLE_EQ(alone.allocation_mean_ratio, 1.5 / 4.0);
    EXPECT_DOUBLE_EQ(alone.served_ratio, 0.15 / 4.0);
    EXPECT_DOUBLE_EQ(alone.allocation_peak_ratio, 0.5);
}

TEST(figures, where_pods_stay_the_end_stands_in_for_the_mean) {
    const auto figures = figures_on_four({whole("a", 1), whole("b", 1)}, false);
    EXPECT_DOUBLE_EQ(figures.served_ratio, 0.5);
    EXPECT_EQ(figures.allocation_mean_ratio, figures.allocation_end_ratio);
    EXPECT_EQ(figures.allocation_peak_ratio, figures.allocation_end_ratio);
}

TEST(figures, where_no_time_passes_the_end_stands_in_too) {
    const auto figures = figures_on_four({at(whole("a", 1), 5, 5)}, true);
    EXPECT_EQ(figures.served_ratio, 0.0);
    EXPECT_EQ(figures.allocation_mean_ratio, 0.0);
    EXPECT_EQ(figures.allocation_until_last_arrival_ratio, 0.0);
    EXPECT_DOUBLE_EQ(figures.allocation_peak_ratio, 0.25);
}

TEST(figures, pods_that_arrive_at_once_have_no_mean_of_their_own) {
    const auto figures = figures_on_four({at(whole("a", 1), 5, 6), at(whole("b", 1), 5, 9)}, true);
    EXPECT_DOUBLE_EQ(figures.allocation_mean_ratio, 5.0 / 16.0);
    EXPECT_EQ(figures.allocation_until_last_arrival_ratio, figures.allocation_mean_ratio);
}

} // namespace
