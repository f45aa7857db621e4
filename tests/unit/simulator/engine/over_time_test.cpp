#include "vgpusim/engine/over_time.hpp"

#include <gtest/gtest.h>

namespace {

using vgpualloc::ticks;
using vgpusim::amounts_in_use;
using vgpusim::over_time;

TEST(over_time, without_time_there_is_no_mean) {
    over_time usage;
    EXPECT_FALSE(usage.has_span());
    usage.hold({.allocated_milli = 7}, ticks{5});
    usage.hold({.allocated_milli = 7}, ticks{5});
    EXPECT_FALSE(usage.has_span());
    EXPECT_EQ(usage.mean<&amounts_in_use::allocated_milli>(), 0.0);
}

TEST(over_time, a_state_counts_as_long_as_it_lasts) {
    over_time usage;
    usage.hold({.allocated_milli = 999}, ticks{100}); // the run begins here: what was before does not count
    usage.hold({.allocated_milli = 4, .served = 2, .unusable_micro = 8'000'000}, ticks{101});
    usage.hold({.allocated_milli = 0, .served = 0, .unusable_micro = 0}, ticks{104});
    EXPECT_TRUE(usage.has_span());
    EXPECT_EQ(usage.mean<&amounts_in_use::allocated_milli>(), 1.0);
    EXPECT_EQ(usage.mean<&amounts_in_use::served>(), 0.5);
    EXPECT_EQ(usage.unusable_milli(), 2.0);
}

TEST(over_time, large_amounts_over_long_times_stay_exact) {
    over_time usage;
    const std::int64_t amount = std::int64_t{1} << 50;
    usage.hold({}, ticks{0});
    usage.hold({.allocated_milli = amount}, ticks{std::int64_t{1} << 60});
    EXPECT_EQ(usage.mean<&amounts_in_use::allocated_milli>(), static_cast<double>(amount));
    EXPECT_EQ(usage.sum_of<&amounts_in_use::allocated_milli>().digits(), "1298074214633706907132624082305024"); // 2^110
    EXPECT_EQ(usage.sum_of<&amounts_in_use::waiting>().digits(), "0");
}

} // namespace
