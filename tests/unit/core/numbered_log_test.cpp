// A sequence that is cut at its front, whose elements keep their numbers.
#include <gtest/gtest.h>

#include <memory>

#include "vgpualloc/core/numbered_log.hpp"

namespace vgpualloc {
namespace {

TEST(numbered_log, elements_keep_their_numbers_wherever_it_is_cut) {
    for (std::uint64_t cut = 0; cut <= 10; ++cut) {
        numbered_log<std::uint64_t> log;
        for (std::uint64_t number = 0; number < 10; ++number) log.push_back(number);
        log.drop_below(cut);
        EXPECT_EQ(log.first(), cut);
        EXPECT_EQ(log.next(), 10U);
        ASSERT_EQ(log.items().size(), 10 - cut);
        for (std::uint64_t number = cut; number < 10; ++number) {
            EXPECT_EQ(log[number], number);
            EXPECT_EQ(log.items()[static_cast<std::size_t>(number - cut)], number);
        }
        log.push_back(10);
        EXPECT_EQ(log[10], 10U);
        EXPECT_EQ(log.items().back(), 10U);
        log[10] = 11;
        EXPECT_EQ(std::as_const(log)[10], 11U);
    }
}

TEST(numbered_log, what_was_dropped_stays_dropped) {
    numbered_log<int> log;
    for (int i = 0; i < 10; ++i) log.push_back(i);
    log.drop_below(3);
    log.drop_below(1);
    EXPECT_EQ(log.first(), 3U);
    log.drop_below(10);
    EXPECT_TRUE(log.items().empty());
    EXPECT_EQ(log.first(), log.next());
    log.drop_below(10);
    EXPECT_EQ(log.next(), 10U);
}

TEST(numbered_log, a_number_is_known_by_its_lowest_bits) {
    constexpr std::uint64_t turn = std::uint64_t{1} << 32U;
    EXPECT_EQ(number_of_low(0, 7), 7U);
    EXPECT_EQ(number_of_low(turn - 2, static_cast<std::uint32_t>(turn - 1)), turn - 1);
    EXPECT_EQ(number_of_low(turn - 2, 0), turn) << "the first one after the lowest bits begin anew";
    EXPECT_EQ(number_of_low(3 * turn + 5, 4), 4 * turn + 4);
}

/// Cut one by one at the front while it grows at the end: what is kept stays within twice what is needed.
TEST(numbered_log, its_front_is_given_back) {
    auto counted = std::make_shared<int>(0);
    numbered_log<std::shared_ptr<int>> log;
    long most = 0;
    for (std::uint64_t number = 0; number < 10'000; ++number) {
        log.push_back(counted);
        if (number >= 100) log.drop_below(number - 99);
        most = std::max(most, counted.use_count());
    }
    EXPECT_EQ(log.items().size(), 100U);
    EXPECT_LE(most, 203) << "the hundred that are kept, as many that are gone, and the one here";
}

} // namespace
} // namespace vgpualloc
