// The openb dialect: the trace's columns as requests and nodes.
#include "vgpualloc/dialect/openb.hpp"

#include <string>
#include <vector>

#include "support.hpp"

namespace vgpualloc {
namespace {

using namespace test;

TEST(openb, a_request_is_one_container_of_thousandths) {
    const pod_request request = openb::make_request(milli_cpu{3152}, mib{7000}, 1, milli_gpu{810}, "");
    EXPECT_EQ(request.cpu, milli_cpu{3152});
    EXPECT_EQ(request.memory, to_bytes(mib{7000}));
    EXPECT_EQ(request.containers, std::vector{want(1, 810)});
    EXPECT_EQ(openb::make_request(milli_cpu{1}, mib{1}, 8, milli_gpu{1000}, "").containers, std::vector{want(8, 1000)});
}

TEST(openb, a_pod_without_gpus_has_no_containers_and_no_models) {
    for (const auto& [count, milli] : {std::pair{0, 1000}, std::pair{1, 0}, std::pair{0, 0}}) {
        EXPECT_TRUE(openb::make_request(milli_cpu{1}, mib{1}, count, milli_gpu{milli}, "G2").containers.empty());
    }
}

TEST(openb, a_reason_is_told_in_the_words_of_the_trace) {
    EXPECT_EQ(openb::reason_name(rejection_code::insufficient_device_memory), "insufficient_gpu_share");
    EXPECT_EQ(openb::reason_name(rejection_code::insufficient_cpu), "insufficient_cpu");
    EXPECT_EQ(openb::reason_name(rejection_code::none), "");
}

TEST(openb, models_are_separated_by_bars_and_empty_items_dropped) {
    const auto models = [](std::string_view spec) {
        return openb::make_request(milli_cpu{1}, mib{1}, 1, milli_gpu{10}, spec).containers.front().models;
    };
    EXPECT_EQ(models("V100M16|V100M32"), (std::vector<std::string>{"V100M16", "V100M32"}));
    EXPECT_EQ(models("|G2||T4|"), (std::vector<std::string>{"G2", "T4"}));
    EXPECT_TRUE(models("|").empty());
    EXPECT_EQ(models("G2"), std::vector<std::string>{"G2"});
}

TEST(openb, a_gpu_is_a_device_of_1000_units_that_many_may_share) {
    cluster owned;
    openb::add_node(owned, "openb-node-0007", milli_cpu{96000}, mib{393216}, 2, "G2", mode("hami_core"));
    openb::add_node(owned, "cpu-only", milli_cpu{1000}, mib{2000}, 0, "", mode("hami_core"));
    openb::add_node(owned, "b", milli_cpu{1000}, mib{2000}, 1, "G2", mode("hami_core"));
    ASSERT_EQ(owned.nodes.size(), 3U);
    EXPECT_EQ(owned.nodes[0].devices[1].uuid, "openb-node-0007-gpu-1");
    EXPECT_EQ(owned.nodes[0].pods_max, 1001);
    EXPECT_TRUE(owned.nodes[1].devices.empty());
    ASSERT_EQ(owned.kinds.size(), 1U) << "equal GPUs are of one kind, and a node without GPUs adds none";
    const device_spec& spec = owned.kinds[0];
    EXPECT_EQ(spec.memory, openb::gpu_memory);
    const device_state state{.memory = mib{810}, .cores = core_percent{0}, .slots = 2, .layout = 0};
    EXPECT_EQ(spec.mode->used(spec, state), milli_gpu{810}) << "the scalar use is the trace's value";
    EXPECT_EQ(spec.slots, 1001);
}

} // namespace
} // namespace vgpualloc
