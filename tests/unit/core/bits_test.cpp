// Sets of small numbers as words.
#include "vgpualloc/core/bits.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace vgpualloc {
namespace {

TEST(bits, are_met_from_the_lowest_up) {
    std::vector<std::size_t> positions;
    for_each_bit(bit_at(63) | bit_at(5) | bit_at(0), [&](std::size_t position) { positions.push_back(position); });
    EXPECT_EQ(positions, (std::vector<std::size_t>{0, 5, 63}));
    for_each_bit(0, [](std::size_t) { FAIL() << "no bit, no call"; });
    static_assert(lowest_bit(bit_at(17) | bit_at(40)) == 17 && lowest_bit(0) == 64);
}

} // namespace
} // namespace vgpualloc
