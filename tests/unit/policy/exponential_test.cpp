// The exponential function that no libm takes part in.
#include "policy/exponential.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace vgpualloc {
namespace {

TEST(exponential, is_that_of_the_library_to_within_its_bound) {
    for (double x = 0.0; x < 700.0; x = x * 1.01 + 1e-6) {
        const double expected = std::exp(-x);
        EXPECT_NEAR(exp_of_minus(x) / expected, 1.0, 1e-13) << x;
    }
}

TEST(exponential, is_the_same_everywhere) {
    static_assert(exp_of_minus(0.0) == 1.0);
    static_assert(exp_of_minus(-3.0) == 1.0, "nothing is worth more than a slot of which none is left");
    static_assert(exp_of_minus(700.0) == 0.0 && exp_of_minus(1e300) == 0.0);
    EXPECT_EQ(exp_of_minus(std::nan("")), 0.0);
}

TEST(exponential, falls) {
    double last = 1.0;
    for (double x = 0x1p-20; x < 690.0; x += 0.37) {
        const double value = exp_of_minus(x);
        EXPECT_LT(value, last) << x;
        last = value;
    }
}

} // namespace
} // namespace vgpualloc
