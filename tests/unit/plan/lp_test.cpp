#include "vgpualloc/plan/lp.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace {

using namespace vgpualloc::plan;

linear_program sum_of_two() {
    linear_program program;
    program.add_row({.lower = 1.0});
    program.add_entry(0, program.add_column({.cost = 1.0}), 1.0);
    program.add_entry(0, program.add_column({.cost = 2.0}), 1.0);
    return program;
}

std::string field_refused(const linear_program& program) {
    const auto checked = check_program(program);
    return checked ? "" : checked.error().field;
}

TEST(lp, takes_a_program) {
    EXPECT_EQ(field_refused(sum_of_two()), "");
    EXPECT_EQ(field_refused({}), "");
    EXPECT_FALSE(sum_of_two().has_integers());
}

TEST(lp, refuses_what_is_no_program) {
    auto program = sum_of_two();
    program.columns[1].cost = std::nan("");
    EXPECT_EQ(field_refused(program), "columns");
    program = sum_of_two();
    program.columns[1].upper = -1.0;
    EXPECT_EQ(field_refused(program), "columns");
    program = sum_of_two();
    program.rows[0].lower = lp_infinity;
    EXPECT_EQ(field_refused(program), "rows");
    program = sum_of_two();
    program.entries[0].row = 1;
    EXPECT_EQ(field_refused(program), "entries");
    program = sum_of_two();
    program.entries[0].value = lp_infinity;
    EXPECT_EQ(field_refused(program), "entries");
    program = sum_of_two();
    program.add_entry(0, 1, 3.0);
    EXPECT_EQ(field_refused(program), "entries");
}

TEST(lp, statuses_have_names) {
    EXPECT_EQ(to_string(lp_status::optimal), "optimal");
    EXPECT_EQ(to_string(lp_status::infeasible), "infeasible");
    EXPECT_EQ(to_string(lp_status::unbounded), "unbounded");
    EXPECT_EQ(to_string(lp_status::limit), "limit");
}

} // namespace
