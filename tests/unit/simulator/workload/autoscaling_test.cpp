#include "vgpusim/workload/autoscaling.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../workloads.hpp"
#include "requirements.hpp"
#include "vgpusim/workload/cluster_events.hpp"

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using vgpualloc::node_index;
using vgpusim::read_autoscaler;

TEST(autoscaler_file, nodes_delay_and_version) {
    const auto file = read_autoscaler("delay_s: 90\nnodes: [b, a]\ncluster_version: v1.27.3-r0\n", "a.yaml");
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->delay, 90 * vgpualloc::ticks_per_second);
    EXPECT_THAT(file->nodes, ElementsAre("b", "a"));
    EXPECT_EQ(file->cluster_version, "v1.27.3-r0");
    const auto refusal = [](const char* text) {
        const auto read = read_autoscaler(text, "a.yaml");
        return read ? std::string{"none"} : read.error().message();
    };
    EXPECT_THAT(refusal("delay_s: 1\nnodes: [a, a]\n"),
                HasSubstr("a.yaml:2: nodes[1]: got 'a', expected every node once"));
    EXPECT_THAT(refusal("delay_s: 1\nnodes: []\n"), HasSubstr("a.yaml:2: nodes"));
    EXPECT_THAT(refusal("delay_s: -1\nnodes: [a]\n"), HasSubstr("a.yaml:1: delay_s: got '-1'"));
    EXPECT_THAT(refusal("delay_s: 1\n"), HasSubstr("nodes"));
    EXPECT_THAT(refusal("delay_s: 1\nnodes: [a]\nmax: 3\n"), HasSubstr("max"));
    for (const char* version : {"1", "1.x", "new", "1.26beta", "-1.26", "1.99999999999"}) {
        EXPECT_THAT(refusal(("delay_s: 1\nnodes: [a]\ncluster_version: '" + std::string{version} + "'\n").c_str()),
                    HasSubstr("a.yaml:3: cluster_version: got '" + std::string{version} + "'"));
    }
    EXPECT_THAT(refusal(""), HasSubstr("one map"));
}

TEST(autoscaler_file, virtual_gpus_are_scaled_from_1_27_on) {
    vgpualloc::test::covers({"R105"});
    const auto scales = [](const std::string& version) {
        return read_autoscaler("delay_s: 1\nnodes: [a]\ncluster_version: '" + version + "'\n", "a.yaml")
            ->scales_virtual_gpus;
    };
    for (const char* version : {"1.26", "v1.26.9", "1.9", "v1.25.3-r0"}) EXPECT_FALSE(scales(version)) << version;
    for (const char* version : {"1.27", "v1.30.1", "2.0", "1.100+k3s1"}) EXPECT_TRUE(scales(version)) << version;
    EXPECT_TRUE(read_autoscaler("delay_s: 1\nnodes: [a]\n", "a.yaml")->scales_virtual_gpus);
    // Node c shares its GPU as CCE does, node s in software.
    for (const bool is_new : {false, true}) {
        auto input = vgpusim::build_openb_workload({vgpusim_test::gpu_node("c", 1), vgpusim_test::gpu_node("s", 1)},
                                                   {vgpusim_test::share("p", 100)},
                                                   {.mode = vgpualloc::find_mode("hami_core").value()})
                         .value();
        auto virtualised = input.nodes.kinds.at(input.nodes.nodes[0].devices[0].kind);
        virtualised.mode = vgpualloc::find_mode("cce").value();
        const std::string cce_node = input.nodes.nodes[0].name;
        input.nodes.nodes[0].devices[0].kind = input.nodes.kind_of(virtualised);
        const std::string other = input.nodes.nodes[1].name;
        ASSERT_TRUE(vgpusim::add_autoscaler(
            input, {.delay = {}, .nodes = {cce_node, other}, .scales_virtual_gpus = is_new}, "a.yaml"));
        EXPECT_EQ(input.cluster_events.size(), 2U) << "both are away";
        EXPECT_EQ(input.autoscaler->nodes.size(), is_new ? 2U : 1U);
        EXPECT_EQ(input.autoscaler->nodes.back(), node_index{1});
    }
}

TEST(autoscaler_file, its_nodes_are_those_of_the_list_and_of_no_event) {
    auto input = vgpusim_test::built({vgpusim_test::gpu_node("a", 1), vgpusim_test::gpu_node("b", 1)},
                                     {vgpusim_test::share("p", 100)});
    const auto unknown = vgpusim::add_autoscaler(input, {.delay = {}, .nodes = {"c"}}, "a.yaml");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().message(), "a.yaml: nodes: got 'c', expected a node of the node list");
    const auto rows = vgputraces::read_cluster_events("time,what,node\n5,fails,b\n", "e.csv");
    ASSERT_TRUE(vgpusim::add_cluster_events(input, *rows, "e.csv"));
    const auto named = vgpusim::add_autoscaler(input, {.delay = {}, .nodes = {"b"}}, "a.yaml");
    ASSERT_FALSE(named);
    EXPECT_THAT(named.error().message(), HasSubstr("a.yaml: nodes: got 'b', expected a node that no event names"));
}

} // namespace
