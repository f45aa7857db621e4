#include "vgpusim/study/seed.hpp"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace {

using vgpusim::parse_seed;

// FINDINGS 34
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

} // namespace
