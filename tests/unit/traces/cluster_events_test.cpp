#include "vgputraces/cluster_events.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::HasSubstr;
using vgpualloc::ticks;
using vgputraces::node_event;
using vgputraces::read_cluster_events;
using vgputraces::read_failure_model;

TEST(cluster_events, rows_come_by_time) {
    const auto rows =
        read_cluster_events("time,what,node,device\n9,repaired,a,0\n2.5,fails,a,0\n2.5,drained,b,\n", "e.csv");
    ASSERT_TRUE(rows) << rows.error().message();
    ASSERT_EQ(rows->size(), 3U);
    EXPECT_EQ((*rows)[0],
              (vgputraces::cluster_event_row{
                  .line = 3, .time = ticks{2'500'000}, .what = node_event::fails, .node = "a", .device = "0"}));
    EXPECT_EQ((*rows)[1].what, node_event::drained);
    const auto objects = read_cluster_events("{\"time\": 1, \"what\": \"joins\", \"node\": \"a\"}\n"
                                             "{\"time\": 2, \"what\": \"fails\", \"node\": \"a\", \"device\": 3}\n",
                                             "e.jsonl");
    ASSERT_TRUE(objects) << objects.error().message();
    EXPECT_EQ((*objects)[1].device, "3");
    EXPECT_EQ(to_string((*objects)[0].what), "joins");
}

TEST(cluster_events, an_error_names_line_and_column) {
    const auto refusal = [](const std::string& rows) {
        const auto read = read_cluster_events("time,what,node,device\n" + rows, "e.csv");
        return read ? std::string{"none"} : read.error().message();
    };
    EXPECT_THAT(refusal("1,explodes,a,\n"),
                HasSubstr("e.csv:2: what: got 'explodes', expected one of fails, repaired"));
    EXPECT_THAT(refusal("1,leaves,a,0\n"), HasSubstr("e.csv:2: device: got '0', expected no device"));
    EXPECT_THAT(refusal("-1,fails,a,\n"), HasSubstr("e.csv:2: time: got '-1'"));
    EXPECT_THAT(refusal("1,fails,,\n"), HasSubstr("e.csv:2: node: missing"));
    EXPECT_EQ(refusal(""), "none") << "nothing may happen";
}

TEST(cluster_events, a_crash_is_of_a_pod_and_nothing_else_is) {
    const auto rows = read_cluster_events("time,what,pod\n7,crashes,p-0\n", "e.csv");
    ASSERT_TRUE(rows) << rows.error().message();
    EXPECT_EQ(
        rows->front(),
        (vgputraces::cluster_event_row{
            .line = 2, .time = ticks{7'000'000}, .what = node_event::crashes, .node = "", .device = "", .pod = "p-0"}));
    const auto refusal = [](const std::string& row) {
        const auto read = read_cluster_events("time,what,node,device,pod\n" + row + "\n", "e.csv");
        return read ? std::string{"none"} : read.error().message();
    };
    EXPECT_THAT(refusal("1,crashes,,,"), HasSubstr("e.csv:2: pod: missing; expected in every row of a pod"));
    EXPECT_THAT(refusal("1,crashes,a,,p"), HasSubstr("e.csv:2: node: got 'a', expected nothing"));
    EXPECT_THAT(refusal("1,crashes,,0,p"), HasSubstr("e.csv:2: device: got '0', expected nothing"));
    EXPECT_THAT(refusal("1,fails,a,,p"), HasSubstr("e.csv:2: pod: got 'p', expected nothing"));
    EXPECT_THAT(refusal("1,fails,,0,"), HasSubstr("e.csv:2: node: missing"));
}

TEST(failure_model, means_and_a_horizon) {
    const auto model = read_failure_model("nodes: {mtbf_s: 86400, mttr_s: 600.5}\nhorizon_s: 0.5\n", "f.yaml");
    ASSERT_TRUE(model) << model.error().message();
    EXPECT_EQ(model->nodes, (vgputraces::failure_rates{.mtbf_s = 86400, .mttr_s = 600.5}));
    EXPECT_FALSE(model->devices);
    EXPECT_EQ(model->horizon, ticks{500'000});
    const auto refusal = [](const char* text) {
        const auto read = read_failure_model(text, "f.yaml");
        return read ? std::string{"none"} : read.error().message();
    };
    EXPECT_THAT(refusal("{}"), HasSubstr("the key nodes, or devices, or both"));
    EXPECT_THAT(refusal("nodes: {mtbf_s: 0, mttr_s: 1}"), HasSubstr("f.yaml:1: nodes.mtbf_s: got '0'"));
    EXPECT_THAT(refusal("nodes: {mtbf_s: 1}"), HasSubstr("mttr_s"));
    EXPECT_THAT(refusal("nodes: {mtbf_s: .nan, mttr_s: 1}"), HasSubstr("mtbf_s"));
    EXPECT_THAT(refusal("racks: {mtbf_s: 1, mttr_s: 1}"), HasSubstr("racks"));
    EXPECT_THAT(refusal("[]"), HasSubstr("f.yaml"));
    EXPECT_THAT(refusal(""), HasSubstr("one map"));
}

} // namespace
