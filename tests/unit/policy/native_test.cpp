// What each native policy prefers, on scenarios small enough to do the sum by hand. Devices have 10,000 MiB, so 1 MiB
// is a tenth of a milli-GPU.
#include "support.hpp"

namespace vgpualloc {
namespace {

using namespace test;

/// Two nodes, one half the size of the other: n0 has one device, n1 has two.
///   n0: device 0 uses 4000            total used 0.4 of 1 = 0.4
///   n1: device 0 uses 6000, 1 none    total used 0.6 of 2 = 0.3
cluster small_cluster() {
    cluster owned;
    add_node(owned, many(1));
    add_node(owned, many(2));
    return owned;
}

void fill(placer& to) {
    ASSERT_TRUE(to.book.reserve(book_on(0, node_index{0U}, {share_of_device(0, part(4000))})));
    ASSERT_TRUE(to.book.reserve(book_on(1, node_index{1U}, {share_of_device(0, part(6000))})));
}

struct preference {
    const char* policy;
    std::vector<double> scores; ///< of a request of one device and 2000 MiB, per node
    std::size_t node;
    std::size_t device;
};

class native_policy : public testing::TestWithParam<preference> {};

TEST_P(native_policy, prefers_as_its_equation_says) {
    const cluster owned = small_cluster();
    placer here{owned, GetParam().policy};
    fill(here);
    EXPECT_EQ(here.scores(pod({want(1, 2000)})), GetParam().scores);
    const auto placed = here.place(pod({want(1, 2000)}));
    ASSERT_TRUE(placed.has_value());
    EXPECT_EQ(placed->node.at(), GetParam().node);
    EXPECT_EQ(placed->shares[0], share_of_device(GetParam().device, part(2000)));
}

INSTANTIATE_TEST_SUITE_P(
    all, native_policy,
    testing::Values(
        // used after / total: n0 (0.4 + 0.2) / 1; n1 (0.6 + 0.2) / 2 whichever device
        preference{"binpack", {0.6, 0.4}, 0, 0},
        // 1 - used before / total: n0 1 - 0.4; n1 1 - 0.3; there the emptier device
        preference{"spread", {0.6, 0.7}, 1, 1},
        // minus the GPUs left: n0 -(0.6 - 0.2); n1 -(1.4 - 0.2)
        preference{"best_fit", {-0.4, -1.2}, 0, 0},
        // plus the GPUs left
        preference{"worst_fit", {0.4, 1.2}, 1, 1},
        // 2 x used after / total - 0.5 x GPUs left after... = 2 x binpack + 0.5 x best_fit
        preference{"weighted:binpack=2,best_fit=0.5", {2.0 * 0.6 + 0.5 * -0.4, 2.0 * 0.4 + 0.5 * -1.2}, 0, 0},
        // a negative weight turns a policy round: -1 x binpack; on n1 the device that ends up emptier
        preference{"weighted:binpack=-1", {-0.6, -0.4}, 1, 1}),
    [](const auto& row) { return "row_" + std::to_string(row.index); });

TEST(native_policies, fullest_and_emptiest_device_of_a_node) {
    const std::vector<std::pair<const char*, std::size_t>> rows{
        {"binpack", 1}, {"best_fit", 1}, {"spread", 2}, {"worst_fit", 2}};
    for (const auto& [spelling, device] : rows) {
        cluster owned;
        const node_index where = add_node(owned, many(4));
        placer here{owned, spelling};
        ASSERT_TRUE(here.book.reserve(
            book_on(0, where,
                    {share_of_device(0, part(3000)), share_of_device(1, part(5000)), share_of_device(3, part(9000))})));
        const auto placed = here.place(pod({want(1, 2000)})); // device 3 is too full
        ASSERT_TRUE(placed.has_value());
        EXPECT_EQ(placed->shares[0].device.at(), device) << spelling;
    }
}

TEST(native_policies, equal_scores_go_to_the_first_node_and_the_lowest_device) {
    for (const policy_entry& entry : native_policies) {
        cluster owned;
        for (int i = 0; i < 3; ++i) add_node(owned, many(2));
        workload target;
        target.typical.push_back({.cpu = milli_cpu{1000}, .containers = {want(1, 5000)}, .frequency = 1.0});
        placer here{owned, entry.name, target};
        if (here.scorer->traits().nodes == ties::drawn) continue;
        const auto decided = here.decide(pod({want(1, 2000)}));
        ASSERT_TRUE(decided.has_value());
        EXPECT_EQ(decided->node.at(), 0U) << entry.name;
        EXPECT_EQ(decided->shares[0].device.at(), 0U) << entry.name;
    }
}

TEST(native_policies, pods_without_devices_keep_away_from_devices_where_that_is_the_point) {
    cluster owned;
    add_node(owned, many(1));
    add_node(owned, {});
    const pod_request plain = pod({});
    EXPECT_EQ((placer{owned, "binpack"}.scores(plain)), (std::vector{0.0, 1.0})) << "a node without devices is full";
    EXPECT_EQ((placer{owned, "spread"}.scores(plain)), (std::vector{1.0, 1.0}));
    EXPECT_EQ((placer{owned, "best_fit"}.scores(plain)), (std::vector{-1.0, 0.0}));
    EXPECT_EQ((placer{owned, "worst_fit"}.scores(plain)), (std::vector{1.0, 0.0}));
}

/// One typical pod that wants 0.6 of a GPU, F = idle rests below 0.6. Both nodes can take 0.4 of a GPU:
///   n0: one idle GPU     F 0 -> 0       (0.6 stays usable)          score 0
///   n1: one GPU at 0.5   F 0.5 -> 0.1   (a useless rest is used)    score 0.4
TEST(fgd, takes_the_place_where_the_unusable_rest_shrinks_most) {
    cluster owned;
    add_node(owned, many(1));
    add_node(owned, many(2));
    workload target;
    target.typical.push_back({.cpu = milli_cpu{1000}, .containers = {want(1, 6000)}, .frequency = 1.0});
    placer here{owned, "fgd", target};
    ASSERT_TRUE(here.book.reserve(
        book_on(0, node_index{1U}, {share_of_device(0, part(5000)), share_of_device(1, part(1000))})));
    // n1, device 0: F 500 -> 100. Device 1: 0.9 - 0.4 = 0.5 is no longer enough: F 500 -> 1000.
    EXPECT_EQ(here.scores(pod({want(1, 4000)})), (std::vector{0.0, 0.4}));
    const auto placed = here.place(pod({want(1, 4000)}));
    EXPECT_EQ(placed->node.at(), 1U);
    EXPECT_EQ(placed->shares[0].device.at(), 0U);
}

TEST(random, every_node_and_device_that_fits_is_equally_likely_and_the_seed_decides) {
    cluster owned;
    add_node(owned, {gpu("B")});
    for (int i = 0; i < 3; ++i) add_node(owned, many(2));
    device_request of_model_a = want(1, 1000);
    of_model_a.models = {"A"};
    placer here{owned, "random"};
    placer again{owned, "random"};
    std::vector<int> seen(8);
    constexpr int draws = 6000;
    for (int i = 0; i < draws; ++i) {
        const auto decided = here.decide(pod({of_model_a}));
        ASSERT_TRUE(decided.has_value());
        EXPECT_EQ(*decided, *again.decide(pod({of_model_a})));
        ++seen.at(2 * decided->node.at() + decided->shares[0].device.at());
    }
    EXPECT_EQ(seen[0] + seen[1], 0) << "the node of the other model";
    for (std::size_t i = 2; i < 8; ++i) EXPECT_NEAR(seen[i], draws / 6, 120) << i; // four standard deviations
}

} // namespace
} // namespace vgpualloc
