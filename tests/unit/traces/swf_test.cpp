#include "vgputraces/swf.hpp"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using vgpualloc::ticks;
using vgpualloc::ticks_per_second;

/// A line, whose fields a test changes by their numbers.
class swf_line {
public:
    swf_line& with(std::size_t number, std::string value) {
        fields_[number - 1] = std::move(value);
        return *this;
    }
    [[nodiscard]] std::string text() const {
        std::string line;
        for (const std::string& field : fields_) line += (line.empty() ? "" : " ") + field;
        return line + "\n";
    }

private:
    std::array<std::string, 18> fields_{"7",  "100", "-1", "60", "4",  "-1", "-1", "8",  "90",
                                        "-1", "1",   "16", "1",  "-1", "3",  "1",  "-1", "-1"};
};

auto read(const std::string& text, bool skip = false) {
    return vgputraces::read_swf(text, "log.swf", {.skip_bad = skip});
}

vgputraces::trace_job job_of(const swf_line& line) {
    const auto list = read(line.text());
    return list ? list->jobs.front() : vgputraces::trace_job{.name = list.error().message()};
}

/// What becomes of the line, beside a good one.
vgputraces::job_list beside_a_good_one(const swf_line& line) {
    return read(line.text() + swf_line{}.with(1, "8").text()).value();
}

std::string failure(const swf_line& line) {
    const auto list = read("; header\n\n" + line.text());
    return list ? "" : list.error().message();
}

TEST(swf, reads_a_job) {
    EXPECT_EQ(job_of({}), (vgputraces::trace_job{.name = "7",
                                                 .row = 0,
                                                 .arrival = 100 * ticks_per_second,
                                                 .duration = 60 * ticks_per_second,
                                                 .estimate = 90 * ticks_per_second,
                                                 .devices = 8,
                                                 .cpu = {},
                                                 .memory = {},
                                                 .queue = "3"}));
}

TEST(swf, ends_a_job_at_its_estimate) {
    const auto job = job_of(swf_line{}.with(9, "45.5"));
    EXPECT_EQ(job.duration, ticks{45'500'000});
    EXPECT_EQ(job.estimate, ticks{45'500'000});
    for (const char* unknown : {"-1", "0"}) {
        EXPECT_EQ(job_of(swf_line{}.with(9, unknown)).estimate, 60 * ticks_per_second);
        EXPECT_EQ(job_of(swf_line{}.with(9, unknown)).duration, 60 * ticks_per_second);
    }
    EXPECT_EQ(job_of(swf_line{}.with(4, "0")).duration, ticks{0});
}

TEST(swf, takes_allocated_processors_where_none_are_requested) {
    EXPECT_EQ(job_of(swf_line{}.with(8, "-1")).devices, 4);
    EXPECT_EQ(job_of(swf_line{}.with(8, "0")).devices, 4);
    EXPECT_EQ(job_of(swf_line{}.with(5, "-1")).devices, 8);
}

TEST(swf, leaves_out_what_is_no_job_to_replay) {
    struct omission {
        swf_line line;
        const char* words;
    };
    for (const auto& [line, words] :
         {omission{swf_line{}.with(4, "-1").with(11, "5"), "run time is not known"},
          omission{swf_line{}.with(8, "-1").with(5, "-1"), "processors are known"},
          omission{swf_line{}.with(8, "0").with(5, "0"), "processors are known"},
          omission{swf_line{}.with(11, "2"), "checkpointed"}, omission{swf_line{}.with(11, "3"), "checkpointed"},
          omission{swf_line{}.with(11, "4"), "checkpointed"}}) {
        const auto list = beside_a_good_one(line);
        EXPECT_THAT(list.jobs, SizeIs(1));
        EXPECT_EQ(list.jobs.front().name, "8");
        EXPECT_EQ(list.jobs.front().row, 1);
        ASSERT_THAT(list.left_out, SizeIs(1));
        EXPECT_EQ(list.left_out.front().count, 1);
        EXPECT_THAT(list.left_out.front().reason, HasSubstr(words));
        EXPECT_EQ(list.skipped.count, 0);
        EXPECT_THAT(read(line.text()).error().message(), HasSubstr("expected at least one job"));
    }
    // A job that was cancelled while it ran has used what it used.
    EXPECT_THAT(beside_a_good_one(swf_line{}.with(11, "5")).jobs, SizeIs(2));
    // Bursts have the number of the whole job.
    const auto list = read(swf_line{}.text() + swf_line{}.with(11, "2").text() + swf_line{}.with(11, "3").text());
    ASSERT_TRUE(list.has_value()) << list.error().message();
    EXPECT_EQ(list->left_out.front().count, 2);
}

TEST(swf, orders_by_submit_time_and_keeps_the_order_of_the_log) {
    const auto list = read(swf_line{}.with(1, "5").text() + swf_line{}.with(1, "1").text() +
                           swf_line{}.with(1, "9").with(2, "0").text());
    ASSERT_TRUE(list.has_value());
    std::vector<std::string> names;
    for (const auto& job : list->jobs) names.push_back(job.name);
    EXPECT_THAT(names, ElementsAre("9", "5", "1"));
}

TEST(swf, names_line_field_and_value_of_what_is_wrong) {
    for (const char* bad : {"x", "-2", "1e3", "NaN", "inf", "0x10", "99999999999999999999", "1.5"}) {
        for (const std::size_t number : {1U, 5U, 8U, 11U, 15U}) {
            EXPECT_THAT(failure(swf_line{}.with(number, bad)),
                        HasSubstr("log.swf:3: field " + std::to_string(number) + " ("))
                << bad;
        }
    }
    for (const char* bad : {"x", "-2", "1e3", "NaN", "inf", "-1.5", "1000000000001"}) {
        for (const std::size_t number : {2U, 4U, 9U}) {
            EXPECT_THAT(failure(swf_line{}.with(number, bad)),
                        HasSubstr("log.swf:3: field " + std::to_string(number) + " ("));
        }
    }
    EXPECT_THAT(failure(swf_line{}.with(2, "-1")), HasSubstr("field 2 (submit time): got '-1', expected a number of"));
    EXPECT_THAT(failure(swf_line{}.with(1, "-1")), HasSubstr("field 1 (job number): got '-1'"));
    EXPECT_THAT(failure(swf_line{}.with(11, "6")), HasSubstr("field 11 (status): got '6'"));
    EXPECT_THAT(failure(swf_line{}.with(18, "")), HasSubstr("log.swf:3: expected 18 fields, found 17"));
    EXPECT_THAT(failure(swf_line{}.with(18, "-1 -1")), HasSubstr("expected 18 fields, found 19"));
}

TEST(swf, refuses_a_number_that_occurs_twice) {
    const auto list = read(swf_line{}.text() + swf_line{}.text());
    ASSERT_FALSE(list.has_value());
    EXPECT_THAT(list.error().message(), HasSubstr("log.swf:2: field 1 (job number): got '7', expected a number that"));
    EXPECT_EQ(read(swf_line{}.text() + swf_line{}.text(), true)->skipped.count, 1);
    // A bad line does not take the number.
    EXPECT_THAT(read(swf_line{}.with(2, "x").text() + swf_line{}.text(), true)->jobs, SizeIs(1));
}

TEST(swf, reads_comments_blank_lines_tabs_and_any_line_ends) {
    const auto list =
        read("\xEF\xBB\xBF; Version: 2.2\r\n;\n\n \t\n  7\t100 -1 60 4 -1 -1 8 90 -1 1 16 1 -1 3 1 -1 -1 ; x\r\n"
             "8 100 -1 60 4 -1 -1 8 90 -1 1 16 1 -1 -1 1 -1 -1");
    ASSERT_TRUE(list.has_value()) << list.error().message();
    EXPECT_THAT(list->jobs, SizeIs(2));
    EXPECT_THAT(list->jobs.back().queue, IsEmpty());
    for (const char* empty : {"", ";", "; only\n; comments\n", "\n\n"}) {
        EXPECT_THAT(read(empty).error().message(), HasSubstr("expected at least one job"));
    }
}

} // namespace
