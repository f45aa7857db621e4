// The truncated sigmoid without exp, against exp.
#include "vgpualloc/compat/fgd/sigmoid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "vgpualloc/core/rng.hpp"

namespace vgpualloc::compat {
namespace {

/// The formula as the reference simulator has it.
double by_formula(double d) { return std::trunc(100.0 * (1.0 / (1.0 + std::exp(-d)))); }

TEST(sigmoid, agrees_with_the_formula_on_a_grid_and_on_random_values) {
    for (int i = -200000; i <= 200000; ++i) {
        const double d = i / 10000.0;
        ASSERT_EQ(sigmoid_score(d), by_formula(d)) << d;
    }
    rng drawn{3};
    for (int i = 0; i < 200000; ++i) {
        const double d = (drawn.unit() - 0.5) * 16.0;
        ASSERT_EQ(sigmoid_score(d), by_formula(d)) << d;
    }
}

TEST(sigmoid, steps_exactly_at_its_thresholds) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    EXPECT_TRUE(std::ranges::is_sorted(sigmoid_thresholds));
    for (std::size_t k = 1; k <= sigmoid_thresholds.size(); ++k) {
        const double at = sigmoid_thresholds[k - 1];
        EXPECT_EQ(sigmoid_score(at), static_cast<double>(k));
        EXPECT_EQ(sigmoid_score(std::nextafter(at, -infinity)), static_cast<double>(k - 1));
    }
    EXPECT_EQ(sigmoid_score(0.0), 50.0);
    EXPECT_EQ(sigmoid_score(-0.0), 50.0);
    EXPECT_EQ(sigmoid_score(std::nextafter(0.0, -1.0)), 50.0) << "one ulp of noise below 0 is still 50";
    for (const double far : {8.0, 40.0, 1e9, infinity}) {
        EXPECT_EQ(sigmoid_score(far), by_formula(far));
        EXPECT_EQ(sigmoid_score(-far), 0.0);
    }
}

} // namespace
} // namespace vgpualloc::compat
