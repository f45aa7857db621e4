#include "vgpuops/whatif/changed_cluster.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../clusters.hpp"

namespace {

using namespace cluster_test;
namespace whatif = vgpuops::whatif;

const std::string two_nodes = card_node("a", 1) + card_node("b", 2) + running_pod("r0", "b", 0, 40960);

vgpualloc::expected<whatif::extendable_cluster> extended(const std::vector<std::string>& kinds) {
    return whatif::with_kinds(objects(two_nodes), {}, vgpualloc::built_in_catalog(), kinds, "--buy");
}

TEST(changed_cluster, nodes_of_named_and_described_kinds_can_be_added) {
    auto cluster = extended({"b", "NVIDIA-A100-SXM4-40GB:hami_core:8"});
    ASSERT_TRUE(cluster) << cluster.error().message();
    ASSERT_EQ(cluster->kinds.size(), 2U);
    EXPECT_EQ(cluster->kinds[0].described.devices.size(), 2U);
    EXPECT_EQ(cluster->kinds[1].described.devices.size(), 8U);
    std::size_t present = 0;
    for (std::size_t i = 0; i < cluster->state.nodes().nodes.size(); ++i) {
        if (cluster->state.book->is_present(vgpualloc::node_index{i})) ++present;
    }
    EXPECT_EQ(present, 2U) << "the node that stands for a description is gone";
    const auto added = whatif::add_nodes(cluster->state, cluster->kinds[1], 2);
    EXPECT_EQ(added.size(), 2U);
    EXPECT_TRUE(cluster->state.book->is_live(vgpualloc::pod_id{0}));
}

TEST(changed_cluster, names_the_option_and_the_kind_that_is_wrong) {
    EXPECT_THAT(extended({"c"}).error().message(), testing::HasSubstr("--buy: got 'c'"));
    EXPECT_THAT(extended({"a", "a"}).error().message(), testing::HasSubstr("--buy: got 'a', expected every kind once"));
    EXPECT_THAT(extended({"A100:nonsense:1"}).error().message(), testing::HasSubstr("--buy"));
}

} // namespace
