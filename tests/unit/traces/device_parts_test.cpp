#include "vgputraces/device_parts.hpp"

#include <gtest/gtest.h>

namespace {

using vgputraces::device_parts;

TEST(DeviceParts, SlicesOfAGpuAreWholeNumbers) {
    for (const std::int64_t slices : {4, 7, 8, 12, 100}) {
        EXPECT_EQ(device_parts::parts_of(1, slices) * slices, device_parts::whole) << slices;
    }
    EXPECT_EQ(device_parts::parts_of(3, 4), 6'300'000);
}

TEST(DeviceParts, AnAmountIsRoundedDown) {
    EXPECT_EQ(device_parts::parts_of(1, 9'000'000), 0);
    EXPECT_EQ(device_parts::parts_of(2, 9'000'000), 1);
    EXPECT_EQ(device_parts::parts_of(std::int64_t{1} << 40, std::int64_t{1} << 40), device_parts::whole);
}

TEST(DeviceParts, ADeviceWithoutAnAmountGivesNothingOfIt) { EXPECT_EQ(device_parts::parts_of(5, 0), 0); }

TEST(DeviceParts, AddsAndTakesBack) {
    device_parts sum{.memory = 1, .compute = 2};
    sum += device_parts{.memory = 10, .compute = 20}.times(3);
    EXPECT_EQ(sum, (device_parts{.memory = 31, .compute = 62}));
    sum -= {.memory = 31, .compute = 62};
    EXPECT_EQ(sum, device_parts{});
}

} // namespace
