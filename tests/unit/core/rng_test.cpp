// The random stream is part of every result, so its numbers are stored here. They come from an independent
// implementation of xoshiro256** 1.0 with splitmix64 seeding (Python, arbitrary precision).
#include "vgpualloc/core/rng.hpp"

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace vgpualloc {
namespace {

TEST(rng, first_outputs_of_two_seeds) {
    rng zero{0};
    for (const std::uint64_t number :
         {0x99ec5f36cb75f2b4ULL, 0xbf6e1f784956452aULL, 0x1a5f849d4933e6e0ULL, 0x6aa594f1262d2d2cULL}) {
        EXPECT_EQ(zero.next(), number);
    }
    rng other{42};
    for (const std::uint64_t number :
         {0x15780b2e0c2ec716ULL, 0x6104d9866d113a7eULL, 0xae17533239e499a1ULL, 0xecb8ad4703b360a1ULL}) {
        EXPECT_EQ(other.next(), number);
    }
}

TEST(rng, hash_of_100_000_draws) {
    rng drawn{42};
    std::uint64_t raw = 0;
    for (int i = 0; i < 100000; ++i) raw = hash_combine(raw, drawn.next());
    EXPECT_EQ(raw, 0x29af89ebe2650f27ULL);
    rng bounded{42};
    std::uint64_t small = 0;
    for (std::uint64_t i = 0; i < 100000; ++i) small = hash_combine(small, bounded.below(3 * i + 1));
    EXPECT_EQ(small, 0xf017da0614277a77ULL);
}

TEST(rng, forks_are_streams_of_their_own) {
    rng parent{42};
    rng arrivals = parent.fork("arrivals");
    EXPECT_EQ(arrivals.next(), 0x5cb2755fa139daf8ULL);
    EXPECT_EQ(arrivals.next(), 0x01527d93bf5d048cULL);
    // Draws from the parent or from a sibling change nothing, and a fork leaves the parent where it was.
    static_cast<void>(parent.fork("sizes").next());
    EXPECT_EQ(parent.next(), 0x15780b2e0c2ec716ULL);
    EXPECT_EQ(parent.fork("arrivals").next(), 0x5cb2755fa139daf8ULL);
    EXPECT_NE(parent.fork("sizes").next(), 0x5cb2755fa139daf8ULL);
}

TEST(rng, below_stays_below_and_is_uniform) {
    rng drawn{7};
    constexpr std::size_t bound = 10;
    constexpr int draws = 100000;
    std::array<int, bound> seen{};
    for (int i = 0; i < draws; ++i) ++seen.at(static_cast<std::size_t>(drawn.below(bound)));
    double chi_square = 0.0; // 9 degrees of freedom: 27.9 is passed once in a thousand seeds
    for (const int count : seen) chi_square += (count - 10000.0) * (count - 10000.0) / 10000.0;
    EXPECT_LT(chi_square, 27.9);
    EXPECT_EQ(drawn.below(1), 0U);
    // Two thirds of 2^64: a draw without rejection would fall below the middle with probability 2/3.
    constexpr std::uint64_t large = 0xAAAAAAAAAAAAAAAAULL;
    int low = 0;
    for (int i = 0; i < 10000; ++i) {
        const std::uint64_t value = drawn.below(large);
        ASSERT_LT(value, large);
        if (value < large / 2) ++low;
    }
    EXPECT_NEAR(low, 5000, 200); // four standard deviations
}

TEST(rng, unit_is_in_the_half_open_interval_with_mean_a_half) {
    rng drawn{7};
    double sum = 0.0;
    for (int i = 0; i < 100000; ++i) {
        const double value = drawn.unit();
        ASSERT_GE(value, 0.0);
        ASSERT_LT(value, 1.0);
        sum += value;
    }
    EXPECT_NEAR(sum / 100000.0, 0.5, 0.004);
}

TEST(rng, exponential_has_mean_and_variance_one) {
    rng exact{42};
    for (const double number :
         {0x1.5780b2e0c2ec0p-4, 0x1.5c2ea66473c93p-1, 0x1.fbcdb8ffc5d8bp-1, 0x1.4a69db9873af8p+0}) {
        EXPECT_EQ(exact.exponential(), number);
    }
    rng drawn{7};
    double sum = 0.0;
    double squares = 0.0;
    int above_two = 0;
    constexpr int draws = 100000;
    for (int i = 0; i < draws; ++i) {
        const double value = drawn.exponential();
        sum += value;
        squares += value * value;
        if (value > 2.0) ++above_two;
    }
    EXPECT_NEAR(sum / draws, 1.0, 0.013);
    EXPECT_NEAR(squares / draws, 2.0, 0.06);
    EXPECT_NEAR(above_two / double{draws}, 0.1353, 0.005); // exp(-2)
}

TEST(rng, shuffle_is_a_stored_permutation_and_every_order_is_equally_likely) {
    std::vector<int> items(10);
    std::iota(items.begin(), items.end(), 0);
    rng{42}.shuffle(items);
    EXPECT_EQ(items, (std::vector<int>{9, 1, 4, 2, 8, 7, 6, 5, 3, 0}));
    rng drawn{1};
    std::array<int, 27> seen{}; // by the three digits of the order
    for (int i = 0; i < 60000; ++i) {
        std::array<std::size_t, 3> three{0, 1, 2};
        drawn.shuffle(three);
        ++seen.at(three[0] * 9 + three[1] * 3 + three[2]);
    }
    int orders = 0;
    for (const int count : seen) {
        if (count == 0) continue;
        ++orders;
        EXPECT_NEAR(count, 10000, 400);
    }
    EXPECT_EQ(orders, 6);
    std::vector<int> none;
    drawn.shuffle(none);
    EXPECT_TRUE(none.empty());
}

TEST(rng_death, a_bound_of_zero_is_a_bug) {
    rng drawn{1};
    EXPECT_DEATH(static_cast<void>(drawn.below(0)), "a bounded draw needs a positive bound");
}

} // namespace
} // namespace vgpualloc
