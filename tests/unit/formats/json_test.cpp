// JSON texts: every value with its place, everything else refused with a place, and what is printed.
#include "vgpuformats/json.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpuformats {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using vgpualloc::error;
using vgpualloc::error_code;

std::string placed(const document& value) {
    return std::to_string(value.place.line) + ":" + std::to_string(value.place.column);
}

error refused(std::string_view text) {
    const auto value = parse_json(text, "f.json");
    EXPECT_FALSE(value.has_value()) << text.substr(0, 60);
    return value ? error{} : value.error();
}

TEST(parse_json, keeps_texts_and_the_order_of_members) {
    const auto value = parse_json(R"( {"b": "x\n\u00e9", "a": [true, false, null, -1, 1.50, 1e3]} )", "f.json");
    ASSERT_TRUE(value.has_value()) << value.error().message();
    ASSERT_EQ(value->size(), 2U);
    EXPECT_EQ(value->members[0].first, "b");
    EXPECT_EQ(value->members[0].second.text, "x\n\xC3\xA9");
    const auto& list = value->find("a")->items;
    ASSERT_EQ(list.size(), 6U);
    EXPECT_EQ(list[0].truth(), true);
    EXPECT_EQ(list[1].truth(), false);
    EXPECT_TRUE(list[2].is_null());
    EXPECT_EQ(list[3].text, "-1");
    EXPECT_EQ(list[4].text, "1.50");
    EXPECT_EQ(list[5].text, "1e3");
}

TEST(parse_json, every_value_knows_line_and_column) {
    const auto value =
        parse_json("{\n  \"a,\\\"]\": [1,\t[],{}],\n\n \"b\" :\r\n true, \"c\":\"x\", \"d\":null}", "f.json");
    ASSERT_TRUE(value.has_value()) << value.error().message();
    EXPECT_EQ(placed(*value), "1:1");
    const auto& list = *value->find("a,\"]");
    EXPECT_EQ(placed(list), "2:12");
    EXPECT_EQ(placed(list.items[0]), "2:13");
    EXPECT_EQ(placed(list.items[1]), "2:16");
    EXPECT_EQ(placed(list.items[2]), "2:19");
    EXPECT_EQ(placed(*value->find("b")), "5:2");
    EXPECT_EQ(placed(*value->find("c")), "5:12");
    EXPECT_EQ(placed(*value->find("d")), "5:21");
}

TEST(parse_json, a_line_of_a_file_has_its_number_in_all_places) {
    const auto value = parse_json("{\"a\":\n1}", "f.jsonl", repeated_keys::refused, 7);
    ASSERT_TRUE(value.has_value()) << value.error().message();
    EXPECT_EQ(placed(*value), "7:1");
    EXPECT_EQ(placed(*value->find("a")), "8:1");
    EXPECT_EQ(parse_json("[1 2]", "f.jsonl", repeated_keys::refused, 7).error().where, "f.jsonl:7:4");
    EXPECT_EQ(parse_json("{\"a\":1,\"a\":2}", "f.jsonl", repeated_keys::refused, 7).error().where, "f.jsonl:7:8");
}

TEST(parse_json, a_byte_order_mark_is_passed_over) {
    const auto value = parse_json("\xEF\xBB\xBF{\"a\": 1}", "f.json");
    ASSERT_TRUE(value.has_value());
    EXPECT_EQ(value->find("a")->text, "1");
}

TEST(parse_json, what_is_no_json_is_refused_with_line_and_column) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"", "f.json:1:1"},         {"  \n ", "f.json:2:2"}, {"{", "f.json:1:2"},      {"{\"a\":\n1,}", "f.json:2:3"},
        {"[1 2]", "f.json:1:4"},    {"'a'", "f.json:1:1"},   {"{a: 1}", "f.json:1:2"}, {"01", "f.json:1:2"},
        {"[1]\n x", "f.json:2:2"},  {"true1", "f.json:1:5"}, {"1-2", "f.json:1:2"},    {"nul", "f.json:1:4"},
        {"\"\xff\"", "f.json:1:2"}, {"\"a", "f.json:1:3"},   {"[+1]", "f.json:1:2"},   {"[1.]", "f.json:1:4"},
        {"/* c */ 1", "f.json:1:1"}};
    for (const auto& [text, place] : cases) {
        const error failure = refused(text);
        EXPECT_EQ(failure.code, error_code::malformed) << text;
        EXPECT_EQ(failure.where, place) << text;
        EXPECT_THAT(failure.expected, AnyOf(HasSubstr("JSON"), HasSubstr("the text ends inside"))) << text;
    }
    EXPECT_EQ(refused("[1e999]").code, error_code::malformed);
    EXPECT_EQ(
        refused("\"\x01\xff\"")
            .message()
            .find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:;'\"<>?+()-_[]{}/\\"),
        std::string::npos);
}

TEST(parse_json, a_key_given_twice_is_refused_where_it_comes_again) {
    const error failure = refused("{\"a\": 1,\n \"b\": {\"a\": 1}, \"a\": 2}");
    EXPECT_EQ(failure.message(), "f.json:2:17: a: the key is given twice");
    EXPECT_EQ(failure.code, error_code::duplicate);
    std::string many = "{";
    for (int i = 0; i < 100; ++i) many += "\"k" + std::to_string(i) + "\": 1, ";
    EXPECT_TRUE(parse_json(many + "\"k\": 1}", "f.json").has_value());
    EXPECT_EQ(refused(many + "\"k20\": 1}").field, "k20");
}

TEST(parse_json, nesting_is_limited) {
    const auto nested = [](int depth) {
        const auto brackets = static_cast<std::size_t>(depth);
        return std::string(brackets, '[') + std::string(brackets, ']');
    };
    EXPECT_TRUE(parse_json(nested(depth_max), "f.json").has_value());
    EXPECT_EQ(refused(nested(depth_max + 1)).code, error_code::out_of_range);
    EXPECT_THAT(refused(std::string(10'000'000, '[')).message(), HasSubstr("64 deep"));
    std::string maps;
    for (int i = 0; i <= depth_max; ++i) maps += "{\"a\":";
    EXPECT_THAT(refused(maps).message(), HasSubstr("64 deep"));
}

TEST(parse_json, the_size_of_a_text_is_limited) {
    const std::string spaces(document_bytes_max, ' ');
    EXPECT_EQ(refused(spaces + "1").code, error_code::out_of_range);
    EXPECT_EQ(parse_json(spaces.substr(1) + "1", "f.json")->text, "1");
    EXPECT_EQ(parse_json_stream(spaces + "1", "f.json").error().code, error_code::out_of_range);
}

TEST(parse_json_stream, values_may_follow_one_another) {
    const auto values = parse_json_stream("{\"a\": 1}\n[2] 3\"x\"{}{}\n", "f.json");
    ASSERT_TRUE(values.has_value()) << values.error().message();
    ASSERT_EQ(values->size(), 6U);
    EXPECT_EQ(placed((*values)[1]), "2:1");
    EXPECT_EQ((*values)[2].text, "3");
    EXPECT_EQ((*values)[3].text, "x");
    EXPECT_EQ(placed((*values)[5]), "2:11");
    const auto bad = parse_json_stream("{}\n{} ,", "f.json");
    ASSERT_FALSE(bad.has_value());
    EXPECT_EQ(bad.error().where, "f.json:2:4");
    EXPECT_FALSE(parse_json_stream("", "f.json").has_value());
}

/// A mark between two values made the reader return the same value for ever; found by fuzzing.
TEST(parse_json_stream, every_one_of_the_files_that_were_joined_may_begin_with_a_mark) {
    const std::string mark = "\xEF\xBB\xBF";
    const auto values = parse_json_stream(mark + "{\"a\": 1}" + mark + "[2]\n" + mark + mark + "{}\n", "f.json");
    ASSERT_TRUE(values.has_value()) << values.error().message();
    ASSERT_EQ(values->size(), 3U);
    EXPECT_EQ(print_json((*values)[1]), "[2]");
    EXPECT_EQ(placed((*values)[2]), "2:7");
    EXPECT_FALSE(parse_json_stream("8" + mark + "{}\" {\"b%: \"x0", "f.json").has_value());
}

TEST(print_json, one_line_or_indented) {
    const auto value = parse_json(R"({"a":[1,{"b":"x"}],"e":[],"m":{},"n":null})", "f.json");
    EXPECT_EQ(print_json(*value), R"({"a":[1,{"b":"x"}],"e":[],"m":{},"n":null})");
    EXPECT_EQ(print_json(*value, 2), "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x\"\n    }\n  ],\n  \"e\": [],\n"
                                     "  \"m\": {},\n  \"n\": null\n}");
}

// A JSON text means the same with escapes, and a terminal is not steered by it.
TEST(print_json, what_is_not_seen_is_escaped) {
    const std::string text = "\x1b[31m \x7f \xC2\x9B \xE2\x80\xAE é 昇";
    EXPECT_EQ(print_json(text), R"("\u001b[31m \u007f \u009b \u202e é 昇")");
    EXPECT_EQ(parse_json(print_json(text), "x")->text, text);
}

TEST(print_json, texts_are_escaped_and_made_valid) {
    EXPECT_EQ(print_json("a\"b\\c\n\x01/\xC3\xA9"), R"("a\"b\\c\n\u0001/é")");
    EXPECT_EQ(print_json("a\xff"), "\"a\xEF\xBF\xBD\"");
    EXPECT_EQ(print_json(document::map({{"k\n", 1}})), R"({"k\n":1})");
}

} // namespace
} // namespace vgpuformats
