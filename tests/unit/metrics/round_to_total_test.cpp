#include "vgpualloc/metrics/round_to_total.hpp"

#include <gtest/gtest.h>

namespace {

std::vector<std::int64_t> rounded(const std::vector<std::int64_t>& values, std::int64_t step, std::int64_t total) {
    std::vector<std::int64_t> result(values.size());
    vgpualloc::round_to_total(std::span<const std::int64_t>{values}, step, total, result);
    return result;
}

TEST(round_to_total, gives_the_largest_remainders_one_step_more) {
    EXPECT_EQ(rounded({5000, 500, 0, 250}, 100, 5800), (std::vector<std::int64_t>{5000, 500, 0, 300}));
    EXPECT_EQ(rounded({150, 150}, 100, 300), (std::vector<std::int64_t>{200, 100})) << "of equal ones the first";
}

} // namespace
