// Members that nobody reads: passed over, and no less strictly read.
#include "vgpuformats/unread_members.hpp"

#include <span>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpuformats/json.hpp"
#include "vgpuformats/yaml.hpp"

namespace vgpuformats {
namespace {

using testing::HasSubstr;
using vgpualloc::error_code;

/// With the members "x" of maps that "a" leads to left out.
vgpualloc::expected<std::vector<document>> read_without_x(std::string_view text) {
    const unread_members unread{
        .is_unread = [](std::span<const std::string> path,
                        std::string_view key) { return path.size() == 1 && path[0] == "a" && key == "x"; },
        .advice = "; x can be left out"};
    return parse_json_stream(text, "f.json", unread);
}

TEST(unread_members, are_null) {
    const auto values = read_without_x(
        R"({"x": 1, "a": {"x": {"x": [1, {"y": []}], "y": 1, "y": 2}, "y": {"x": 3}}} {"a": [{"x": 1}, {"x": [2]}, 3], "b": {"x": 4}})");
    ASSERT_TRUE(values.has_value()) << values.error().message();
    ASSERT_EQ(values->size(), 2U);
    EXPECT_EQ(print_json(values->front()), R"({"x":1,"a":{"x":null,"y":{"x":3}}})");
    EXPECT_EQ(print_json(values->back()), R"({"a":[{"x":null},{"x":null},3],"b":{"x":4}})");
}

TEST(unread_members, what_nobody_reads_is_no_less_strict) {
    EXPECT_EQ(read_without_x(R"({"a": {"x": 1, "x": 2}})").error().code, error_code::duplicate);
    EXPECT_EQ(read_without_x(R"({"a": {"x": {"y" 1}}})").error().code, error_code::malformed);
    const std::string deep = "{\"a\": {\"x\": " + std::string(1'000'000, '[');
    EXPECT_THAT(read_without_x(deep).error().message(), HasSubstr("64 deep"));
}

TEST(unread_members, what_nobody_reads_does_not_count_among_the_values) {
    std::string many = "{\"a\": {\"x\": [0";
    for (std::size_t i = 1; i < json_values_max; ++i) many += ",0";
    const auto values = read_without_x(many + "]}}");
    ASSERT_TRUE(values.has_value()) << values.error().message();
}

TEST(unread_members, errors_of_size_say_what_can_be_left_out) {
    const unread_members unread{.is_unread = nullptr, .advice = "; x can be left out"};
    std::string many;
    for (std::size_t i = 0; i <= yaml_values_max; ++i) many += "- 0\n";
    EXPECT_THAT(parse_documents(many, "f", unread).error().message(),
                testing::AllOf(HasSubstr("at most 2000000 values"), testing::EndsWith("; x can be left out")));
    for (const char first : {' ', '['}) {
        const std::string large = first + std::string(document_bytes_max, ' ');
        EXPECT_THAT(parse_documents(large, "f", unread).error().message(),
                    testing::EndsWith("at most 256 MiB of text; x can be left out"));
    }
}

} // namespace
} // namespace vgpuformats
