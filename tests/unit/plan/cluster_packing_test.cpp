// Programs made of clusters and requests.
#include "vgpualloc/plan/cluster_packing.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace {

using namespace vgpualloc;
using namespace vgpualloc::plan;
using namespace test;

pod_request pod_of(const device_request& part, std::int64_t cpu = 1000) {
    return {.cpu = milli_cpu{cpu}, .memory = bytes{100}, .containers = {part}};
}

TEST(cluster_packing, sums_up_nodes_devices_and_pods) {
    cluster nodes;
    add_node(nodes, many(2));
    add_node(nodes, many(2));
    add_node(nodes, {gpu("B")}, milli_cpu{500});
    const pod_request half = pod_of(want(1, 5000));
    const pod_request two = pod_of(want(2, 10000));
    const pod_request none{.cpu = milli_cpu{400}, .memory = bytes{100}, .containers = {}};
    const std::vector<packing_demand> demand{
        {.request = &half, .count = 3, .forced = 1}, {.request = &two, .count = 4}, {.request = &none, .count = 5}};
    const auto packing = pack_cluster(nodes, demand).value();
    const packing_program& program = packing.program;
    EXPECT_TRUE(check_packing(program).has_value());
    ASSERT_EQ(program.groups.size(), 2U);
    EXPECT_EQ(program.groups[0].host, (std::vector{64000.0, 128000.0}));
    ASSERT_EQ(program.devices.size(), 2U);
    EXPECT_EQ(program.devices[0].count, 4.0);
    EXPECT_EQ(program.devices[0].type_of_part, (std::vector<std::uint32_t>{0}));
    EXPECT_EQ(program.devices[0].value_of_part, std::vector{500.0});
    EXPECT_EQ(program.devices[1].packing, nullptr); // its nodes have too little CPU for pods that want devices
    EXPECT_EQ(packing.types_of_demand, (std::vector<std::vector<std::uint32_t>>{{0}, {1}, {2}}));
    EXPECT_EQ(program.types[0].forced, 1.0);
    EXPECT_EQ(program.types[1].demand, 8.0); // four pods of two whole devices each
    EXPECT_EQ(packing.parts_of_type, (std::vector{1.0, 2.0, 1.0}));
    ASSERT_EQ(program.blocks.size(), 3U); // two devices of the first group; nothing, in either group
    EXPECT_EQ(program.blocks[1].count, 2.0);
    EXPECT_EQ(program.blocks[1].value, 2000.0);
    EXPECT_TRUE(packing.pods_are_whole);
    EXPECT_EQ(packing.total, 5000.0);
    EXPECT_EQ(pack_cluster(nodes, demand, {.by_node = true})->program.groups.size(), 3U);
    EXPECT_EQ(pack_cluster(nodes, demand, {.host_memory = false})->program.groups[0].host, std::vector{64000.0});
}

/// As a pod of several GPUs is read where a device of the cluster is shared: a container for each unit.
TEST(cluster_packing, equal_containers_that_take_whole_devices_are_one_block) {
    cluster nodes;
    add_node(nodes, many(4));
    add_node(nodes, many(2));
    const pod_request units{
        .cpu = milli_cpu{1000}, .memory = bytes{100}, .containers = {want(1, 10000), want(1, 10000), want(1, 10000)}};
    const pod_request at_once{.cpu = milli_cpu{1000}, .memory = bytes{100}, .containers = {want(3, 10000)}};
    for (const pod_request& request : {units, at_once}) {
        const std::vector<packing_demand> demand{{.request = &request, .count = 2}};
        const auto packing =
            pack_cluster(nodes, demand, {.objective = packing_objective::pods, .by_node = true}).value();
        EXPECT_TRUE(packing.pods_are_whole);
        EXPECT_EQ(packing.parts_of_type, std::vector{3.0});
        EXPECT_EQ(packing.program.types[0].demand, 6.0);
        ASSERT_EQ(packing.program.blocks.size(), 1U) << "the second node has too few devices";
        EXPECT_EQ(packing.program.blocks[0].count, 3.0);
        EXPECT_DOUBLE_EQ(*packing.program.blocks[0].value, 1.0);
    }
}

TEST(cluster_packing, requests_that_differ_in_what_is_left_out_are_one_type) {
    cluster nodes;
    add_node(nodes, {gpu("A"), gpu("B")});
    pod_request on_a = pod_of(want(1, 5000));
    on_a.containers[0].models = {"A"};
    const pod_request anywhere = pod_of(want(1, 5000));
    const std::vector<packing_demand> demand{{.request = &on_a, .count = 1}, {.request = &anywhere, .count = 2}};
    const auto apart = pack_cluster(nodes, demand).value();
    EXPECT_EQ(apart.program.types.size(), 2U);
    EXPECT_EQ(apart.program.devices[1].type_of_part, (std::vector<std::uint32_t>{1}));
    const auto merged = pack_cluster(nodes, demand, {.any_model = true}).value();
    ASSERT_EQ(merged.program.types.size(), 1U);
    EXPECT_EQ(merged.program.types[0].demand, 3.0);
}

TEST(cluster_packing, pods_in_several_parts_are_no_blocks) {
    cluster nodes;
    add_node(nodes, many(2));
    pod_request two_parts = pod_of(want(2, 3000), 4000);
    two_parts.containers.push_back(want(1, 10000));
    const std::vector<packing_demand> demand{{.request = &two_parts, .count = 2}};
    const auto packing = pack_cluster(nodes, demand, {.objective = packing_objective::pods}).value();
    EXPECT_FALSE(packing.pods_are_whole);
    ASSERT_EQ(packing.program.types.size(), 2U);
    EXPECT_EQ(packing.program.types[0].demand, 4.0);
    EXPECT_EQ(packing.program.types[1].demand, 2.0);
    EXPECT_DOUBLE_EQ(packing.program.types[0].host[0] * 3.0, 4000.0);
    EXPECT_DOUBLE_EQ(packing.program.devices[0].value_of_part[0] * 3.0, 1.0);
    EXPECT_EQ(packing.total, lp_infinity);
    const auto memory = pack_cluster(nodes, demand, {.objective = packing_objective::memory_mib}).value();
    EXPECT_EQ(memory.program.devices[0].value_of_part, (std::vector{3000.0, 10000.0}));
    EXPECT_EQ(memory.total, 20000.0);
}

TEST(cluster_packing, devices_out_of_service_are_left_out) {
    cluster nodes;
    add_node(nodes, many(2));
    nodes.nodes[0].devices[1].service = service_state::failed;
    const pod_request half = pod_of(want(1, 5000));
    const std::vector<packing_demand> demand{{.request = &half, .count = 3}};
    EXPECT_EQ(pack_cluster(nodes, demand)->program.devices[0].count, 1.0);
}

} // namespace
