#include "vgpusim/workload/queues.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::HasSubstr;
using vgpusim::read_queues;

TEST(queues, guarantees_and_limits_are_read_by_dimension) {
    const auto queues = read_queues("- name: research\n"
                                    "  guaranteed: {devices: 4, memory_mib: 81920}\n"
                                    "  limit: {devices: 8}\n"
                                    "- {name: default}\n",
                                    "q.yaml");
    ASSERT_TRUE(queues) << queues.error().message();
    ASSERT_EQ(queues->size(), 2U);
    EXPECT_EQ(queues->front().name, "research");
    EXPECT_EQ(queues->front().guaranteed.devices, 4);
    EXPECT_EQ(queues->front().guaranteed.memory_mib, 81920);
    EXPECT_EQ(queues->front().guaranteed.cores_percent, std::nullopt);
    EXPECT_EQ(queues->front().limit.devices, 8);
    EXPECT_EQ(queues->back().limit.devices, std::nullopt);
    EXPECT_TRUE(read_queues(R"([{"name": "a", "limit": {"cores_percent": 0}}])", "q.json"));
}

TEST(queues, an_error_names_line_and_key) {
    const auto refusal = [](const char* text) {
        const auto queues = read_queues(text, "q.yaml");
        return queues ? std::string{"none"} : queues.error().message();
    };
    EXPECT_THAT(refusal("- name: a\n- name: a\n"), HasSubstr("q.yaml:2: [1].name: got 'a'"));
    EXPECT_THAT(refusal("- name: a\n  guaranteed: {devices: 4}\n  limit: {devices: 3}\n"),
                HasSubstr("limit.devices: got '3', expected no less than the 4 that are guaranteed"));
    EXPECT_THAT(refusal("- name: a\n  guaranteed: {gpus: 4}\n"), HasSubstr("gpus"));
    EXPECT_THAT(refusal("- name: a\n  limit: {devices: -1}\n"), HasSubstr("'-1'"));
    EXPECT_THAT(refusal("- name: a\n  limit: {devices: 1.5}\n"), HasSubstr("'1.5'"));
    EXPECT_THAT(refusal("- name: 'a,b'\n"), HasSubstr("without commas"));
    EXPECT_THAT(refusal("- limit: {devices: 1}\n"), HasSubstr("name"));
    EXPECT_THAT(refusal("name: a\n"), HasSubstr("list"));
    EXPECT_THAT(refusal("[]"), HasSubstr("q.yaml"));
    EXPECT_THAT(refusal(""), HasSubstr("one list of queues"));
}

} // namespace
