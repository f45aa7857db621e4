#include "vgputraces/trace_job.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgputraces/philly.hpp"

namespace {

using testing::HasSubstr;
using testing::SizeIs;

vgpualloc::error bad(std::string value) {
    return {.code = vgpualloc::error_code::malformed,
            .where = "list:1",
            .field = "column",
            .value = std::move(value),
            .expected = "another"};
}

TEST(skipped_rows, gives_the_error_back_unless_rows_are_to_be_skipped) {
    vgputraces::skipped_rows skipped;
    const auto refused = skipped.take(bad("x"), {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().value, "x");
    EXPECT_EQ(skipped.count, 0);
}

TEST(skipped_rows, counts_all_and_keeps_the_first) {
    vgputraces::skipped_rows skipped;
    for (int i = 0; i < 25; ++i) EXPECT_TRUE(skipped.take(bad(std::to_string(i)), {.skip_bad = true}));
    EXPECT_EQ(skipped.count, 25);
    ASSERT_THAT(skipped.first, SizeIs(vgputraces::skipped_rows::shown_max));
    EXPECT_EQ(skipped.first.back().value, "9");
}

TEST(skipped_rows, do_not_excuse_a_list_without_a_good_row_or_with_a_wrong_header) {
    const std::string header = "timestamp,duration,num_gpus,cluster\n";
    const auto nothing = vgputraces::read_philly(header + "x,1,1,vc\n\n\n", "p.csv", {.skip_bad = true});
    ASSERT_FALSE(nothing.has_value());
    EXPECT_THAT(nothing.error().message(), HasSubstr("expected at least one job that can be read"));
    EXPECT_FALSE(vgputraces::read_philly("x\n", "p.csv", {.skip_bad = true}).has_value());
    // A line in the middle without fields is bad too, and what comes after it is read.
    const auto list =
        vgputraces::read_philly(header + "\n\"q\",1,1,vc\n2017-01-01 00:00:00,1,1,vc\n", "p.csv", {.skip_bad = true});
    ASSERT_TRUE(list.has_value()) << list.error().message();
    EXPECT_EQ(list->skipped.count, 2);
    EXPECT_EQ(list->jobs.front().name, "2");
}

} // namespace
