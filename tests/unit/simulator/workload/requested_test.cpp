#include "vgpusim/workload/requested.hpp"

#include <gtest/gtest.h>

namespace {

using vgpualloc::fraction;
using vgpualloc::requested_amount;
using vgpusim::requested_table;
using vgpusim::requested_units;

requested_amount of(std::int64_t count, fraction memory, fraction compute) {
    return {.devices = {{.count = count, .share = {.memory = memory, .compute = compute}}}};
}

TEST(requested_table, sums_of_shares_are_exact) {
    const std::vector<requested_amount> amounts{of(1, {1, 7}, {1, 8}), of(1, {1, 3}, {1, 100}), of(2, {75, 2048}, {})};
    const requested_table table{amounts, 8};
    EXPECT_EQ(table[0].times(7).memory, table.whole());
    EXPECT_EQ(table[0].times(8).compute, table.whole());
    EXPECT_EQ(table[1].times(3).memory, table.whole());
    EXPECT_EQ(table[1].times(100).compute, table.whole());
    EXPECT_EQ(table[2].times(1024).memory, table.whole() * 75);
    EXPECT_EQ(table.parts(2).front().times(2), table[2]);
}

TEST(requested_table, a_unit_is_at_most_a_thousandth) {
    EXPECT_EQ(requested_table{}.whole(), 1000);
    const std::vector<requested_amount> whole{of(3, {1, 1}, {1, 1})};
    const requested_table table{whole, 1};
    EXPECT_EQ(table.whole(), 1000);
    EXPECT_EQ(table[0], (requested_units{.memory = 3000, .compute = 3000}));
}

TEST(requested_table, shares_without_a_common_unit_are_rounded) {
    std::vector<requested_amount> amounts;
    for (const std::int64_t prime : {999'983, 999'979, 999'961, 999'959}) amounts.push_back(of(1, {1, prime}, {1, 2}));
    const requested_table table{amounts, 1'000'000};
    EXPECT_LE(table.whole(), 4'000'000'000'000);
    EXPECT_GT(table.whole(), 100'000'000'000);
    EXPECT_NEAR(static_cast<double>(table[0].memory) / static_cast<double>(table.whole()), 1.0 / 999'983.0, 1e-11);
}

TEST(requested_table, milli_are_rounded_half_up) {
    EXPECT_EQ(requested_table::milli_of_units(1, 2000), 1);
    EXPECT_EQ(requested_table::milli_of_units(1, 2001), 0);
    EXPECT_EQ(requested_table::milli_of_units(7, 7), 1000);
}

TEST(requested_table, the_larger_dimension_counts) {
    EXPECT_EQ((requested_units{.memory = 2, .compute = 3}).larger(), 3);
    requested_units sum{.memory = 1, .compute = 0};
    sum += requested_units{.memory = 0, .compute = 5};
    EXPECT_EQ(sum.larger(), 5);
    sum -= requested_units{.memory = 1, .compute = 5};
    EXPECT_EQ(sum, requested_units{});
}

TEST(requested_milli, of_thousandths_both_dimensions_count) {
    EXPECT_TRUE(vgpusim::requested_milli(0, vgpualloc::milli_gpu{}).devices.empty());
    const std::vector<requested_amount> amounts{vgpusim::requested_milli(2, vgpualloc::milli_gpu{250})};
    const requested_table table{amounts, 1};
    EXPECT_EQ(table[0], (requested_units{.memory = 500, .compute = 500}));
}

} // namespace
