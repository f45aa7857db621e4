// The tree that texts are read into and printed from.
#include "vgpuformats/document.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "vgpuformats/json.hpp"

namespace vgpuformats {
namespace {

document number(std::string text) {
    document value;
    value.kind = value_kind::number;
    value.text = std::move(text);
    return value;
}

TEST(document, is_written_down_as_what_it_prints) {
    const document value = document::map({{"text", "a"},
                                          {"yes", true},
                                          {"count", 3},
                                          {"least", std::numeric_limits<std::int64_t>::min()},
                                          {"most", std::numeric_limits<std::uint64_t>::max()},
                                          {"share", 0.25},
                                          {"nothing", document{}},
                                          {"list", document::list({1, "b", document::map()})}});
    EXPECT_EQ(print_json(value), R"({"text":"a","yes":true,"count":3,"least":-9223372036854775808,)"
                                 R"("most":18446744073709551615,"share":0.25,"nothing":null,"list":[1,"b",{}]})");
}

TEST(document, takes_ranges_and_maps) {
    EXPECT_EQ(print_json(document::list_of(std::vector<std::int64_t>{1, 2})), "[1,2]");
    EXPECT_EQ(print_json(document::list_of(std::vector<std::string>{})), "[]");
    EXPECT_EQ(print_json(document::map_of(std::map<std::string, std::string>{{"b", "2"}, {"a", "1"}})),
              R"({"a":"1","b":"2"})");
}

TEST(document, a_member_is_made_where_there_is_none) {
    document value;
    value["b"] = 1;
    value["a"]["inner"] = 2;
    value["b"] = 3;
    EXPECT_EQ(print_json(value), R"({"b":3,"a":{"inner":2}})");
    document list;
    list.push_back(1);
    list.push_back("x");
    EXPECT_EQ(print_json(list), R"([1,"x"])");
    EXPECT_EQ(value.size(), 2U);
    EXPECT_EQ(list.size(), 2U);
    EXPECT_EQ(document{"text"}.size(), 0U);
}

TEST(document, members_are_found_by_key) {
    const document value = document::map({{"a", 1}, {"b", document{}}});
    EXPECT_EQ(value.find("a")->text, "1");
    EXPECT_TRUE(value.find("b")->is_null());
    EXPECT_EQ(value.find("c"), nullptr);
    EXPECT_EQ(document{"a"}.find("a"), nullptr);
    const auto twice = parse_json(R"({"a": 1, "a": 2})", "f", repeated_keys::kept);
    EXPECT_EQ(twice->find("a")->text, "2");
}

TEST(document, numbers_are_whole_or_real) {
    EXPECT_EQ(number("-9223372036854775808").integer(), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(number("9223372036854775808").integer(), std::nullopt);
    EXPECT_EQ(number("1.0").integer(), std::nullopt);
    EXPECT_EQ(number("1e3").integer(), std::nullopt);
    EXPECT_EQ(number("0x10").integer(), 16);
    EXPECT_EQ(number("1e3").real(), 1000.0);
    EXPECT_EQ(number(".5").real(), 0.5);
    EXPECT_EQ(document{"1"}.integer(), std::nullopt);
    EXPECT_EQ(document{"1"}.real(), std::nullopt);
    EXPECT_EQ(document{true}.truth(), true);
    EXPECT_EQ(document{false}.truth(), false);
    EXPECT_EQ(document{"true"}.truth(), std::nullopt);
}

TEST(document, a_double_keeps_its_value_and_what_is_no_number_is_null) {
    EXPECT_EQ(document{1.0}.text, "1.0");
    EXPECT_EQ(document{0.1}.text, "0.1");
    EXPECT_EQ(document{1e300}.real(), 1e300);
    EXPECT_TRUE(document{std::numeric_limits<double>::quiet_NaN()}.is_null());
    EXPECT_TRUE(document{std::numeric_limits<double>::infinity()}.is_null());
}

TEST(document, yaml_numbers_are_respelled_for_json) {
    const std::vector<std::pair<std::string, std::string>> spellings{
        {"0", "0"},       {"-0", "-0"},     {"+3", "3"},
        {"007", "7"},     {"010", "8"},     {"089", "89"},
        {"0x1F", "31"},   {"-0x10", "-16"}, {".5", "0.5"},
        {"-.5", "-0.5"},  {"5.", "5"},      {"5.e1", "5e1"},
        {"1.50", "1.50"}, {"1e3", "1e3"},   {"0xFFFFFFFFFFFFFFFFF", "\"0xFFFFFFFFFFFFFFFFF\""}};
    for (const auto& [written, spelled] : spellings) EXPECT_EQ(json_number(written), spelled) << written;
}

TEST(document, equal_trees_may_lie_at_different_places) {
    const auto near = parse_json(R"({"a":[1,"x"]})", "f");
    const auto far = parse_json("\n\n  {\n\"a\": [1, \"x\"]}", "f");
    EXPECT_EQ(*near, *far);
    EXPECT_NE(*near, *parse_json(R"({"a":[1,"y"]})", "f"));
    EXPECT_NE(*near, *parse_json(R"({"b":[1,"x"]})", "f"));
}

} // namespace
} // namespace vgpuformats
