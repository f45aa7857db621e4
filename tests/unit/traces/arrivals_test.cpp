#include "vgputraces/arrivals.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using vgpualloc::ticks;
using vgputraces::arrival_table;
using vgputraces::read_arrivals;
using vgputraces::write_arrivals;

arrival_table table_of(const std::string& text) {
    auto table = read_arrivals(text, "a.csv");
    EXPECT_TRUE(table.has_value()) << table.error().message();
    return table ? *std::move(table) : arrival_table{};
}

std::string refusal_of(const std::string& text) {
    const auto table = read_arrivals(text, "a.csv");
    EXPECT_FALSE(table.has_value()) << text;
    return table ? "" : table.error().message();
}

TEST(arrivals, rows_come_in_the_order_of_their_times_and_equal_times_as_in_the_file) {
    const auto table = table_of("class,name,arrival\nbig,late,2.5\nsmall,first,1\nbig,second,1.000000\n");
    std::vector<std::string> names;
    for (const auto& row : table.rows) names.push_back(row.name);
    EXPECT_THAT(names, ElementsAre("first", "second", "late"));
    EXPECT_EQ(table.rows[2].arrival, ticks{2'500'000});
    EXPECT_EQ(table.rows[2].line, 2U);
    EXPECT_THAT(table.classes, ElementsAre("big", "small"));
    EXPECT_EQ(table.rows[0].pod_class, 1U);
    EXPECT_FALSE(table.rows[0].duration);
    EXPECT_EQ(table.rows[0].gang, vgputraces::no_gang);
}

TEST(arrivals, csv_and_jsonl_say_the_same) {
    const auto csv = table_of("name,class,arrival,duration,queue,priority,gang,estimate\n"
                              "a,c,0.000001,7.25,team,-3,g1,9\nb,c,3,,,,,\n");
    const auto jsonl = table_of(R"({"name":"a","class":"c","arrival":0.000001,"duration":7.25,"queue":"team",)"
                                R"("priority":-3,"gang":"g1","estimate":9})"
                                "\n{\"name\":\"b\",\"class\":\"c\",\"arrival\":3,\"duration\":null}\n");
    ASSERT_EQ(jsonl.rows.size(), 2U);
    auto expected_rows = csv.rows;
    for (auto& row : expected_rows) --row.line; // JSONL has no header
    EXPECT_EQ(jsonl.rows, expected_rows);
    EXPECT_EQ(csv.rows[0].arrival, ticks{1});
    EXPECT_EQ(csv.rows[0].duration, ticks{7'250'000});
    EXPECT_EQ(csv.rows[0].priority, -3);
    EXPECT_THAT(csv.queues, ElementsAre("team", ""));
}

TEST(arrivals, what_is_written_is_read_as_the_same) {
    const std::string text = "name,class,arrival,duration,queue,priority,gang,estimate\n"
                             "a,c,0.5,7.25,team,-3,g1,9\nb,d,3,,,0,,\n";
    EXPECT_EQ(write_arrivals(table_of(text)), text);
    EXPECT_EQ(write_arrivals(table_of("name,class,queue,arrival\nx,c,,1000000000000\n")),
              "name,class,arrival\nx,c,1000000000000\n");
}

TEST(arrivals, an_error_names_line_column_value_and_what_was_expected) {
    const std::string header = "name,class,arrival,duration,priority\n";
    EXPECT_EQ(refusal_of(header + "a,c,1,,\nb,c,-1,,\n"),
              "a.csv:3: arrival: got '-1', expected seconds from 0 to 10^12 with at most 6 decimals");
    for (const char* const time :
         {"nan", "inf", "1e3", "0.0000001", "1000000000000.000001", "+1", ".5", "5.", " 1", "99999999999999999999"}) {
        EXPECT_THAT(refusal_of(header + "a,c," + time + ",,\n"), HasSubstr("a.csv:2: arrival: got '")) << time;
    }
    EXPECT_THAT(refusal_of(header + "a,c,1,-0.5,\n"), HasSubstr("a.csv:2: duration: got '-0.5'"));
    EXPECT_THAT(refusal_of(header + "a,c,1,,2147483648\n"), HasSubstr("a.csv:2: priority: got '2147483648'"));
    EXPECT_THAT(refusal_of(header + "a,c,1,,1.5\n"), HasSubstr("a whole number"));
    EXPECT_THAT(refusal_of(header + "a,,1,,\n"), HasSubstr("a.csv:2: class: missing"));
    EXPECT_THAT(refusal_of(header + "a,c,1,,\nb,c,1,,\na,c,2,,\n"),
                HasSubstr("a.csv:4: name: got 'a', expected a name that occurs once; line 2 has it too"));
    EXPECT_THAT(refusal_of(header + "a\x01,c,1,,\n"), HasSubstr("a.csv:2: name: got"));
    EXPECT_THAT(refusal_of(header), HasSubstr("at least one arrival"));
    EXPECT_THAT(refusal_of(""), HasSubstr("a.csv:1: empty"));
    EXPECT_THAT(refusal_of("name,class\na,c\n"), HasSubstr("a.csv:1: arrival: missing"));
    EXPECT_THAT(refusal_of("name,class,arrival,durations\na,c,1,2\n"), HasSubstr("a.csv:1: got 'durations', expected"));
}

TEST(arrivals, jsonl_has_its_own_mistakes) {
    const std::string good = "{\"name\":\"a\",\"class\":\"c\",\"arrival\":1}\n";
    EXPECT_THAT(refusal_of(good + "{\"name\":"), HasSubstr("a.csv:2:"));
    EXPECT_THAT(refusal_of(good + "[1]\n"), HasSubstr("a.csv:2: got '[1]', expected a JSON object in every line"));
    EXPECT_THAT(refusal_of("{\"name\":\"a\",\"class\":\"c\",\"arrival\":\"1\"}"),
                HasSubstr("a.csv:1: arrival: got '\"1\"', expected a number"));
    EXPECT_THAT(refusal_of("{\"name\":\"a\",\"class\":\"c\",\"arrival\":1,\"when\":2}"), HasSubstr("got 'when'"));
    EXPECT_THAT(refusal_of("{\"name\":\"a\",\"name\":\"b\",\"class\":\"c\",\"arrival\":1}"), HasSubstr("a.csv:1"));
    EXPECT_THAT(refusal_of("{\"name\":\"a,b\",\"class\":\"c\",\"arrival\":1}"), HasSubstr("without commas"));
    EXPECT_EQ(table_of("\n" + good + "\n\n").rows.size(), 1U);
}

} // namespace
