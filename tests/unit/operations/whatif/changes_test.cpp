#include "vgpuops/whatif/changes.hpp"

#include <gtest/gtest.h>

#include "../clusters.hpp"

namespace {

using namespace cluster_test;
namespace whatif = vgpuops::whatif;
using vgpualloc::node_index;

const std::string two_node_objects =
    card_node("a", 2) + card_node("b", 1) + running_pod("r0", "a", 0, 1000) + running_pod("r1", "a", 1, 1000) +
    running_pod("agent", "a", 1, 10, "ownerReferences: [{kind: DaemonSet, controller: true}],");

std::vector<vgpualloc::pod_id> applied(kube::snapshot& state, const whatif::changes& wanted) {
    const auto evicted = whatif::apply(state, wanted, objects(two_node_objects));
    EXPECT_TRUE(evicted.has_value()) << evicted.error().message();
    return *evicted;
}

std::string refusal_of(const whatif::changes& wanted) {
    auto state = snapshot_of(two_node_objects);
    const auto evicted = whatif::apply(state, wanted, objects(two_node_objects));
    EXPECT_FALSE(evicted.has_value());
    return evicted ? "" : evicted.error().message();
}

TEST(whatif_changes, a_drained_node_keeps_its_daemons_and_takes_nothing_new) {
    auto state = snapshot_of(two_node_objects);
    EXPECT_EQ(applied(state, {.drained = {"a"}}).size(), 2U);
    EXPECT_EQ(state.book->host(node_index{0}).pods, 1);
    EXPECT_TRUE(state.nodes().nodes[0].host.unschedulable);
}

TEST(whatif_changes, an_uncordoned_node_loses_the_cordon_and_its_taint) {
    const std::string text = card_node("a", 1) +
                             "spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: "
                             "NoSchedule}, {key: team, effect: NoSchedule}]}\n" +
                             card_node("b", 1);
    auto state = snapshot_of(text);
    ASSERT_TRUE(whatif::apply(state, {.uncordoned = {"a"}}, objects(text)).has_value());
    const auto& host = state.nodes().nodes[0].host;
    EXPECT_FALSE(host.unschedulable);
    ASSERT_EQ(host.taints.size(), 1U);
    EXPECT_EQ(host.taints.front().key, "team");
    EXPECT_EQ(whatif::apply(state, {.uncordoned = {"b"}}, objects(text)).error().message(),
              "--uncordon: got 'b', expected a node that is cordoned; none is");
}

TEST(whatif_changes, a_failed_node_is_gone_with_all_of_its_pods_of_which_daemons_go_nowhere_else) {
    auto state = snapshot_of(two_node_objects);
    EXPECT_EQ(applied(state, {.failed = {{.node = "a"}}}).size(), 2U);
    EXPECT_TRUE(state.book->live_on(node_index{0}).empty());
    EXPECT_FALSE(state.book->is_present(node_index{0}));
}

TEST(whatif_changes, a_failed_device_evicts_its_own_pods) {
    for (const char* const name : {"GPU-a-0", "0"}) {
        auto state = snapshot_of(two_node_objects);
        EXPECT_EQ(applied(state, {.failed = {{.node = "a", .device = name}}}), std::vector{vgpualloc::pod_id{0}});
        EXPECT_EQ(state.book->services(node_index{0})[0], vgpualloc::service_state::failed);
        EXPECT_EQ(state.book->services(node_index{0})[1], vgpualloc::service_state::in_service);
    }
}

TEST(whatif_changes, another_mode_takes_the_devices_from_all_pods) {
    auto state = snapshot_of(two_node_objects);
    EXPECT_EQ(applied(state, {.modes = {{.node = "a", .mode = "mig"}}}).size(), 3U);
    EXPECT_EQ(state.nodes().spec_of(node_index{0}, vgpualloc::device_index{1}).mode->name(), "mig");
    EXPECT_EQ(state.devices[0][1].registered.mode, "mig");
    EXPECT_EQ(state.nodes().spec_of(node_index{1}, vgpualloc::device_index{0}).mode->name(), "hami_core");
}

TEST(whatif_changes, the_mode_that_a_node_has_moves_nobody) {
    auto state = snapshot_of(two_node_objects);
    EXPECT_TRUE(applied(state, {.modes = {{.node = "a", .mode = "hami_core"}}}).empty());
}

TEST(whatif_changes, what_there_is_not_is_refused_with_what_there_is) {
    EXPECT_EQ(refusal_of({.drained = {"c"}}), "--drain: got 'c', expected a node of the cluster: a, b");
    EXPECT_EQ(refusal_of({.failed = {{.node = "a", .device = "GPU-b-0"}}}),
              "--fail: got 'a/GPU-b-0', expected a device of that node, by uuid or number: GPU-a-0, GPU-a-1");
    EXPECT_NE(refusal_of({.modes = {{.node = "a", .mode = "half"}}}).find("exclusive, hami_core, mig"),
              std::string::npos);
    EXPECT_EQ(refusal_of({.modes = {{.node = "a", .mode = "cce"}}}),
              "--set-mode: node a: got 'cce', expected a mode in which dialect volcano_vgpu registers such devices: "
              "hami_core, mig, mps");
    EXPECT_NE(refusal_of({.drained = {"a"}, .failed = {{.node = "a"}}}).find("every node once"), std::string::npos);
}

TEST(whatif_changes, placed_anew_are_the_pods_that_may_move_on_nodes_that_take_pods) {
    const std::string owner = "ownerReferences: [{kind: ReplicaSet, name: r, controller: true}],";
    const std::string daemon = "ownerReferences: [{kind: DaemonSet, name: d, controller: true}],";
    const std::string runs = "status: {phase: Running}\n";
    const std::string text = card_node("a", 2) + card_node("b", 1) + "spec: {unschedulable: true}\n" +
                             running_pod("moves", "a", 0, 1000, owner) + runs +
                             running_pod("alone", "a", 1, 1000, " ") + runs + running_pod("agent", "a", 1, 10, daemon) +
                             runs + running_pod("cordoned", "b", 0, 1000, owner) + runs;
    auto state = snapshot_of(text);
    const auto evicted = whatif::apply(state, {.anew = true}, objects(text));
    ASSERT_TRUE(evicted.has_value()) << evicted.error().message();
    ASSERT_EQ(evicted->size(), 1U);
    EXPECT_EQ(state.bound[evicted->front().at()].pod.name, "moves");
}

TEST(whatif_changes, added_nodes_are_empty_copies_with_names_of_their_own) {
    auto state = snapshot_of(two_node_objects);
    ASSERT_TRUE(state.book->set_schedulable(node_index{0}, false).has_value());
    const auto kind = whatif::kind_of(state, node_index{0});
    const auto added = whatif::add_nodes(state, kind, 2);
    ASSERT_EQ(added.size(), 2U);
    const auto& node = state.nodes().nodes[added[1].at()];
    EXPECT_EQ(node.name, "a-added-2");
    EXPECT_EQ(*node.host.label("kubernetes.io/hostname"), "a-added-2");
    EXPECT_FALSE(node.host.unschedulable);
    EXPECT_EQ(node.devices[0].uuid, "GPU-a-0-a-added-2");
    EXPECT_EQ(state.devices[added[1].at()][0].registered.uuid, "GPU-a-0-a-added-2");
    EXPECT_EQ(state.book->host(added[1]).pods, 0);
}

TEST(whatif_changes, a_template_is_a_kind_and_no_node) {
    auto state = snapshot_of(two_node_objects + card_node("big", 8));
    const auto kind = whatif::take_template(state, node_index{2});
    EXPECT_FALSE(whatif::find_node(state, "big", "--drain").has_value());
    const auto added = whatif::add_nodes(state, kind, 1);
    EXPECT_EQ(state.nodes().nodes[added[0].at()].devices.size(), 8U);
    EXPECT_EQ(state.devices[added[0].at()].size(), 8U);
}

} // namespace
