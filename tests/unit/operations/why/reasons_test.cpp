#include "vgpuops/why/reasons.hpp"

#include <gtest/gtest.h>

#include "../clusters.hpp"

namespace {

using namespace cluster_test;
namespace why = vgpuops::why;
using why::node_reason;

std::vector<why::node_reasons> reasons_for_first(const std::string& text) {
    const auto state = snapshot_of(text);
    const auto explained = why::explain_waiting(state, state.pending.front());
    EXPECT_TRUE(explained.has_value()) << explained.error().message();
    return explained ? why::reasons_of(state, *explained) : std::vector<why::node_reasons>{};
}

TEST(why_reasons, a_node_has_the_reason_that_is_hardest_to_cure) {
    const auto nodes = reasons_for_first(
        card_node("fits", 1) + card_node("full", 1) + running_pod("r", "full", 0, 40000) + card_node("closed", 1) +
        "spec: {unschedulable: true, taints: [{key: team, value: dev, effect: NoSchedule}]}\n" +
        "---\nkind: Node\nmetadata: {name: hosts-only}\nstatus: {allocatable: {cpu: '16', memory: 64Gi, pods: "
        "'110'}}\n" +
        pod_object("w", 5000));
    ASSERT_EQ(nodes.size(), 4U);
    EXPECT_EQ(nodes[0].word, node_reason::fits);
    EXPECT_TRUE(nodes[0].checks.empty());
    EXPECT_EQ(nodes[1].word, node_reason::too_few_free);
    EXPECT_EQ(nodes[1].checks.front().text, "960/5000 MiB");
    EXPECT_EQ(nodes[2].word, node_reason::not_allowed) << "a taint stays when the cordon goes";
    ASSERT_EQ(nodes[2].checks.size(), 2U);
    EXPECT_EQ(nodes[2].checks[0].text, "taint team=dev:NoSchedule");
    EXPECT_EQ(nodes[2].checks[1].text, "cordoned");
    EXPECT_EQ(nodes[3].word, node_reason::wrong_kind);
    EXPECT_EQ(nodes[3].checks.front().text, "no GPU");
}

TEST(why_reasons, a_cordon_is_one_reason_also_where_the_node_controller_has_set_its_taint) {
    const auto nodes = reasons_for_first(
        card_node("closed", 1) +
        "spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}\n" +
        pod_object("w", 5000));
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(nodes[0].word, node_reason::out_of_service);
    ASSERT_EQ(nodes[0].checks.size(), 1U);
    EXPECT_EQ(nodes[0].checks[0].text, "cordoned");
}

} // namespace
