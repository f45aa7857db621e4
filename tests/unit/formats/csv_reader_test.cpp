#include "vgpuformats/csv_reader.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::ElementsAre;
using vgpuformats::csv_reader;

/// All fields of all lines, or the message of the first error.
struct parsed {
    std::vector<std::vector<std::string>> rows;
    std::string failure;
};

parsed parse(const std::string& text, std::size_t columns) {
    parsed result;
    auto csv = csv_reader::open("f.csv", text);
    if (!csv) return {.rows = {}, .failure = csv.error().message()};
    while (true) {
        const auto more = csv->next();
        if (!more) result.failure = more.error().message();
        if (!more || !*more) return result;
        auto& row = result.rows.emplace_back();
        for (std::size_t i = 0; i < columns; ++i) row.emplace_back(csv->field(i));
    }
}

TEST(csv_reader, lines_and_fields) {
    const auto got = parse("a,b\n1,2\n,\n", 2);
    EXPECT_EQ(got.failure, "");
    EXPECT_THAT(got.rows, ElementsAre(ElementsAre("1", "2"), ElementsAre("", "")));
}

TEST(csv_reader, the_last_line_needs_no_line_end) {
    EXPECT_THAT(parse("a,b\n1,2", 2).rows, ElementsAre(ElementsAre("1", "2")));
}

TEST(csv_reader, crlf_bom_and_empty_lines_at_the_end) {
    const auto got = parse("\xEF\xBB\xBF"
                           "a,b\r\n1,2\r\n\r\n\n",
                           2);
    EXPECT_EQ(got.failure, "");
    EXPECT_THAT(got.rows, ElementsAre(ElementsAre("1", "2")));
}

TEST(csv_reader, columns_by_name) {
    const auto csv = csv_reader::open("f.csv", "\xEF\xBB\xBF"
                                               "a,b");
    ASSERT_TRUE(csv.has_value());
    EXPECT_EQ(csv->column("a"), 0U);
    EXPECT_EQ(csv->column("b"), 1U);
    EXPECT_EQ(csv->column("B"), csv_reader::no_column);
    EXPECT_EQ(csv->missing_column("c").message(), "f.csv:1: c: missing; expected this column in the header");
}

TEST(csv_reader, an_empty_text_has_no_header) {
    EXPECT_EQ(parse("", 0).failure, "f.csv:1: empty; expected a header line");
}

TEST(csv_reader, a_column_may_occur_once_only) {
    EXPECT_EQ(parse("a,b,a\n", 0).failure, "f.csv:1: a: got 'a', expected column names that occur once");
}

TEST(csv_reader, lines_of_another_length_are_named) {
    EXPECT_EQ(parse("a,b\n1,2\n1\n", 2).failure, "f.csv:3: expected 2 fields, found 1 (a truncated line?)");
    EXPECT_EQ(parse("a,b\n1,2,3\n", 2).failure, "f.csv:2: expected 2 fields, found 3");
    EXPECT_EQ(parse("a,b\n\n1,2\n", 2).failure, "f.csv:2: expected 2 fields, found 1 (a truncated line?)");
}

TEST(csv_reader, quotes_are_refused) {
    EXPECT_EQ(parse("a,b\n\"1,2\",3\n", 2).failure, "f.csv:2: fields without quotes; this format has no quoting");
}

TEST(csv_reader, field_errors_name_line_column_and_text) {
    const std::string text = "a,b\n1,2\n3,4\n";
    auto csv = csv_reader::open("f.csv", text);
    ASSERT_TRUE(csv.has_value());
    ASSERT_TRUE(csv->next().value());
    ASSERT_TRUE(csv->next().value());
    EXPECT_EQ(csv->field_error(1, vgpualloc::error_code::malformed, "a name").message(),
              "f.csv:3: b: got '4', expected a name");
    EXPECT_FALSE(csv->next().value());
    EXPECT_FALSE(csv->next().value());
}

// Readers that pass over bad lines go on after each of them: none may look at all that follows.
TEST(csv_reader, many_empty_lines_are_looked_at_once_each) {
    constexpr std::size_t lines = 500'000;
    const std::string text = "a,b\n" + std::string(lines, '\n') + "1,2\n\r\n\n";
    auto reader = vgpuformats::csv_reader::open("t.csv", text).value();
    std::size_t bad = 0;
    auto more = reader.next();
    for (; !more; more = reader.next()) ++bad;
    EXPECT_EQ(bad, lines);
    EXPECT_TRUE(*more);
    EXPECT_EQ(reader.field(1), "2");
    EXPECT_EQ(reader.line(), lines + 2);
    EXPECT_FALSE(reader.next().value());
}

} // namespace
