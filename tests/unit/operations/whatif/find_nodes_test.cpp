#include "vgpuops/whatif/find_nodes.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "../clusters.hpp"
#include "vgpualloc/compat/all.hpp"

namespace {

using namespace cluster_test;
namespace whatif = vgpuops::whatif;

whatif::nodes_found searched(const std::string& text, std::size_t kind, const std::string& policy = "fgd") {
    auto state = snapshot_of(text);
    const auto scorer = vgpualloc::make_policy(policy, {.target = state.typical()});
    vgpualloc::allocator decider{*state.book, {.node = scorer->get(), .device = scorer->get()}};
    const auto queue = whatif::make_queue(state, {}, objects(text), {}, {});
    const auto before = state.book->nodes().nodes.size();
    auto result = whatif::find_nodes(state, decider, queue, whatif::kind_of(state, vgpualloc::node_index{kind}),
                                     vgpualloc::pod_id{state.bound.size()});
    EXPECT_EQ(state.book->nodes().nodes.size(), before);
    EXPECT_EQ(state.devices.size(), before);
    EXPECT_TRUE(state.book->same_use(*snapshot_of(text).book)) << "a search leaves nothing behind";
    return result;
}

std::string waiting(int pods, int memory) {
    std::string text;
    for (int i = 0; i < pods; ++i) text += pod_object("p" + std::to_string(i), memory);
    return text;
}

TEST(find_nodes, finds_the_smallest_number_and_tries_one_less) {
    for (int pods = 2; pods < 40; pods += 3) {
        const auto result = searched(card_node("a", 2) + waiting(pods, 30000), 0);
        const std::int64_t expected = (pods + 1) / 2 - 1; // two of them fit on a node, and one node is there
        ASSERT_TRUE(result.nodes.has_value());
        EXPECT_EQ(*result.nodes, expected) << pods;
        if (expected == 0) continue;
        const auto tried = [&](std::int64_t nodes) {
            return std::ranges::find(result.tries, nodes, &whatif::nodes_try::nodes);
        };
        ASSERT_NE(tried(expected), result.tries.end());
        ASSERT_NE(tried(expected - 1), result.tries.end());
        EXPECT_EQ(tried(expected)->refused, 0);
        EXPECT_GT(tried(expected - 1)->refused, 0);
        EXPECT_FALSE(result.one_less.empty());
    }
}

TEST(find_nodes, is_the_same_for_a_policy_that_draws) {
    const auto result = searched(card_node("a", 2) + waiting(9, 30000), 0, "random");
    ASSERT_TRUE(result.nodes.has_value());
    EXPECT_EQ(*result.nodes, 4);
}

TEST(find_nodes, needs_none_where_all_fit) { EXPECT_EQ(*searched(card_node("a", 2) + waiting(2, 30000), 0).nodes, 0); }

TEST(find_nodes, says_which_pods_never_fit_instead_of_searching) {
    const auto result = searched(card_node("a", 2) + waiting(4, 30000) + pod_object("huge", 50000), 0);
    EXPECT_FALSE(result.nodes.has_value());
    EXPECT_EQ(result.never, std::vector<std::size_t>{4});
    EXPECT_EQ(result.tries.size(), 1U);
}

TEST(find_nodes, ends_at_the_number_of_pods_where_more_nodes_help_nobody) {
    // A gang of which one pod cannot be read never starts, and its other pod would fit anywhere.
    const std::string group = "scheduling.k8s.io/group-name: g,";
    const auto result = searched(card_node("a", 1) + pod_object("good", 10, {.annotations = group}) +
                                     pod_object("bad", -1, {.annotations = group}),
                                 0);
    EXPECT_FALSE(result.nodes.has_value());
    EXPECT_FALSE(result.never.empty());
}

} // namespace
