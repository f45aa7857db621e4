#include "vgpualloc/policy/price_table.hpp"

#include <gtest/gtest.h>

namespace vgpualloc {
namespace {

TEST(price_table, says_what_a_rest_is_worth_from_step_to_step) {
    const price_table prices{.steps = {{milli_gpu{220}, 67500}, {milli_gpu{460}, 405000}, {milli_gpu{810}, 810000}}};
    EXPECT_EQ(prices.worth_of(milli_gpu{0}), 0);
    EXPECT_EQ(prices.worth_of(milli_gpu{219}), 0);
    EXPECT_EQ(prices.worth_of(milli_gpu{220}), 83'333);
    EXPECT_EQ(prices.worth_of(milli_gpu{809}), 500'000);
    EXPECT_EQ(prices.worth_of(milli_gpu{810}), 1'000'000);
    EXPECT_EQ(prices.worth_of(whole_gpu), 1'000'000);
}

TEST(price_table, takes_size_for_worth_where_it_has_no_prices) {
    EXPECT_EQ(price_table{}.worth_of(milli_gpu{190}), 190'000);
    const price_table worthless{.steps = {{milli_gpu{500}, 0}}};
    EXPECT_EQ(worthless.worth_of(milli_gpu{700}), 700'000);
}

} // namespace
} // namespace vgpualloc
