#include "vgpusim/workload/seed.hpp"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace {

using vgpusim::parse_seed;

TEST(seed, every_number_of_64_bits_is_one_signed_or_not) {
    EXPECT_EQ(parse_seed("0"), 0U);
    EXPECT_EQ(parse_seed("42"), 42U);
    EXPECT_EQ(parse_seed("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(parse_seed("-1"), parse_seed("18446744073709551615"));
    EXPECT_EQ(parse_seed("-9223372036854775808"), std::uint64_t{1} << 63U);
}

TEST(seed, nothing_else_is) {
    for (const char* text :
         {"", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "18446744073709551616", "-9223372036854775809", "--1"}) {
        EXPECT_FALSE(parse_seed(text).has_value()) << text;
    }
}

TEST(seed, a_range_has_both_ends) {
    const auto seeds = vgpusim::parse_seed_range("42..51");
    ASSERT_TRUE(seeds);
    EXPECT_EQ(seeds->count(), 10U);
    EXPECT_EQ(seeds->at(0), 42);
    EXPECT_EQ(seeds->at(9), 51);
    EXPECT_EQ(seeds->text(), "42..51");
    EXPECT_EQ(vgpusim::parse_seed_range("7..7")->count(), 1U);
    EXPECT_EQ(vgpusim::parse_seed_range("-3..2")->count(), 6U);
    EXPECT_EQ(vgpusim::parse_seed_range("1..1000")->count(), 1000U);
    EXPECT_EQ(vgpusim::parse_seed_range("9223372036854775806..9223372036854775807")->count(), 2U);
}

TEST(seed, what_is_no_range_is_refused) {
    for (const char* text :
         {"", "42", "..", "1..", "..2", "5..3", "a..b", "1...3", "1.2", "1..2..3", " 1..2", "1..2 ", "+1..2", "1..1001",
          "-9223372036854775808..9223372036854775807", "1..9223372036854775808"}) {
        EXPECT_FALSE(vgpusim::parse_seed_range(text).has_value()) << text;
    }
}

} // namespace
