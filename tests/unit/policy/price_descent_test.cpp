// price_descent: prices that a packing program has, without a solver.
#include "vgpualloc/policy/price_descent.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "support.hpp"
#include "vgpualloc/mode/all.hpp"

namespace vgpualloc {
namespace {

using namespace test;

device_spec gpu_named(std::string model) {
    return {.model = std::move(model), .memory = mib{1000}, .slots = 100, .mode = find_mode("hami_core").value()};
}

weighted_part weighted_of(std::int64_t milli, double weight, std::string model = "") {
    device_request request{.count = 1, .memory = mib{milli}, .cores = {}};
    if (!model.empty()) request.models = {std::move(model)};
    return {.request = std::move(request), .weight = weight};
}

cluster gpus_of(const std::vector<std::string>& models) {
    cluster nodes;
    for (const std::string& model : models) add_node(nodes, {gpu_named(model)});
    return nodes;
}

/// What so many steps make of these parts on ten GPUs.
price_table prices_after(std::int64_t steps, const std::vector<weighted_part>& parts) {
    price_descent descent{true};
    descent.set_demand(parts, gpus_of(std::vector<std::string>(10, "A")));
    descent.step(steps);
    price_table table;
    descent.put_prices(table);
    return table;
}

/// 0.8 and 0.2 of a GPU go together, and there are half as many small ones as large ones. So half of the GPUs have a
/// large pod alone: a GPU is worth 0.8, a small pod beside it 0.2 that nobody pays for. By hand: theta = 800, the price
/// of a small part is all of its size, that of a large one nothing.
TEST(price_descent, comes_to_the_dual_prices_of_a_program_solved_by_hand) {
    const price_table table = prices_after(3000, {weighted_of(800, 10.0), weighted_of(200, 2.0)});
    ASSERT_EQ(table.devices.size(), 1U);
    EXPECT_NEAR(static_cast<double>(table.devices[0].idle), 800'000.0, 20'000.0);
    ASSERT_FALSE(table.devices[0].parts.empty());
    EXPECT_NEAR(static_cast<double>(table.devices[0].parts[0].worth), 800'000.0, 20'000.0);
    for (std::size_t i = 1; i < table.devices[0].parts.size(); ++i) EXPECT_LT(table.devices[0].parts[i].worth, 20'000);
}

TEST(price_descent, everything_fits_together_and_so_is_worth_its_size) {
    const price_table table = prices_after(500, {weighted_of(500, 3.0), weighted_of(250, 1.0)});
    ASSERT_EQ(table.devices.size(), 1U);
    // Steps go on around the optimum; what counts is the part of an idle device that a rest is worth.
    const auto idle = static_cast<double>(table.devices[0].idle);
    EXPECT_NEAR(idle, 1'000'000.0, 100'000.0);
    ASSERT_EQ(table.devices[0].parts.size(), 2U);
    EXPECT_NEAR(static_cast<double>(table.devices[0].parts[0].worth) / idle, 0.5, 0.03);
    EXPECT_NEAR(static_cast<double>(table.devices[0].parts[1].worth) / idle, 0.25, 0.03);
}

/// Everybody wants A, of which there are two of ten.
TEST(price_descent, kinds_that_are_asked_for_by_name_have_a_premium) {
    const cluster nodes = gpus_of({"A", "A", "B", "B", "B", "B", "B", "B", "B", "B"});
    price_descent descent{false};
    const std::vector<weighted_part> parts{weighted_of(1000, 5.0, "A"), weighted_of(1000, 5.0)};
    descent.set_demand(parts, nodes);
    descent.step(2000);
    price_table table;
    descent.put_premiums(table);
    ASSERT_EQ(table.devices.size(), 2U);
    EXPECT_EQ(table.devices[1].premium, 0);
    EXPECT_GT(table.devices[0].premium, 0);
}

TEST(price_descent, goes_on_from_where_prices_are) {
    const cluster nodes = gpus_of(std::vector<std::string>(10, "A"));
    const std::vector<weighted_part> parts{weighted_of(800, 10.0), weighted_of(200, 2.0)};
    price_descent at_once{true};
    at_once.set_demand(parts, nodes);
    at_once.step(400);
    price_descent in_parts{true};
    for (int i = 0; i < 4; ++i) {
        in_parts.set_demand(parts, nodes);
        in_parts.step(100);
    }
    price_table left;
    price_table right;
    at_once.put_prices(left);
    in_parts.put_prices(right);
    EXPECT_EQ(left, right);
}

} // namespace
} // namespace vgpualloc
