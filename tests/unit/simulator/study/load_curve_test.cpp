#include "vgpusim/study/load_curve.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "../workloads.hpp"

namespace {

using vgpusim::load_curve_of;
using vgpusim::run_record;
using vgpusim::sample;

sample at(std::int64_t arrived, std::int64_t allocated, std::int64_t served = 0, std::int64_t unusable_micro = 0,
          std::int64_t nodes = 0, std::int64_t gpus = 0) {
    return {.time = {},
            .arrived_milli = arrived,
            .allocated_milli = allocated,
            .served = {.memory = served, .compute = 0},
            .unusable_micro = unusable_micro,
            .used_nodes = nodes,
            .used_gpus = gpus};
}

run_record record_of(std::int64_t total, const std::vector<sample>& samples) {
    run_record record;
    record.total_milli = total;
    record.gpus = total / 1000;
    record.result.samples = samples;
    return record;
}

TEST(load_curve, takes_the_mean_of_the_events_that_round_to_a_percent) {
    const auto curve = load_curve_of(record_of(100'000, {at(400, 400, 300, 9'000'000, 0, 0), at(600, 500, 0, 0, 3, 0),
                                                         at(1400, 700, 0, 0, 5, 2), at(100'000, 100'000)}));
    ASSERT_EQ(curve.size(), 101U);
    ASSERT_TRUE(curve[0] && curve[1] && curve[100]);
    EXPECT_DOUBLE_EQ((*curve[0])[0], 0.004);
    EXPECT_DOUBLE_EQ((*curve[0])[1], 0.996);
    EXPECT_DOUBLE_EQ((*curve[0])[2], 0.003);
    EXPECT_DOUBLE_EQ((*curve[0])[3], 9.0);
    EXPECT_DOUBLE_EQ((*curve[0])[4], 9.0 / 99'600);
    EXPECT_DOUBLE_EQ((*curve[0])[5], 9.0 / 100'000);
    EXPECT_DOUBLE_EQ((*curve[1])[0], 0.006);
    EXPECT_DOUBLE_EQ((*curve[1])[6], 4.0);
    EXPECT_DOUBLE_EQ((*curve[1])[7], 1.0);
    EXPECT_DOUBLE_EQ((*curve[100])[4], 0.0); // nothing is idle
}

TEST(load_curve, halves_round_to_the_even_percent) {
    const auto curve = load_curve_of(record_of(1000, {at(5, 1), at(15, 0)}));
    ASSERT_EQ(curve.size(), 3U);
    EXPECT_DOUBLE_EQ((*curve[0])[0], 0.001);
    EXPECT_DOUBLE_EQ((*curve[2])[0], 0.0);
}

TEST(load_curve, a_percent_without_events_takes_those_beside_it_or_stays_empty) {
    const auto curve = load_curve_of(record_of(1000, {at(10, 10), at(30, 20), at(70, 70)}));
    ASSERT_EQ(curve.size(), 8U);
    EXPECT_DOUBLE_EQ((*curve[0])[0], 0.010);
    EXPECT_DOUBLE_EQ((*curve[2])[0], 0.015);
    EXPECT_DOUBLE_EQ((*curve[4])[0], 0.020);
    EXPECT_FALSE(curve[5]);
    EXPECT_DOUBLE_EQ((*curve[6])[0], 0.070);
}

TEST(load_curve, is_empty_without_gpus_and_ends_where_loads_become_absurd) {
    EXPECT_TRUE(load_curve_of(record_of(0, {at(10, 0)})).empty());
    EXPECT_TRUE(load_curve_of(record_of(1000, {})).empty());
    const auto curve = load_curve_of(record_of(1000, {at(10, 0), at(10'000, 0), at(9'000'000'000'000'000, 0)}));
    EXPECT_EQ(curve.size(), vgpusim::load_pct_max + 1);
}

TEST(load_curve, of_a_whole_run_ends_where_the_run_ends) {
    const auto record = vgpusim_test::run_of(4, {vgpusim_test::whole("a", 2), vgpusim_test::whole("b", 2)}, {});
    const auto curve = load_curve_of(record);
    ASSERT_EQ(curve.size(), 101U);
    EXPECT_DOUBLE_EQ((*curve[50])[0], 0.5);
    EXPECT_DOUBLE_EQ((*curve[100])[0], 1.0);
}

} // namespace
