#include "vgpualloc/model/requested_share.hpp"

#include <gtest/gtest.h>

namespace {

using vgpualloc::fraction;
using vgpualloc::requested_share;

TEST(fraction, is_in_lowest_terms_and_at_most_one) {
    EXPECT_EQ(fraction::of(3000, 81920), (fraction{.part = 75, .whole = 2048}));
    EXPECT_EQ(fraction::of(81920, 81920), (fraction{.part = 1, .whole = 1}));
    EXPECT_EQ(fraction::of(9, 4), (fraction{.part = 1, .whole = 1}));
    EXPECT_EQ(fraction::of(0, 4), fraction{});
    EXPECT_EQ(fraction::of(-1, 4), fraction{});
    EXPECT_EQ(fraction::of(1, 0), fraction{}) << "nothing of what there is nothing of";
}

TEST(fraction, is_compared_without_rounding) {
    EXPECT_LT((fraction{1, 3}), (fraction{333'333'333'334, 1'000'000'000'000}));
    EXPECT_FALSE((fraction{1, 3} < fraction{333'333'333'333, 1'000'000'000'000}));
    EXPECT_FALSE((fraction{1, 7} < fraction{1, 7}));
}

TEST(requested_share, the_smaller_one_is_taken_by_dimension) {
    const requested_share a{.memory = {1, 2}, .compute = {1, 10}};
    const requested_share b{.memory = {1, 4}, .compute = {1, 5}};
    EXPECT_EQ(smaller(a, b), (requested_share{.memory = {1, 4}, .compute = {1, 10}}));
    EXPECT_EQ(smaller(requested_share::all(), b), b);
}

} // namespace
