#include "vgpuops/show/wait_words.hpp"

#include <gtest/gtest.h>

namespace {

using vgpualloc::ticks;
using vgpuops::show::wait_words;

constexpr ticks wait_second{1'000'000};

TEST(wait_words, are_in_the_largest_unit_of_which_there_are_two) {
    EXPECT_EQ(wait_words(90 * wait_second), "90 s");
    EXPECT_EQ(wait_words(120 * wait_second), "2 min");
    EXPECT_EQ(wait_words(19'800 * wait_second), "5.5 h");
    EXPECT_EQ(wait_words(172'800 * wait_second), "2 d");
    EXPECT_EQ(wait_words(ticks{}), "0 s");
    EXPECT_EQ(wait_words(ticks{1'540'000}), "1.5 s");
}

} // namespace
