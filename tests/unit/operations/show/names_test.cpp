#include "vgpuops/show/names.hpp"

#include <gtest/gtest.h>

#include "../clusters.hpp"

namespace {

using namespace cluster_test;
namespace show = vgpuops::show;

TEST(show_names, models_lose_what_their_vendor_adds) {
    EXPECT_EQ(show::short_model("NVIDIA-A100-SXM4-80GB"), "A100-80GB");
    EXPECT_EQ(show::short_model("NVIDIA-NVIDIA A100-PCIE-40GB"), "A100-40GB");
    EXPECT_EQ(show::short_model("Tesla-T4-SHARED"), "T4");
    EXPECT_EQ(show::short_model("NVIDIA H100 80GB HBM3"), "H100-80GB");
    EXPECT_EQ(show::short_model("Ascend910B4"), "Ascend910B4");
    EXPECT_EQ(show::short_model(""), "unknown");
    EXPECT_EQ(show::short_model("NVIDIA"), "NVIDIA") << "nothing else is left";
}

TEST(show_names, models_that_would_be_called_the_same_keep_their_names) {
    show::model_names names;
    names.add("NVIDIA-A100-SXM4-80GB");
    names.add("NVIDIA-A100-PCIE-80GB");
    names.add("Tesla-T4");
    EXPECT_EQ(names.name_of("NVIDIA-A100-PCIE-80GB"), "NVIDIA-A100-PCIE-80GB");
    EXPECT_EQ(names.name_of("Tesla-T4"), "T4");
    EXPECT_EQ(names.name_of(""), "unknown");
}

TEST(show_names, a_shape_is_what_a_pod_asks_for_and_its_rules) {
    const auto state =
        snapshot_of(card_node("a", 1) + pod_object("p", 5000) +
                    pod_object("q", 5000,
                               {.spec = "nodeSelector: {pool: dev}, tolerations: [{key: team, value: x}, "
                                        "{key: node.kubernetes.io/not-ready, operator: Exists}],"}));
    ASSERT_EQ(state.pending.size(), 2U);
    EXPECT_EQ(show::shape_name(state.pending[0]), "5000 MiB");
    EXPECT_EQ(show::shape_name(state.pending[1]), "5000 MiB, pool=dev, team=x");
    EXPECT_EQ(show::sharing_name(state.nodes().nodes[0], state.devices[0][0]), "hami-core");
    EXPECT_EQ(show::pool_of(state.nodes().nodes[0]), "");
    EXPECT_EQ(show::host_memory_words(vgpualloc::bytes{std::int64_t{3} << 30U}), "3 GiB");
}

TEST(show_names, names_with_numbers_in_sequence_are_folded) {
    EXPECT_EQ(show::folded_names({"a100-1", "a100-2", "a100-3", "t4-1"}, 3), "a100-[1-3], t4-1");
    EXPECT_EQ(show::folded_names({"tag-10", "tag-8", "tag-9"}, 3), "tag-[8-10]");
    EXPECT_EQ(show::folded_names({"n-008", "n-009", "n-010", "n-012"}, 3), "n-[008-010], n-012");
    EXPECT_EQ(show::folded_names({"a", "b", "c-1", "c-2", "d"}, 2), "a, b and 3 more");
    EXPECT_EQ(show::folded_names({"n-09", "n-10", "n-9"}, 3), "n-09, n-[9-10]");
}

} // namespace
