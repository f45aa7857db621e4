// Kubernetes quantities: what is one, exact values, units and rounding.
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "vgpualloc/dialect/quantity.hpp"

namespace vgpualloc::kubernetes {
namespace {

using vgpualloc::error_code;

std::int64_t whole(std::string_view text) {
    return parse_quantity(text, quantity_unit::one, rounding::refuse).value_or(-1);
}

TEST(quantities, as_kubernetes_writes_them) {
    const std::vector<std::pair<std::string_view, std::int64_t>> good{
        {"0", 0},
        {"3000", 3000},
        {"+5", 5},
        {"1k", 1000},
        {"1Ki", 1024},
        {"1e3", 1000},
        {"1E3", 1000},
        {"1.5Ki", 1536},
        {"2000m", 2},
        {"1E", 1'000'000'000'000'000'000},
        {"7Ei", std::int64_t{7} << 60},
        {"0.5k", 500},
        {"1e-3k", -1},
        {"500e-2", 5},
        {".5k", 500},
        {"5.", 5},
        {"-0", 0},
        {"8.0000000000000000000", 8}, // more digits than 64 bits hold
        {"16.00000000000000000000Mi", std::int64_t{16} << 20},
        {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
    };
    for (const auto& [text, value] : good) {
        if (value >= 0)
            EXPECT_EQ(whole(text), value) << text;
        else
            EXPECT_FALSE(parse_quantity(text, quantity_unit::one, rounding::refuse).has_value()) << text;
    }
}

TEST(quantities, what_is_none_or_too_large) {
    for (const char* text :
         {"", "x", "1x", "1 ", " 1", "1..2", "1.2.3", ".", "k", "1KI", "1ki", "0x10", "1e", "1e+", "1e99", "1m5"}) {
        const auto amount = parse_quantity(text, quantity_unit::one, rounding::up);
        ASSERT_FALSE(amount.has_value()) << text;
        EXPECT_EQ(amount.error().code, error_code::malformed) << text;
    }
    for (const char* text : {"8Ei", "9223372036854775808", "1e19", "99999999999999999999999999Ei",
                             "1000000000000000000000000000000000000000", "0.0000000000000000000000000000001", "-1",
                             "-5m", "0.5", "100m", "1n"}) {
        const auto amount = parse_quantity(text, quantity_unit::one, rounding::refuse);
        ASSERT_FALSE(amount.has_value()) << text;
        EXPECT_EQ(amount.error().code, error_code::out_of_range) << text;
    }
}

TEST(quantities, units_and_rounding) {
    const auto in = [](const char* text, quantity_unit unit, rounding rest) {
        return parse_quantity(text, unit, rest).value_or(-1);
    };
    EXPECT_EQ(in("100m", quantity_unit::thousandth, rounding::refuse), 100);
    EXPECT_EQ(in("0.5", quantity_unit::thousandth, rounding::refuse), 500);
    EXPECT_EQ(in("1u", quantity_unit::thousandth, rounding::up), 1);
    EXPECT_EQ(in("1u", quantity_unit::thousandth, rounding::down), 0);
    EXPECT_EQ(in("1Gi", quantity_unit::one, rounding::refuse), std::int64_t{1} << 30);
    EXPECT_EQ(in("1500m", quantity_unit::one, rounding::up), 2);
    EXPECT_EQ(in("1500m", quantity_unit::one, rounding::down), 1);
    EXPECT_EQ(in("4Ei", quantity_unit::one, rounding::refuse), std::int64_t{1} << 62);
}

} // namespace
} // namespace vgpualloc::kubernetes
