// The volcano_vgpu dialect: cards in mode mig without a geometry in the configuration, which the catalog cuts.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/dialect/volcano_vgpu.hpp"

namespace {

using namespace vgpualloc;
using dialects::volcano_vgpu::options;
using testing::IsEmpty;
using testing::SizeIs;

kubernetes::node registered(const std::string& text) {
    return {.name = "n",
            .labels = {},
            .annotations = {{"volcano.sh/node-vgpu-register", text}},
            .allocatable = {{"volcano.sh/vgpu-number", "1"},
                            {"volcano.sh/vgpu-cores", "1"},
                            {"volcano.sh/vgpu-memory", "1"}},
            .capacity = {}};
}

dialects::node_reading read_node(const std::string& text, const options& configured) {
    const auto node = registered(text);
    return make(configured)->read_node({.object = node});
}

TEST(volcano_catalog, a_card_without_a_geometry_is_cut_by_the_catalog) {
    const std::string two =
        "GPU-0,7,81920,NVIDIA A100-SXM4-80GB,true,mig:GPU-1,7,81920,NVIDIA A100-SXM4-80GB,true,mig:";
    const auto read = read_node(two, options{});
    ASSERT_THAT(read.devices, SizeIs(2));
    EXPECT_THAT(read.problems, IsEmpty());
    ASSERT_THAT(read.warnings, SizeIs(1)) << "once for a model";
    EXPECT_THAT(read.warnings[0].expected, testing::HasSubstr("placements of the catalog for A100-80GB"));
    for (const device_registration& card : read.devices) {
        EXPECT_EQ(card.mode, "mig");
        EXPECT_TRUE(card.healthy);
        EXPECT_THAT(card.geometry, IsEmpty());
    }
    options with_factor;
    with_factor.memory_factor = 2;
    EXPECT_FALSE(read_node(two, with_factor).devices[0].healthy) << "the catalog counts in MiB";
}

kubernetes::pod pod_with(const std::string& ids) {
    kubernetes::pod pod;
    pod.name = "p";
    pod.ns = "d";
    pod.containers = {{.name = "c", .limits = {{"volcano.sh/vgpu-number", 1}}, .requests = {}}};
    pod.annotations = {{"volcano.sh/vgpu-ids-new", ids}};
    return pod;
}

TEST(volcano_catalog, instances_of_the_catalog_are_named_by_profile_and_start) {
    const auto spoken = dialects::volcano_vgpu::make({});
    const auto cards = read_node("GPU-0,7,81920,NVIDIA A100-SXM4-80GB,true,mig:", {}).devices;
    const std::string written = "GPU-0[3g.40gb-4],NVIDIA,20000,0:";
    const auto reading = spoken->read_assignment(pod_with(written), cards);
    EXPECT_THAT(reading.problems, IsEmpty());
    ASSERT_THAT(reading.shares, SizeIs(1));
    ASSERT_TRUE(std::holds_alternative<mig_instance>(reading.shares[0].part));
    EXPECT_EQ(std::get<mig_instance>(reading.shares[0].part).start, 4U);
    for (const char* const wrong : {"GPU-0[3g.40gb-1]", "GPU-0[9g.90gb-0]", "GPU-0[group1-0]"}) {
        const auto refused = spoken->read_assignment(pod_with(std::string{wrong} + ",NVIDIA,20000,0:"), cards);
        EXPECT_THAT(refused.shares, IsEmpty()) << wrong;
        ASSERT_THAT(refused.problems, SizeIs(1)) << wrong;
        EXPECT_THAT(refused.problems[0].expected, testing::HasSubstr("no geometry configured, give --config")) << wrong;
    }
}

} // namespace
