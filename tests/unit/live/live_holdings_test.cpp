// What pods had and have again, pods of a template, and policies that a caller brings.
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/live/live_pods.hpp"
#include "vgpualloc/live/live_cluster.hpp"

namespace {

using namespace live_test;
using testing::ElementsAre;
using vgpualloc::live_pod_state;
using vgpualloc::node_index;
using vgpualloc::rejection_code;

TEST(live_cluster, a_pod_has_again_what_it_had) {
    const auto live = live_of(two_nodes + named_pod("p", "u", vgpu(1, 3000)) + named_pod("q", "v", vgpu(1, 2000)));
    EXPECT_FALSE(live->holding_of("u"));
    ASSERT_TRUE(live->reserve("u", live->find_node("n1")).fits());
    EXPECT_FALSE(live->holding_of("u")) << "it is not confirmed";
    ASSERT_EQ(live->commit("u").code, rejection_code::none);
    const auto holding = live->holding_of("u");
    ASSERT_TRUE(holding);
    EXPECT_THAT(holding->uuids, ElementsAre("B"));
    ASSERT_EQ(live->release("u").code, rejection_code::none);
    ASSERT_TRUE(live->reserve("u", live->find_node("n0")).fits()); // meanwhile it is elsewhere
    EXPECT_EQ(live->upsert(objects(gpu_node("n1", card("C") + card("B")))[0]), told::changed);
    ASSERT_EQ(live->give_again("u", *holding).code, rejection_code::none);
    EXPECT_EQ(live->state_of("u"), live_pod_state::committed);
    EXPECT_EQ(live->holding_of("u")->uuids, holding->uuids);
    EXPECT_EQ(live->book().live_count(), 1U);
    EXPECT_EQ(live->upsert(objects(gpu_node("n1", card("C")))[0]), told::changed);
    ASSERT_EQ(live->release("u").code, rejection_code::none);
    ASSERT_TRUE(live->reserve("u", live->find_node("n0")).fits());
    EXPECT_EQ(live->give_again("u", *holding).code, rejection_code::node_gone) << "its device is not there";
    EXPECT_EQ(live->state_of("u"), live_pod_state::reserved) << "nothing has changed";
    EXPECT_EQ(live->give_again("w", *holding).code, rejection_code::pod_not_known);
}

TEST(live_cluster, pods_of_a_template_are_as_any_others) {
    const auto live = live_of(two_nodes);
    const auto others = live_of(two_nodes);
    vgpualloc::live_template like{objects(named_pod("p", "u", vgpu(1, 3000)))[0]};
    vgpualloc::live_template nonsense{objects(named_pod("p", "u", vgpu(1, -4)))[0]};
    for (const std::string name : {"a", "b", "c"}) {
        EXPECT_EQ(live->add_like(like, name), "ns/" + name);
        EXPECT_EQ(live->state_of("ns/" + name), live_pod_state::waiting);
        ASSERT_EQ(others->upsert(objects(named_pod(name, name, vgpu(1, 3000)))[0]), told::changed);
        EXPECT_EQ(scores_of(*live, "ns/" + name), scores_of(*others, name));
        ASSERT_TRUE(live->reserve("ns/" + name, live->find_node("n1")).fits());
        ASSERT_TRUE(others->reserve(name, others->find_node("n1")).fits());
        EXPECT_EQ(live->booking_of("ns/" + name)->where.shares, others->booking_of(name)->where.shares);
        EXPECT_EQ(live->pod_of("ns/" + name)->full_name(), "ns/" + name);
        EXPECT_TRUE(live->failure_of(live->add_like(nonsense, name + "-none")));
    }
    EXPECT_TRUE(live->learn_workload());
    EXPECT_TRUE(others->learn_workload());
    EXPECT_EQ(live->learned().typical.size(), others->learned().typical.size());
    EXPECT_TRUE(live->remove_pod("ns/b"));
    EXPECT_EQ(live->add_like(like, "b"), "ns/b") << "the name is free again";
}

TEST(live_cluster, takes_policies_as_objects) {
    live_options options{.policy = "mine"};
    options.config = dialects().config();
    int calls = 0;
    bool fails = false;
    options.make_policies = [&](const vgpualloc::policy_parameters& parameters,
                                const vgpualloc::cluster& nodes) -> vgpualloc::expected<vgpualloc::owned_policies> {
        ++calls;
        EXPECT_EQ(nodes.nodes.empty(), calls == 1);
        if (fails) return vgpualloc::unexpected(vgpualloc::bad_input(vgpualloc::error_code::stopped, "", "", ""));
        return vgpualloc::parse_policies("binpack", "", vgpualloc::native_policies, parameters);
    };
    const auto live = *live_cluster::make(std::move(options));
    for (const auto& object : objects(two_nodes + named_pod("p", "u", vgpu(1, 3000)))) {
        EXPECT_EQ(live->upsert(object), told::changed);
    }
    EXPECT_EQ(scores_of(*live, "u"), scores_of(*live_of(two_nodes + named_pod("p", "u", vgpu(1, 3000))), "u"));
    EXPECT_TRUE(live->renew_policies());
    EXPECT_EQ(calls, 2);
    fails = true;
    EXPECT_FALSE(live->renew_policies());
    EXPECT_FALSE(live->learn_workload());
    EXPECT_EQ(scores_of(*live, "u").size(), 2U) << "those that there were decide";
    fails = false;
    EXPECT_TRUE(live->learn_workload());
    EXPECT_TRUE(live->question("u")->explain());
}

} // namespace
