// Figures of a living cluster: what every device has given out and to whom.
#include "vgpualloc/live/live_figures.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/kube/snapshots.hpp"

namespace {

using namespace kube_test;
using vgpualloc::live_cluster;
using vgpualloc::mib;

TEST(live_figures, say_what_pods_have_of_devices) {
    auto made = live_cluster::make({.policy = "binpack"});
    ASSERT_TRUE(made);
    live_cluster& live = **made;
    for (const auto& object :
         objects(gpu_node("n1", card("B")) + gpu_node("n0", card("A")) +
                 pod("r", vgpu(1, 4096, 30), "n1", "volcano.sh/vgpu-ids-new: 'B,NVIDIA,4096,30:'") +
                 pod("p", vgpu(1, 3000)) + pod("q", vgpu(1, 1000)))) {
        live.upsert(object);
    }
    ASSERT_TRUE(live.learn_workload());
    ASSERT_TRUE(live.reserve("ns/p", live.find_node("n0")).fits());
    const auto figures = figures_of(live);
    ASSERT_EQ(figures.nodes.size(), 2U);
    EXPECT_EQ(figures.nodes[0].name, "n0");
    EXPECT_EQ(figures.pods_waiting, 1);
    EXPECT_EQ(figures.pods_reserved, 1);
    EXPECT_EQ(figures.pods_committed, 1);
    const auto& device = figures.nodes[1].devices.at(0);
    EXPECT_EQ(device.uuid, "B");
    EXPECT_EQ(device.memory, mib{40960});
    EXPECT_EQ(device.memory_used, mib{4096});
    EXPECT_EQ(device.cores_used, 30);
    EXPECT_EQ(device.used.count(), 300);
    ASSERT_EQ(device.shares.size(), 1U);
    EXPECT_EQ(device.shares[0].uid, "ns/r");
    EXPECT_EQ(device.shares[0].container, "main");
    EXPECT_EQ(device.shares[0].part.memory, mib{4096});
    EXPECT_EQ(device.shares[0].part.kind, "slice");
    EXPECT_FALSE(device.shares[0].reserved);
    EXPECT_TRUE(figures.nodes[0].devices.at(0).shares.at(0).reserved);
}

} // namespace
