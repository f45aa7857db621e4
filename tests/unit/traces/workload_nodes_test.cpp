#include "vgputraces/workload_nodes.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/mode/all.hpp"
#include "vgpuformats/json.hpp"

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(workload_nodes, every_mode_has_a_dialect) {
    for (const auto* const mode : vgpualloc::all_modes()) {
        const bool is_said_by_labels = mode->name() == "time_slicing";
        EXPECT_EQ(vgputraces::dialects_of_mode(mode->name()).empty(), is_said_by_labels) << mode->name();
    }
    EXPECT_THAT(vgputraces::dialects_of_mode("mps"), ElementsAre("volcano_vgpu", "hami"));
    EXPECT_THAT(vgputraces::dialects_of_mode("half"), IsEmpty());
    EXPECT_THAT(vgputraces::dialects_of_mode(""), IsEmpty());
}

TEST(workload_nodes, a_kind_becomes_a_node_that_is_read_as_it_was_meant) {
    const auto entry = vgpuformats::parse_json(
        R"({"kind": "A100-40GB", "mode": "hami_core", "dialect": "hami", "devices": 2, "slots": 3, "cpu_milli": 8500,
            "memory_mib": 4096, "labels": {"zone": "a"}})",
        "test");
    std::optional<vgpualloc::error> failure;
    const auto kind = vgputraces::read_workload_node_kind({*entry, "test", failure}, vgpualloc::built_in_catalog());
    ASSERT_FALSE(failure.has_value()) << failure->message();
    const auto written = vgputraces::node_objects(kind, "n-1", {});
    ASSERT_EQ(written.size(), 1U);
    const auto objects = vgpualloc::kube::read_manifests(vgpuformats::print_json(written.front()), "node");
    ASSERT_TRUE(objects.has_value());
    const auto state = vgpualloc::kube::make_snapshot(*objects, {});
    ASSERT_TRUE(state.has_value() && state->warnings.empty());
    const auto& node = state->nodes().nodes.front();
    EXPECT_EQ(node.name, "n-1");
    EXPECT_EQ(node.cpu, vgpualloc::milli_cpu{8500});
    EXPECT_EQ(*node.host.label("zone"), "a");
    ASSERT_EQ(state->devices.front().size(), 2U);
    const auto& device = state->devices.front().back();
    EXPECT_EQ(device.dialect, "hami");
    EXPECT_EQ(device.registered.uuid, "GPU-n-1-1");
    EXPECT_EQ(device.registered.slots, 3);
    EXPECT_EQ(device.registered.memory, vgpualloc::mib{40960});
}

} // namespace
