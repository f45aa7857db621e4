#include "vgpusim/study/statistics.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace {

using vgpusim::paired_difference_of;
using vgpusim::t_quantile_975;

TEST(statistics, mean_and_deviation_of_a_textbook_sample) {
    const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
    EXPECT_DOUBLE_EQ(vgpusim::mean_of(values), 5.0);
    EXPECT_NEAR(vgpusim::deviation_of(values), 2.138089935299395, 1e-15); // sqrt(32 / 7)
    EXPECT_EQ(vgpusim::deviation_of(std::vector<double>{3.0}), 0.0);
    EXPECT_EQ(vgpusim::mean_of(std::vector<double>{}), 0.0);
}

// Printed tables of Student's t, two-sided 5 %.
TEST(statistics, quantiles_are_those_of_printed_tables) {
    EXPECT_NEAR(t_quantile_975(1), 12.706, 0.0005);
    EXPECT_NEAR(t_quantile_975(2), 4.303, 0.0005);
    EXPECT_NEAR(t_quantile_975(9), 2.262, 0.0005);
    EXPECT_NEAR(t_quantile_975(30), 2.042, 0.0005);
    EXPECT_NEAR(t_quantile_975(120), 1.980, 0.0005);
    EXPECT_NEAR(t_quantile_975(200), 1.972, 0.0005);
    EXPECT_EQ(t_quantile_975(999), t_quantile_975(200));
    for (std::size_t df = 2; df <= 200; ++df) EXPECT_LT(t_quantile_975(df), t_quantile_975(df - 1)) << df;
}

TEST(statistics, differences_are_paired_by_seed) {
    const std::vector<double> first{10, 20, 30};
    const auto better = paired_difference_of(first, std::vector<double>{11, 22, 33});
    EXPECT_DOUBLE_EQ(better.mean, 2.0); // deviation 1, half width 4.302653 / sqrt(3)
    EXPECT_NEAR(better.low, 2.0 - 2.484138, 1e-6);
    EXPECT_NEAR(better.high, 2.0 + 2.484138, 1e-6);
    EXPECT_FALSE(better.is_shown());
    EXPECT_TRUE(paired_difference_of(first, std::vector<double>{11, 21.1, 31}).is_shown());
    EXPECT_TRUE(paired_difference_of(first, std::vector<double>{9, 18.9, 29}).is_shown());
    EXPECT_FALSE(paired_difference_of(first, first).is_shown());
}

} // namespace
