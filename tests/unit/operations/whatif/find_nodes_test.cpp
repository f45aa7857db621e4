#include "vgpuops/whatif/find_nodes.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "../clusters.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/core/rng.hpp"

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

TEST(find_nodes, pods_that_never_fit_do_not_keep_it_from_the_number_for_the_others) {
    const auto result = searched(card_node("a", 2) + waiting(5, 30000) + pod_object("huge", 50000), 0);
    EXPECT_EQ(result.nodes, 2);
    EXPECT_EQ(result.never, std::vector<std::size_t>{5});
    EXPECT_EQ(result.helped, (std::vector<std::size_t>{2, 3, 4}));
}

TEST(find_nodes, a_gang_that_never_starts_is_set_apart) {
    // One of its pods cannot be read, or fits nowhere; the other would fit anywhere.
    const std::string group = "scheduling.k8s.io/group-name: g,";
    for (const int memory : {-1, 50000}) {
        const auto result = searched(card_node("a", 1) + pod_object("good", 10, {.annotations = group}) +
                                         pod_object("bad", memory, {.annotations = group}),
                                     0);
        EXPECT_EQ(result.nodes, 0);
        EXPECT_EQ(result.never.size(), memory < 0 ? 1U : 2U);
    }
}

/// The fewest bins of `room` for these sizes, by trying all ways to fill them.
std::size_t fewest_bins(const std::vector<int>& sizes, std::size_t next, std::vector<int>& bins, int room,
                        std::size_t best) {
    if (bins.size() >= best) return best;
    if (next == sizes.size()) return bins.size();
    for (std::size_t b = 0; b < bins.size(); ++b) {
        if (bins[b] + sizes[next] > room) continue;
        bins[b] += sizes[next];
        best = fewest_bins(sizes, next + 1, bins, room, best);
        bins[b] -= sizes[next];
    }
    bins.push_back(sizes[next]);
    best = fewest_bins(sizes, next + 1, bins, room, best);
    bins.pop_back();
    return best;
}

// What is proved is the smallest number of all ways to place the pods, and a heuristic number is never less.
TEST(find_nodes, what_is_proved_is_the_minimum_by_brute_force) {
    vgpualloc::rng random{24};
    int proved = 0;
    int above = 0;
    constexpr int all_clusters = 200;
    constexpr int clusters = clusters_to_draw(all_clusters);
    for (int i = 0; i < clusters; ++i) {
        std::string text = card_node("a", 1) + running_pod("r", "a", 0, 40960);
        std::vector<int> sizes;
        for (std::uint64_t p = 1 + random.below(7); p > 0; --p) {
            sizes.push_back(static_cast<int>(1000 * (1 + random.below(40))));
            text += pod_object("p" + std::to_string(p), sizes.back());
        }
        std::vector<int> bins;
        const std::size_t fewest = fewest_bins(sizes, 0, bins, 40960, sizes.size() + 1);
        const auto result = searched(text, 0, "best_fit");
        ASSERT_TRUE(result.nodes.has_value());
        ASSERT_GE(*result.nodes, static_cast<std::int64_t>(fewest)) << text;
        ASSERT_LE(result.least, static_cast<std::int64_t>(fewest)) << text;
        if (result.is_proved()) {
            ++proved;
            ASSERT_EQ(*result.nodes, static_cast<std::int64_t>(fewest)) << text;
        }
        above += *result.nodes > static_cast<std::int64_t>(fewest) ? 1 : 0;
    }
    EXPECT_GT(proved, clusters / 10);
    EXPECT_TRUE(above > 0 || clusters < all_clusters) << "none of these is a case in which one pass needs more";
}

} // namespace
