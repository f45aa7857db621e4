#include "vgpuformats/column_table.hpp"

#include <array>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "vgpuformats/csv_reader.hpp"

namespace {

using vgpuformats::column_table;
using vgpuformats::column_view;
using vgpuformats::csv_reader;
using vgpuformats::sha256_of_table;

const std::array<std::int64_t, 3> numbers{1, -2, 3};
const std::array<double, 3> reals{0.5, std::numeric_limits<double>::quiet_NaN(), 2};
const std::array<std::uint8_t, 3> truths{1, 0, 1};
const std::array<std::int32_t, 3> codes{1, -1, 0};
const std::array<std::string_view, 2> words{"a", "b"};
const std::array<std::int64_t, 4> offsets{0, 1, 1, 3};

column_table all_kinds() {
    return {{{.name = "n", .cells = std::span<const std::int64_t>{numbers}, .valid = truths},
             {.name = "r", .cells = std::span<const double>{reals}},
             {.name = "t", .cells = std::span<const std::uint8_t>{truths}},
             {.name = "c", .cells = vgpuformats::coded_texts{codes, words}},
             {.name = "j", .cells = vgpuformats::joined_texts{offsets, "xyz"}}}};
}

std::string failure_of(const column_table& table) {
    const auto checked = check_table(table, "pods");
    return checked ? "" : checked.error().message();
}

TEST(column_table, is_read_as_a_csv_is) {
    const column_table table = all_kinds();
    auto csv = csv_reader::open("pods", table);
    ASSERT_TRUE(csv) << csv.error().message();
    std::string text;
    while (csv->next().value()) {
        for (std::size_t i = 0; i < csv->header().size(); ++i) text += std::string{csv->field(i)} + ";";
        text += "\n";
    }
    EXPECT_EQ(text, "1;0.5;true;b;x;\n;;false;;;\n3;2;true;a;yz;\n");
    EXPECT_EQ(csv->column("c"), 3U);
    EXPECT_EQ(*csv->whole(0), 3);
    EXPECT_EQ(csv->whole(3), nullptr);
    EXPECT_EQ(csv->field_error(0, vgpualloc::error_code::malformed, "less").message(),
              "pods row 2: n: got '3', expected less");
}

TEST(column_table, that_is_none_says_why) {
    EXPECT_EQ(failure_of(all_kinds()), "");
    EXPECT_EQ(failure_of({}), "pods: empty; expected columns");
    column_table table = all_kinds();
    table.columns[1].name = "n";
    EXPECT_EQ(failure_of(table), "pods: n: column names that occur once");
    table = all_kinds();
    table.columns[2].cells = std::span<const std::uint8_t>{truths}.first(2);
    EXPECT_EQ(failure_of(table), "pods: t: expected 3 rows, as column n has, found 2");
    table = all_kinds();
    const std::array<std::int32_t, 3> beyond{0, 1, 2};
    table.columns[3].cells = vgpuformats::coded_texts{beyond, words};
    EXPECT_EQ(failure_of(table), "pods: c: expected codes below 2, the number of its texts");
    table = all_kinds();
    table.columns[4].cells = vgpuformats::joined_texts{offsets, "xy"};
    EXPECT_EQ(failure_of(table), "pods: j: expected rising offsets up to 2, the number of its bytes");
}

// What libraries for tables make of one CSV differs in types and in how texts are kept.
TEST(column_table, the_checksum_is_of_what_a_csv_would_say) {
    const std::vector<std::int64_t> whole{1, 2};
    const std::vector<double> real{1.0, 2.0};
    const std::vector<std::int32_t> which{1, 0};
    const std::vector<std::string_view> texts{"x", "yz"};
    const std::vector<std::int64_t> ends{0, 2, 3};
    const column_view joined{.name = "t", .cells = vgpuformats::joined_texts{ends, "yzx"}};
    const std::string sum = sha256_of_table({.columns = {{.name = "n", .cells = std::span{whole}}, joined}});
    EXPECT_EQ(sum, sha256_of_table({.columns = {{.name = "t", .cells = vgpuformats::coded_texts{which, texts}},
                                                {.name = "n", .cells = std::span{real}}}}));
    const std::vector<std::int64_t> moved{0, 1, 3};
    const column_view split{.name = "t", .cells = vgpuformats::joined_texts{moved, "yzx"}};
    EXPECT_NE(sum, sha256_of_table({.columns = {{.name = "n", .cells = std::span{whole}}, split}}));
    const std::vector<std::int64_t> other{1, 3};
    EXPECT_NE(sum, sha256_of_table({.columns = {{.name = "n", .cells = std::span{other}}, joined}}));
    EXPECT_NE(sum, sha256_of_table({.columns = {{.name = "m", .cells = std::span{whole}}, joined}}));
}

} // namespace
