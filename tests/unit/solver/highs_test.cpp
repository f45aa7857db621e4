#include "vgpualloc/solver/highs.hpp"

#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace {

using namespace vgpualloc;
using namespace vgpualloc::plan;

/// max 3x + 2y, x + y <= 4, x + 3y <= 7, x <= 3: 11 at (3, 1), where the first row and the bound of x hold.
linear_program small(lp_sense sense) {
    const double sign = sense == lp_sense::maximise ? 1.0 : -1.0;
    linear_program program{.sense = sense};
    const auto x = program.add_column({.cost = 3.0 * sign, .upper = 3.0});
    const auto y = program.add_column({.cost = 2.0 * sign});
    const auto first = program.add_row({.upper = 4.0});
    const auto second = program.add_row({.upper = 7.0});
    program.add_entry(first, x, 1.0);
    program.add_entry(first, y, 1.0);
    program.add_entry(second, x, 1.0);
    program.add_entry(second, y, 3.0);
    return program;
}

TEST(highs, duals_are_derivatives_whatever_the_sense) {
    const auto solver = solver::make_highs();
    for (const lp_sense sense : {lp_sense::maximise, lp_sense::minimise}) {
        const double sign = sense == lp_sense::maximise ? 1.0 : -1.0;
        const auto solution = solver->solve(small(sense)).value();
        ASSERT_EQ(solution.status, lp_status::optimal);
        EXPECT_DOUBLE_EQ(solution.objective, 11.0 * sign);
        EXPECT_DOUBLE_EQ(solution.bound, 11.0 * sign);
        EXPECT_EQ(solution.values, (std::vector{3.0, 1.0}));
        EXPECT_DOUBLE_EQ(solution.row_duals[0], 2.0 * sign);
        EXPECT_DOUBLE_EQ(solution.row_duals[1], 0.0);
        EXPECT_DOUBLE_EQ(solution.reduced_costs[0], 1.0 * sign);
        EXPECT_DOUBLE_EQ(solution.reduced_costs[1], 0.0);
    }
}

TEST(highs, goes_on_from_a_basis_when_columns_are_added) {
    const auto solver = solver::make_highs();
    linear_program program = small(lp_sense::maximise);
    const auto first = solver->solve(program).value();
    const auto z = program.add_column({.cost = 5.0});
    program.add_entry(0, z, 1.0);
    program.add_entry(1, z, 1.0);
    const auto from_basis = solver->solve(program, {}, &first.basis).value();
    const auto afresh = solver->solve(program).value();
    EXPECT_EQ(from_basis.status, lp_status::optimal);
    EXPECT_DOUBLE_EQ(from_basis.objective, afresh.objective);
    EXPECT_DOUBLE_EQ(afresh.objective, 20.0);
}

TEST(highs, says_infeasible_and_unbounded) {
    const auto solver = solver::make_highs();
    linear_program program = small(lp_sense::maximise);
    program.rows[0].lower = 4.0;
    program.rows[1].upper = 3.0;
    program.columns[0].upper = 1.0;
    EXPECT_EQ(solver->solve(program)->status, lp_status::infeasible);
    linear_program open{.sense = lp_sense::maximise};
    open.add_column({.cost = 1.0});
    EXPECT_EQ(solver->solve(open)->status, lp_status::unbounded);
}

TEST(highs, solves_integer_programs_to_the_end) {
    const auto solver = solver::make_highs();
    // A knapsack of 10: (6 for 5.9), (5 for 5) twice: the two fives.
    linear_program program{.sense = lp_sense::maximise};
    const auto room = program.add_row({.upper = 10.0});
    program.add_entry(room, program.add_column({.cost = 6.5, .upper = 1.0, .integer = true}), 6.0);
    program.add_entry(room, program.add_column({.cost = 5.0, .upper = 2.0, .integer = true}), 5.0);
    const auto solution = solver->solve(program).value();
    EXPECT_EQ(solution.status, lp_status::optimal);
    EXPECT_DOUBLE_EQ(solution.objective, 10.0);
    EXPECT_TRUE(solution.row_duals.empty());
}

TEST(highs, ends_at_a_limit) {
    const auto solver = solver::make_highs();
    const auto solution = solver->solve(small(lp_sense::maximise), {.iterations = 0}, nullptr).value();
    EXPECT_TRUE(solution.status == lp_status::limit || solution.status == lp_status::optimal);
}

TEST(highs, refuses_what_is_no_program) {
    linear_program program = small(lp_sense::maximise);
    program.add_entry(0, 0, 1.0);
    const auto refused = solver::make_highs()->solve(program);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().field, "entries");
}

TEST(highs, a_library_that_is_loaded_solves_as_the_linked_one) {
    if (std::string_view{HIGHS_LIBRARY}.find(".so") == std::string_view::npos)
        GTEST_SKIP() << "HiGHS is a static library here";
    const auto linked = solver::make_highs();
    const auto loaded = solver::load_highs(HIGHS_LIBRARY).value();
    EXPECT_EQ(loaded->name(), linked->name());
    const linear_program program = small(lp_sense::maximise);
    EXPECT_EQ(loaded->solve(program)->values, linked->solve(program)->values);
    EXPECT_EQ(loaded->solve(program)->row_duals, linked->solve(program)->row_duals);
}

TEST(highs, what_is_no_library_or_no_highs_is_an_error_with_its_path) {
    for (const auto& [library, why] :
         {std::pair{"none.so", "none.so: "}, std::pair{"libm.so.6", "with the function Highs_"}}) {
        const auto refused = solver::load_highs(library);
        ASSERT_FALSE(refused.has_value());
        EXPECT_EQ(refused.error().code, error_code::unsupported);
        EXPECT_EQ(refused.error().value, library);
        EXPECT_NE(refused.error().expected.find(why), std::string::npos) << refused.error().expected;
    }
}

} // namespace
