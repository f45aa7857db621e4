// Sets of nodes in changes, and other MIG layouts of nodes.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../clusters.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpuops/whatif/answer.hpp"
#include "vgpuops/whatif/find_layout.hpp"

namespace whatif_layouts_test {

using namespace cluster_test;
namespace whatif = vgpuops::whatif;
using testing::ElementsAre;
using testing::HasSubstr;

/// A node with A100-80GB under NVIDIA's plugin; instances by profile.
std::string mig_node(const std::string& name, int gpus, const std::string& layout,
                     const std::vector<std::pair<std::string, int>>& instances) {
    std::string labels;
    std::string amounts;
    for (const auto& [profile, count] : instances) {
        labels += ", nvidia.com/mig-" + profile + ".count: '" + std::to_string(count) + "'";
        amounts += ", nvidia.com/mig-" + profile + ": '" + std::to_string(count) + "'";
    }
    return "---\nkind: Node\nmetadata:\n  name: " + name + "\n  labels: {kubernetes.io/hostname: " + name +
           ", nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB, nvidia.com/mig.strategy: mixed, nvidia.com/gpu.count: '" +
           std::to_string(gpus) + "', nvidia.com/gpu.memory: '81920', nvidia.com/mig.config: " + layout + labels +
           "}\nstatus:\n  allocatable: {cpu: '64', memory: 256Gi, pods: '110'" + amounts + "}\n";
}

/// A pod of 1 CPU that asks for one instance; where `node` is empty it waits. Nothing makes it again if its name begins
/// with "bare".
std::string instance_pod(const std::string& name, const std::string& profile, const std::string& node) {
    const std::string asks = "{cpu: '1', nvidia.com/mig-" + profile + ": '1'}";
    const std::string owner =
        name.starts_with("bare") ? "" : ", ownerReferences: [{kind: Job, name: j, uid: j, controller: true}]";
    return "---\nkind: Pod\nmetadata: {name: " + name + ", namespace: d, uid: " + name + owner + "}\nspec:\n  " +
           (node.empty() ? "" : "nodeName: " + node + "\n  ") + "containers: [{name: c, resources: {limits: " + asks +
           ", requests: " + asks + "}}]\nstatus: {phase: " + (node.empty() ? "Pending" : "Running") + "}\n";
}

constexpr const char* balanced = "all-balanced";
const std::vector<std::pair<std::string, int>> balanced_instances{{"1g.10gb", 4}, {"2g.20gb", 2}, {"3g.40gb", 2}};
const std::vector<std::pair<std::string, int>> smallest_instances{{"1g.10gb", 14}};

whatif::answer answered(const std::string& yaml, whatif::changes wanted) {
    auto result = whatif::answer_of(objects(yaml), {}, {.wanted = std::move(wanted), .policy = "best_fit"});
    EXPECT_TRUE(result.has_value()) << result.error().message();
    return result ? *std::move(result) : whatif::answer{};
}

std::string refusal_of(const std::string& yaml, whatif::changes wanted) {
    const auto result = whatif::answer_of(objects(yaml), {}, {.wanted = std::move(wanted), .policy = "best_fit"});
    return result ? "" : result.error().message();
}

TEST(whatif_sets, nodes_are_named_by_sets) {
    const std::string nodes = card_node("a-1", 1) + card_node("a-2", 1) + card_node("b-1", 1);
    EXPECT_EQ(answered(nodes, {.drained = {"a-*"}}).after.on_cordoned_nodes, 2);
    EXPECT_EQ(answered(nodes, {.failed = {{.node = "kubernetes.io/hostname in (a-1,b-1)"}}}).after.nodes, 1);
    EXPECT_EQ(answered(nodes, {.failed = {{.node = "*", .device = "0"}}}).after.out_of_service, 3);
    EXPECT_EQ(refusal_of(nodes, {.drained = {"c-*"}}), "--drain c-*: no node; nodes are a-1, a-2, b-1");
    EXPECT_EQ(refusal_of(nodes, {.drained = {"a-*", "a-1"}}),
              "--drain: got 'a-1', expected every node once in --drain and --fail");
    EXPECT_EQ(refusal_of(nodes, {.failed = {{.node = "a-*"}, {.node = "a-1"}}}),
              "--fail: got 'a-1', expected every node once in --drain and --fail");
    EXPECT_EQ(answered(nodes, {.failed = {{.node = "kubernetes.io", .device = "hostname"}}}).after.nodes, 0)
        << "the key of a label is no node and device";
    EXPECT_EQ(refusal_of(nodes, {.uncordoned = {"a-*"}}),
              "--uncordon: got 'a-*', expected a node that is cordoned; none is");
}

TEST(whatif_sets, of_a_set_the_nodes_that_are_cordoned_are_uncordoned) {
    const std::string nodes = card_node("a-1", 1) + "spec: {unschedulable: true}\n" + card_node("a-2", 1);
    const auto result = answered(nodes, {.uncordoned = {"a-*"}});
    EXPECT_EQ(result.before.on_cordoned_nodes, 1);
    EXPECT_EQ(result.after.on_cordoned_nodes, 0);
}

TEST(whatif_layouts, a_node_that_is_cut_anew_takes_what_it_could_not) {
    const std::string text = mig_node("m1", 2, "all-1g.10gb", smallest_instances) + instance_pod("r", "1g.10gb", "m1") +
                             instance_pod("w", "3g.40gb", "");
    EXPECT_EQ(answered(text, {}).placed, 0);
    const auto result = answered(text, {.modes = {{.node = "m*", .mode = "mig", .layout = balanced}}});
    EXPECT_EQ(result.placed, 2) << "the pod that ran starts again";
    ASSERT_EQ(result.layouts.size(), 1U);
    EXPECT_EQ(result.layouts[0].before, "14 x 1g.10gb");
    EXPECT_EQ(result.layouts[0].after, "2 x 3g.40gb, 2 x 2g.20gb, 4 x 1g.10gb");
    // On each GPU 5 of 7 instances go at 0.5 s, and two come at 1 s.
    EXPECT_EQ(result.layouts[0].cut_time, vgpualloc::ticks{9'000'000});
    EXPECT_EQ(result.before.devices, 2);
    EXPECT_EQ(result.after.devices, 2);
}

TEST(whatif_layouts, a_layout_that_a_node_has_moves_nobody) {
    const std::string text = mig_node("m1", 2, "all-1g.10gb", smallest_instances) + instance_pod("r", "1g.10gb", "m1");
    const auto result = answered(text, {.modes = {{.node = "m1", .mode = "mig", .layout = "all-1g.10gb"}}});
    EXPECT_TRUE(result.pods.empty());
    EXPECT_TRUE(result.layouts.empty());
}

TEST(whatif_layouts, what_runs_under_the_cordon_of_a_node_stays_cordoned) {
    const std::string text = mig_node("m1", 2, "all-1g.10gb", smallest_instances) + "spec: {unschedulable: true}\n" +
                             instance_pod("w", "3g.40gb", "");
    const auto result = answered(text, {.modes = {{.node = "m1", .mode = "mig", .layout = balanced}}});
    EXPECT_EQ(result.placed, 0);
    EXPECT_EQ(result.after.on_cordoned_nodes, 2);
}

TEST(whatif_layouts, kinds_with_a_layout_are_added) {
    const std::string text = mig_node("m1", 2, "all-1g.10gb", smallest_instances) + instance_pod("w", "3g.40gb", "");
    const auto result = answered(text, {.added_nodes = {{.kind = "A100-80GB:mig:all-balanced", .nodes = 1}}});
    EXPECT_EQ(result.placed, 1);
    EXPECT_EQ(result.after.devices, 4) << "as many GPUs as the largest node has";
    EXPECT_EQ(answered(text, {.added_nodes = {{.kind = "A100-80GB:mig:all-balanced:8", .nodes = 1}}}).after.devices,
              10);
    EXPECT_THAT(refusal_of(card_node("a", 1), {.added_nodes = {{.kind = "A100-80GB:mig:all-balanced", .nodes = 1}}}),
                HasSubstr("only GPUs of NVIDIA's own plugin have layouts"));
}

TEST(whatif_layouts, kinds_with_a_layout_have_the_strategy_of_the_cluster) {
    const std::string text =
        "---\nkind: Node\nmetadata: {name: s, labels: {nvidia.com/gpu.product: "
        "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb, nvidia.com/mig.strategy: single, nvidia.com/gpu.count: "
        "'7'}}\nstatus: {allocatable: {cpu: '64', memory: 256Gi, pods: '110', nvidia.com/gpu: '7'}}\n"
        "---\nkind: Pod\nmetadata: {name: w, namespace: d}\nspec: {containers: [{name: c, resources: "
        "{limits: {nvidia.com/gpu: '1'}}}]}\n";
    std::string waiting = text;
    for (int i = 0; i < 8; ++i) {
        waiting += "---\nkind: Pod\nmetadata: {name: w" + std::to_string(i) +
                   ", namespace: d}\nspec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: '1'}}}]}\n";
    }
    const auto result = answered(waiting, {.added_nodes = {{.kind = "A100-80GB:mig:all-1g.10gb:1", .nodes = 1}}});
    EXPECT_EQ(result.placed, 9);
    EXPECT_THAT(refusal_of(text, {.added_nodes = {{.kind = "A100-80GB:mig:all-balanced:1", .nodes = 1}}}),
                HasSubstr("the node's MIG strategy is single"));
    const auto layouts =
        whatif::find_layouts(objects(text + instance_pod("x", "1g.10gb", "")), {}, {.policy = "best_fit"}, "s");
    ASSERT_FALSE(layouts.has_value());
    EXPECT_THAT(layouts.error().message(), HasSubstr("--find-layout: node s: nvidia.com/mig.strategy: got 'single'"));
}

TEST(whatif_layouts, bad_layouts_are_refused) {
    const std::string text = mig_node("m1", 2, balanced, balanced_instances) + card_node("a", 1);
    EXPECT_THAT(refusal_of(text, {.modes = {{.node = "m1", .mode = "mig", .layout = "nonsense"}}}),
                HasSubstr("--set-mode: node m1: got 'nonsense', expected a layout of A100-80GB: all-disabled"));
    EXPECT_THAT(refusal_of(text, {.modes = {{.node = "a", .mode = "mig", .layout = balanced}}}),
                HasSubstr("--set-mode: node a: got 'mig:all-balanced'"));
    EXPECT_THAT(refusal_of(text, {.modes = {{.node = "m1", .mode = "mig", .layout = "all-1g.10gb"},
                                            {.node = "m*", .mode = "mig", .layout = "all-2g.20gb"}}}),
                HasSubstr("--set-mode: got 'm1', expected every node once with a layout"));
}

/// Nodes with instances, of which pods have some, and pods that wait.
std::string random_instances(vgpualloc::rng& random) {
    std::string nodes;
    std::string pods;
    const std::vector<std::string> profiles{"1g.10gb", "2g.20gb", "3g.40gb"};
    const std::uint64_t count = 1 + random.below(2);
    for (std::uint64_t n = 0; n < count; ++n) {
        const std::string name = "m" + std::to_string(n);
        const bool is_balanced = random.below(2) == 0;
        nodes += is_balanced ? mig_node(name, 2, balanced, balanced_instances)
                             : mig_node(name, 2, "all-1g.10gb", smallest_instances);
        for (const auto& [profile, most] : is_balanced ? balanced_instances : smallest_instances) {
            for (std::uint64_t i = random.below(static_cast<std::uint64_t>(most) + 1); i > 0; --i) {
                const char* const kind = random.below(4) == 0 ? "bare-" : "";
                pods += instance_pod(kind + name + "-" + profile.substr(0, 2) + std::to_string(i), profile, name);
            }
        }
    }
    pods += instance_pod("w", "3g.40gb", "");
    for (std::uint64_t i = random.below(8); i > 0; --i) {
        pods += instance_pod("w" + std::to_string(i), profiles[random.below(3)], "");
    }
    return nodes + pods;
}

// Each row, with its layouts set by hand, gives its numbers.
TEST(whatif_find_layout, rows_are_what_whatif_answers) {
    vgpualloc::rng random{26};
    for (int i = 0; i < clusters_to_draw(16); ++i) {
        const std::string text = random_instances(random);
        const auto layouts = whatif::find_layouts(objects(text), {}, {.policy = "best_fit"}, "m*");
        ASSERT_TRUE(layouts.has_value()) << layouts.error().message();
        ASSERT_TRUE(layouts->is_exhaustive);
        ASSERT_EQ(std::ssize(layouts->rows), layouts->possible);
        const std::int64_t bound = std::ssize(snapshot_of(text).bound);
        for (const whatif::layout_row& row : layouts->rows) {
            ASSERT_LE(row.run, layouts->rows.front().run);
            whatif::changes wanted;
            for (std::size_t n = 0; n < layouts->nodes.size(); ++n) {
                wanted.modes.push_back({.node = layouts->nodes[n], .mode = "mig", .layout = row.layouts[n]});
            }
            const auto result = answered(text, std::move(wanted));
            const auto moved = std::ranges::count(result.pods, whatif::pod_origin::evicted,
                                                  [](const auto& entry) { return entry.asked.origin; });
            ASSERT_EQ(row.restart, moved) << text;
            ASSERT_EQ(row.run, bound - moved - std::ssize(result.ended) + result.placed) << text;
            ASSERT_EQ(row.run, result.after.pods) << text;
            ASSERT_EQ(row.wait, result.refused) << text;
        }
    }
}

TEST(whatif_find_layout, pods_on_whole_gpus_count_where_these_would_be_cut) {
    const std::string whole = "---\nkind: Node\nmetadata: {name: g, labels: {nvidia.com/gpu.product: "
                              "NVIDIA-A100-SXM4-80GB, nvidia.com/gpu.count: '1', nvidia.com/gpu.memory: '81920'}}\n"
                              "status: {allocatable: {cpu: '64', memory: 256Gi, pods: '110', nvidia.com/gpu: '1'}}\n"
                              "---\nkind: Pod\nmetadata: {name: r, namespace: d}\nspec: {nodeName: g, containers: "
                              "[{name: c, resources: {limits: {nvidia.com/gpu: '1'}}}]}\nstatus: {phase: Running}\n";
    const auto layouts =
        whatif::find_layouts(objects(whole + instance_pod("w", "1g.10gb", "")), {}, {.policy = "best_fit"}, "g");
    ASSERT_TRUE(layouts.has_value()) << layouts.error().message();
    EXPECT_EQ(layouts->others, 1);
    EXPECT_TRUE(layouts->rows.front().is_now) << "one pod runs in either way, and this one stops nobody";
    EXPECT_EQ(layouts->rows.back().cut_time, std::nullopt);
    EXPECT_THAT(whatif::layouts_text(*layouts, false), HasSubstr("Leave the nodes as they are: 1 of 2 pods"));
}

TEST(whatif_find_layout, of_many_nodes_a_row_names_those_that_change) {
    std::string text = instance_pod("w", "3g.40gb", "");
    for (int n = 1; n <= 5; ++n) text += mig_node("m" + std::to_string(n), 1, "all-1g.10gb", {{"1g.10gb", 7}});
    const auto layouts = whatif::find_layouts(objects(text), {}, {.policy = "best_fit"}, "m*");
    ASSERT_TRUE(layouts.has_value()) << layouts.error().message();
    EXPECT_THAT(
        whatif::layouts_text(*layouts, false),
        testing::AllOf(testing::StartsWith("Cut all-3g.40gb m5: 1 of 1 pod of the mix runs (now 0), 0 restart.\n"),
                       HasSubstr("\nCUT                 RUN  WAIT"), HasSubstr("\nall-3g.40gb m[4-5] ")));
}

TEST(whatif_find_layout, nodes_that_take_no_pods_are_left_out_and_have_nothing_to_spare) {
    const std::string text = mig_node("m1", 2, balanced, balanced_instances) +
                             mig_node("m2", 2, balanced, balanced_instances) + instance_pod("w", "3g.40gb", "");
    for (const bool is_drained : {true, false}) {
        whatif::question question{.policy = "best_fit"};
        if (is_drained) {
            question.wanted.drained = {"m1"};
        } else {
            question.wanted.failed = {{.node = "m1"}};
        }
        const auto layouts = whatif::find_layouts(objects(text), {}, question, is_drained ? "m*" : "m2");
        ASSERT_TRUE(layouts.has_value()) << layouts.error().message();
        EXPECT_THAT(layouts->nodes, ElementsAre("m2"));
        const auto& now = *std::ranges::find_if(layouts->rows, &whatif::layout_row::is_now);
        EXPECT_THAT(now.spare, ElementsAre(1)) << "of two 3g.40gb that m2 has";
    }
    whatif::question question{.policy = "best_fit"};
    question.wanted.drained = {"m*"};
    EXPECT_EQ(whatif::find_layouts(objects(text), {}, question, "m*").error().message(),
              "--find-layout: no node of the set takes pods");
}

TEST(whatif_find_layout, without_pods_of_instances_there_is_nothing_to_find) {
    const auto layouts = whatif::find_layouts(objects(mig_node("m1", 2, balanced, balanced_instances)), {},
                                              {.policy = "best_fit"}, "m1");
    ASSERT_FALSE(layouts.has_value());
    EXPECT_EQ(layouts.error().message(), "--find-layout: no pod asks for MIG instances (nvidia.com/mig-…)");
}

} // namespace whatif_layouts_test
