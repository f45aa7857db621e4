#include "vgpusim/discipline/free_profile.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "vgpualloc/core/rng.hpp"

namespace {

using vgpualloc::ticks;
using vgpusim::free_profile;

ticks time(std::size_t count) { return ticks{static_cast<std::int64_t>(count)}; }

TEST(free_profile, finds_the_earliest_time_that_is_free_for_long_enough) {
    free_profile profile{ticks{0}, 4};
    profile.take(3, ticks{0}, ticks{10});
    profile.take(4, ticks{15}, ticks{5});
    EXPECT_EQ(profile.find(1, ticks{15}, ticks{0}), ticks{0});
    EXPECT_EQ(profile.find(1, ticks{16}, ticks{0}), ticks{20});
    EXPECT_EQ(profile.find(2, ticks{5}, ticks{0}), ticks{10});
    EXPECT_EQ(profile.find(2, ticks::max(), ticks{0}), ticks{20});
    EXPECT_EQ(profile.find(5, ticks{1}, ticks{0}), ticks::max());
    EXPECT_EQ(profile.find(2, ticks{0}, ticks{12}), ticks{12});
    std::vector<ticks> times;
    profile.append_times(times);
    EXPECT_EQ(times, (std::vector{ticks{10}, ticks{20}}));
    profile.take(1, ticks{30}, ticks::max());
    EXPECT_EQ(profile.find(4, ticks{11}, ticks{20}), ticks::max());
    profile.forget_before(ticks{12});
    EXPECT_EQ(profile.find(2, ticks{3}, ticks{12}), ticks{12});
}

TEST(free_profile, agrees_with_a_table_of_every_tick) {
    vgpualloc::rng random{11};
    constexpr std::size_t horizon = 120;
    for (int round = 0; round < 200; ++round) {
        free_profile profile{ticks{0}, 9};
        std::vector<std::int64_t> table(horizon, 9);
        for (int i = 0; i < 12; ++i) {
            const auto from = random.below(60);
            const auto length = random.below(40);
            const auto units = static_cast<std::int64_t>(random.below(3));
            profile.take(units, time(from), time(length));
            for (std::size_t t = from; t < from + length; ++t) table[t] -= units;
        }
        const auto least_of = [&](std::size_t from, std::size_t length) {
            std::int64_t least = table[from];
            for (std::size_t t = from; t < std::min(from + length, horizon); ++t) least = std::min(least, table[t]);
            return least;
        };
        for (int i = 0; i < 20; ++i) {
            const auto units = static_cast<std::int64_t>(random.below(10));
            const auto length = random.below(30);
            const auto earliest = random.below(50);
            EXPECT_EQ(profile.least(time(earliest), time(length)), least_of(earliest, length));
            std::size_t expected = earliest;
            while (least_of(expected, length) < units) ++expected;
            EXPECT_EQ(profile.find(units, time(length), time(earliest)), time(expected));
        }
    }
}

} // namespace
