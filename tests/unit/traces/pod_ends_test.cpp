#include "vgputraces/pod_ends.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::ElementsAre;
using vgpualloc::ticks;
using vgputraces::pod_end;

std::string ends_refusal(const std::string& text) {
    const auto ends = vgputraces::read_pod_ends(text, "ends.csv");
    return ends ? "none" : ends.error().message();
}

TEST(pod_ends, are_read_in_the_order_of_the_text) {
    const auto ends = vgputraces::read_pod_ends("end,pod\n10.5,a/x\n,a/w\n", "ends.csv");
    ASSERT_TRUE(ends) << ends.error().message();
    EXPECT_THAT(*ends, ElementsAre(pod_end{.pod = "a/x", .line = 2, .end = ticks{10'500'000}},
                                   pod_end{.pod = "a/w", .line = 3, .end = std::nullopt}));
    const auto lines = vgputraces::read_pod_ends("{\"pod\":\"a/x\",\"end\":1}\n", "ends.jsonl");
    ASSERT_TRUE(lines) << lines.error().message();
    EXPECT_EQ(lines->front().end, ticks{1'000'000});
}

TEST(pod_ends, name_line_column_and_value_of_what_is_wrong) {
    EXPECT_EQ(ends_refusal("pod,end\na/x,1\na/x,2\n"),
              "ends.csv:3: pod: got 'a/x', expected a pod that occurs once; line 2 has it too");
    EXPECT_THAT(ends_refusal("pod,end\na/x,soon\n"), testing::HasSubstr("ends.csv:2"));
    EXPECT_THAT(ends_refusal("pod,until\na/x,1\n"), testing::HasSubstr("until"));
    EXPECT_THAT(ends_refusal("end\n1\n"), testing::HasSubstr("pod"));
}

} // namespace
