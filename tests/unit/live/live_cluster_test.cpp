// A cluster that a scheduler follows: the life of a pod, what takes things back, and events that come twice or late.
#include "vgpualloc/live/live_cluster.hpp"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/live/live_pods.hpp"

namespace {

using namespace live_test;
using testing::ElementsAre;
using testing::HasSubstr;
using vgpualloc::live_cluster;
using vgpualloc::live_options;
using vgpualloc::live_pod_state;
using vgpualloc::mib;
using vgpualloc::node_index;
using vgpualloc::rejection_code;
using told = live_cluster::told;

TEST(live_cluster, a_pod_is_reserved_bound_and_gone) {
    const auto live = live_of(two_nodes + named_pod("p", "u", vgpu(1, 3000)) +
                              named_pod("r", "v", vgpu(1, 1000), "n1", "volcano.sh/vgpu-ids-new: 'B,NVIDIA,1000,0:'"));
    EXPECT_EQ(live->state_of("u"), live_pod_state::waiting);
    EXPECT_EQ(live->state_of("v"), live_pod_state::committed);
    const node_index n1 = live->find_node("n1");
    const auto best = live->choose("u", std::vector{live->find_node("n0"), n1});
    ASSERT_TRUE(best);
    EXPECT_EQ(*best, live->find_node("n0")) << "of two cards less is used";
    ASSERT_TRUE(live->reserve("u", n1).fits());
    EXPECT_EQ(live->state_of("u"), live_pod_state::reserved);
    EXPECT_EQ(live->reserve("u", n1).refusal.code, rejection_code::pod_is_live);
    EXPECT_EQ(live->book().devices(n1)[0].memory, mib{4000});
    const auto annotations = live->annotations_of("u", 17'999'999'999);
    ASSERT_TRUE(annotations) << annotations.error().message();
    EXPECT_EQ(annotations->at("volcano.sh/vgpu-ids-new"), "B,NVIDIA,3000,0:");
    EXPECT_EQ(annotations->at("volcano.sh/vgpu-time"), "17");
    // The object says what was decided: nothing is booked anew.
    const auto events = live->book().next_event();
    EXPECT_EQ(live->upsert(
                  objects(named_pod("p", "u", vgpu(1, 3000), "n1", "volcano.sh/vgpu-ids-new: 'B,NVIDIA,3000,0:'"))[0]),
              told::changed);
    EXPECT_EQ(live->state_of("u"), live_pod_state::committed);
    EXPECT_EQ(live->book().next_event(), events + 1) << "the commit alone";
    EXPECT_TRUE(live->remove_pod("u"));
    EXPECT_FALSE(live->remove_pod("u")) << "an event that comes twice";
    EXPECT_EQ(live->state_of("u"), live_pod_state::unknown);
    EXPECT_EQ(live->book().devices(n1)[0].memory, mib{1000});
}

TEST(live_cluster, what_is_tried_is_taken_back) {
    const auto live = live_of(two_nodes + named_pod("p", "u", vgpu(1, 3000)) + named_pod("w", "x", vgpu(1, 40960)) +
                              named_pod("r", "v", vgpu(1, 1000), "n0", "volcano.sh/vgpu-ids-new: 'A,NVIDIA,1000,0:'"));
    const node_index n0 = live->find_node("n0");
    const auto before = scores_of(*live, "u");
    ASSERT_TRUE(live->reserve("u", n0).fits());
    EXPECT_NE(scores_of(*live, "x"), before);
    EXPECT_EQ(live->rollback("u").code, rejection_code::none);
    EXPECT_EQ(live->rollback("u").code, rejection_code::pod_not_known);
    EXPECT_EQ(scores_of(*live, "u"), before);

    const auto refused = live->ask_node("x", n0);
    EXPECT_EQ(refused.refusal.code, rejection_code::insufficient_device_memory);
    EXPECT_EQ(refused.refusal.wanted, 40960);
    EXPECT_EQ(refused.refusal.available, 39960);
    EXPECT_EQ(refused.unit, "MiB");
    EXPECT_TRUE(live->ask_without("x", n0, std::vector<std::string>{"v", "nobody", "u"}).fits());
    EXPECT_FALSE(live->ask_node("x", n0).fits());
    EXPECT_EQ(scores_of(*live, "u"), before);

    ASSERT_EQ(live->suspend("v").code, rejection_code::none);
    EXPECT_EQ(live->state_of("v"), live_pod_state::suspended);
    EXPECT_TRUE(live->reserve("x", n0).fits());
    EXPECT_EQ(live->resume("v").code, rejection_code::none) << "it runs, whatever was given out";
    EXPECT_TRUE(live->book().is_overcommitted(n0, vgpualloc::device_index{0}));
    EXPECT_EQ(live->rollback("x").code, rejection_code::none);
    EXPECT_EQ(scores_of(*live, "u"), before);

    live->begin_trial();
    EXPECT_EQ(live->suspend("v").code, rejection_code::none);
    live->begin_trial();
    EXPECT_TRUE(live->reserve("x", n0).fits());
    EXPECT_TRUE(live->end_trial(true));
    EXPECT_EQ(live->state_of("x"), live_pod_state::reserved);
    EXPECT_TRUE(live->end_trial(false));
    EXPECT_FALSE(live->end_trial(false));
    EXPECT_EQ(live->state_of("x"), live_pod_state::waiting);
    EXPECT_EQ(live->state_of("v"), live_pod_state::committed);
    EXPECT_EQ(scores_of(*live, "u"), before);
    live->book().check();
}

TEST(live_cluster, the_choice_is_that_of_explain) {
    for (const char* policy : {"fgd", "binpack", "spread"}) {
        const auto live =
            live_of(gpu_node("b", card("A")) + gpu_node("a", card("B") + card("M", "mig")) +
                        named_pod("r", "v", vgpu(1, 9000, 10), "a", "volcano.sh/vgpu-ids-new: 'B,NVIDIA,9000,10:'") +
                        named_pod("p", "u", vgpu(1, 3000, 50)) + named_pod("q", "w", vgpu(1, 30000)),
                    policy);
        EXPECT_TRUE(live->learn_workload());
        EXPECT_FALSE(live->learn_workload()) << "nothing is new";
        ASSERT_TRUE(live->reserve("w", live->find_node("b")).fits());
        const std::vector<node_index> all{live->find_node("a"), live->find_node("b")};
        const auto best = live->choose("u", all);
        const auto explained = live->question("u")->explain();
        ASSERT_TRUE(best && *best && explained);
        ASSERT_TRUE(explained->chosen) << to_string(explained->nodes.at(0).refused.code)
                                       << explained->nodes[0].refused.rule;
        EXPECT_EQ(explained->nodes[*explained->chosen].name, live->book().nodes().nodes[(*best)->at()].name) << policy;
        EXPECT_EQ(explained->nodes[0].devices[0].memory_used, mib{30000}) << "what is reserved counts";
    }
}

TEST(live_cluster, what_is_typical_follows_from_the_pods_that_are_there) {
    const auto live = live_of(two_nodes);
    const auto named = [](int n, int memory) {
        return named_pod("p" + std::to_string(n), "u" + std::to_string(n), vgpu(1, memory));
    };
    std::map<int, int> memory_of;
    const auto tell = [&](int n, int memory) {
        memory_of[n] = memory;
        EXPECT_EQ(live->upsert(objects(named(n, memory))[0]), told::changed);
    };
    for (int n = 0; n < 12; ++n) tell(n, n % 3 == 0 ? 3000 : 5000);
    EXPECT_TRUE(live->learn_workload());
    for (int n = 0; n < 12; n += 2) tell(n, 7000 + n); // others than those that were counted
    for (int n = 1; n < 6; n += 2) {
        memory_of.erase(n);
        EXPECT_TRUE(live->remove_pod("u" + std::to_string(n)));
    }
    tell(1, 9000);
    EXPECT_TRUE(live->learn_workload());
    const auto again = live->learned();
    std::string all = two_nodes;
    for (const auto& [n, memory] : memory_of) all += named(n, memory);
    const auto fresh = live_of(all);
    EXPECT_TRUE(fresh->learn_workload());
    ASSERT_EQ(again.typical.size(), fresh->learned().typical.size());
    for (std::size_t i = 0; i < again.typical.size(); ++i) {
        EXPECT_EQ(again.typical[i].containers, fresh->learned().typical[i].containers);
        EXPECT_EQ(again.typical[i].weight, fresh->learned().typical[i].weight);
    }
    ASSERT_TRUE(live->configure(live_options{.policy = "binpack", .config = dialects().config()}));
    for (int n = 0; n < 10; ++n) tell(100 + n, 1000);
    EXPECT_TRUE(live->learn_workload());
    std::int64_t counted = 0;
    for (const auto& entry : live->learned().typical) counted += entry.weight;
    EXPECT_EQ(counted, static_cast<std::int64_t>(memory_of.size())) << "each pod once, also when all were read anew";
}

TEST(live_cluster, a_question_is_about_the_cluster_as_it_was) {
    auto live = live_of(two_nodes + named_pod("p", "u", vgpu(1, 3000)) + named_pod("q", "v", vgpu(1, 40000)));
    ASSERT_TRUE(live->reserve("v", live->find_node("n0")).fits());
    const auto asked = live->question("u");
    ASSERT_TRUE(asked);
    EXPECT_TRUE(live->remove_pod("v"));
    EXPECT_TRUE(live->remove_node("n1"));
    live.reset();
    const auto explained = asked->explain();
    ASSERT_TRUE(explained) << explained.error().message();
    ASSERT_THAT(explained->nodes, testing::SizeIs(2));
    EXPECT_EQ(explained->nodes[0].refused.code, rejection_code::insufficient_device_memory);
    EXPECT_EQ(explained->nodes[1].name, "n1");
    EXPECT_EQ(explained->chosen, 1U);
    const auto other = live_of(two_nodes);
    ASSERT_FALSE(other->question("nobody"));
    EXPECT_EQ(other->question("nobody").error().value, "nobody");
}

// vgpusim refuses such a pod, because CCE has it served by Volcano alone; here its own scheduler asks.
TEST(live_cluster, explains_what_its_scheduler_decides_whatever_that_is_called) {
    const std::string node =
        "---\nkind: Node\nmetadata:\n  name: cards\n  annotations:\n    vgpualloc.io/cce-node-register: "
        R"('[{"id":"GPU-a","model":"V100","memory":16160,"health":true}]')"
        "\nstatus:\n  allocatable: {cpu: '16', memory: 64Gi, pods: '110', volcano.sh/gpu-mem.128Mi: '126'}\n";
    const auto live = live_of(node + named_pod("p", "u", "volcano.sh/gpu-mem.128Mi: '16'"));
    const std::vector<node_index> all{live->find_node("cards")};
    const auto best = live->choose("u", all);
    ASSERT_TRUE(best && *best);
    const auto explained = live->question("u").value().explain();
    ASSERT_TRUE(explained) << explained.error().message();
    ASSERT_TRUE(explained->chosen) << to_string(explained->nodes.at(0).refused.code)
                                   << explained->nodes[0].refused.rule;
    EXPECT_EQ(explained->nodes[*explained->chosen].name, "cards");
}

TEST(live_cluster, events_may_come_late) {
    const auto live =
        live_of(two_nodes + named_pod("p", "old", vgpu(1, 3000), "n0", "volcano.sh/vgpu-ids-new: 'A,NVIDIA,3000,0:'"));
    const auto young = objects(named_pod("p", "young", vgpu(1, 5000), "", "", "2026-01-02T00:00:00Z"))[0];
    EXPECT_EQ(live->upsert(young), told::changed);
    EXPECT_EQ(live->state_of("old"), live_pod_state::unknown);
    EXPECT_EQ(live->upsert(objects(named_pod("p", "old", vgpu(1, 3000)))[0]), told::outdated);
    EXPECT_EQ(live->upsert(young), told::unchanged);
    EXPECT_FALSE(live->remove_pod("old"));
    EXPECT_EQ(live->state_of("young"), live_pod_state::waiting);
    EXPECT_FALSE(live->remove_node("n7"));
    EXPECT_FALSE(live->find_node("n7").valid());
    EXPECT_EQ(live->ask_node("young", node_index{99}).refusal.code, rejection_code::node_not_known);
    const node_index n0 = live->find_node("n0");
    EXPECT_TRUE(live->remove_node("n0"));
    EXPECT_EQ(live->reserve("young", n0).refusal.code, rejection_code::node_gone);
    EXPECT_EQ(live->reserve("nobody", n0).refusal.code, rejection_code::pod_not_known);
}

TEST(live_cluster, one_uid_is_one_pod) {
    const auto live =
        live_of(two_nodes + named_pod("p", "u", vgpu(1, 3000), "n0", "volcano.sh/vgpu-ids-new: 'A,NVIDIA,3000,0:'"));
    EXPECT_EQ(live->upsert(objects(named_pod("q", "u", vgpu(1, 5000)))[0]), told::changed);
    EXPECT_EQ(live->full_name_of("u"), "ns/q");
    EXPECT_EQ(live->state_of("u"), live_pod_state::waiting);
    EXPECT_EQ(live->book().live_count(), 0U);
    EXPECT_TRUE(live->remove_pod("u"));
    EXPECT_TRUE(live->pods().empty());
}

TEST(live_cluster, a_node_with_other_devices_ends_a_suspension) {
    const auto live =
        live_of(two_nodes + named_pod("p", "u", vgpu(1, 3000), "n0", "volcano.sh/vgpu-ids-new: 'A,NVIDIA,3000,0:'"));
    ASSERT_EQ(live->suspend("u").code, rejection_code::none);
    EXPECT_EQ(live->upsert(objects(gpu_node("n0", card("A") + card("D")))[0]), told::changed);
    EXPECT_EQ(live->state_of("u"), live_pod_state::committed);
    EXPECT_EQ(live->resume("u").code, rejection_code::pod_not_known);
    ASSERT_EQ(live->release("u").code, rejection_code::none);
    EXPECT_EQ(live->state_of("u"), live_pod_state::waiting);
}

TEST(live_cluster, a_suspended_pod_does_not_resume_on_another_node) {
    const std::string runs = named_pod("p", "u", vgpu(1, 3000), "n0", "volcano.sh/vgpu-ids-new: 'A,NVIDIA,3000,0:'");
    const auto live = live_of(two_nodes + runs);
    const node_index n0 = live->find_node("n0");
    ASSERT_EQ(live->suspend("u").code, rejection_code::none);
    EXPECT_TRUE(live->remove_node("n0"));
    EXPECT_EQ(live->resume("u").code, rejection_code::node_gone);
    EXPECT_EQ(live->state_of("u"), live_pod_state::suspended);
    EXPECT_EQ(live->upsert(objects(gpu_node("n7", card("Z")))[0]), told::changed);
    ASSERT_EQ(live->find_node("n7"), n0) << "it has the number of the node that is gone";
    EXPECT_EQ(live->resume("u").code, rejection_code::node_gone);
    EXPECT_EQ(live->book().live_count(), 0U);
    EXPECT_EQ(live->upsert(objects(gpu_node("n0", card("A")))[0]), told::changed);
    EXPECT_EQ(live->state_of("u"), live_pod_state::committed) << "as its object says";
    EXPECT_EQ(live->book().devices(live->find_node("n0"))[0].memory, mib{3000});
}

TEST(live_cluster, a_suspended_pod_resumes_where_its_node_is_now) {
    const auto live = live_of(two_nodes + named_pod("p", "u", vgpu(1, 3000)));
    ASSERT_TRUE(live->reserve("u", live->find_node("n0")).fits());
    ASSERT_EQ(live->commit("u").code, rejection_code::none); // its object does not say so yet
    ASSERT_EQ(live->suspend("u").code, rejection_code::none);
    EXPECT_TRUE(live->remove_node("n0"));
    EXPECT_EQ(live->upsert(objects(gpu_node("n7", card("Z")))[0]), told::changed);
    EXPECT_EQ(live->upsert(objects(gpu_node("n0", card("A")))[0]), told::changed);
    EXPECT_EQ(live->resume("u").code, rejection_code::none);
    EXPECT_EQ(live->book().devices(live->find_node("n0"))[0].memory, mib{3000});
    EXPECT_EQ(live->book().devices(live->find_node("n7"))[0].memory, mib{0});
}

TEST(live_cluster, a_pod_that_asks_for_nonsense_says_why) {
    const auto live = live_of(two_nodes + named_pod("p", "u", vgpu(1, -4)));
    ASSERT_TRUE(live->failure_of("u"));
    const auto opinions = live->evaluate("u", false);
    ASSERT_TRUE(opinions);
    EXPECT_EQ((*opinions)[0].refusal.code, rejection_code::amount_not_valid);
    EXPECT_FALSE(live->reserve("u", live->find_node("n0")).fits());
    EXPECT_EQ(live->state_of("u"), live_pod_state::waiting);
}

TEST(live_cluster, what_is_left_of_an_attempt_to_bind_takes_nothing_from_a_later_one) {
    const std::string left = "volcano.sh/vgpu-node: n0, volcano.sh/vgpu-ids-new: 'A,NVIDIA,3000,0:'";
    const auto live = live_of(two_nodes + named_pod("p", "u", vgpu(1, 3000), "", left));
    ASSERT_EQ(live->state_of("u"), live_pod_state::committed);
    ASSERT_EQ(live->release("u").code, rejection_code::none);
    ASSERT_TRUE(live->reserve("u", live->find_node("n1")).fits());
    ASSERT_EQ(live->commit("u").code, rejection_code::none);
    const auto where = [&] { return live->booking_of("u")->where.node; };
    const auto tell = [&](const std::string& yaml) {
        for (const auto& object : objects(yaml)) static_cast<void>(live->upsert(object));
    };
    tell(gpu_node("n0", card("A") + card("D"))); // its devices change
    ASSERT_EQ(live->state_of("u"), live_pod_state::committed);
    EXPECT_EQ(where(), live->find_node("n1"));
    tell(named_pod("p", "u", vgpu(1, 3000), "", left + ", other: thing"));
    ASSERT_EQ(live->state_of("u"), live_pod_state::committed);
    EXPECT_EQ(where(), live->find_node("n1"));
}

TEST(live_cluster, deviceshares_arguments_say_which_dialects_are_served) {
    const auto failure_under = [](const vgpualloc::dialects::volcano::plugin_arguments& arguments) {
        const auto live = live_of(two_nodes + named_pod("p", "u", vgpu(1, 1000)));
        auto options = live->configured();
        options.deviceshare = arguments;
        EXPECT_TRUE(live->configure(std::move(options)));
        EXPECT_TRUE(live->wants_devices("u"));
        const auto failure = live->failure_of("u");
        return failure ? failure->message() : std::string{};
    };
    EXPECT_EQ(failure_under({}), ""); // nothing is enabled: everything is
    EXPECT_EQ(failure_under({.vgpu = true}), "");
    EXPECT_THAT(failure_under({.hami_vnpu = true}), HasSubstr("deviceshare.VGPUEnable: true"));
    EXPECT_EQ(failure_under({.hami_vnpu = true, .preset_virtual_devices = true}), failure_under({.hami_vnpu = true}));
}

TEST(live_cluster, an_explanation_is_of_what_would_be_decided) {
    const auto live = live_of(gpu_node("n0", card("A") + card("B")) +
                              named_pod("r", "v", vgpu(1, 1000), "n0", "volcano.sh/vgpu-ids-new: 'A,NVIDIA,1000,0:'") +
                              named_pod("p", "u", vgpu(1, 1000)));
    auto options = live->configured();
    options.policy = "binpack";
    options.device_policy = "spread";
    ASSERT_TRUE(live->configure(options));
    const auto explained = live->question("u")->explain();
    ASSERT_TRUE(explained) << explained.error().message();
    ASSERT_TRUE(explained->chosen);
    EXPECT_EQ(explained->nodes[*explained->chosen].shares.at(0).uuid, "B") << "the device policy chooses among devices";
    ASSERT_TRUE(live->reserve("u", live->find_node("n0")).fits());
    EXPECT_EQ(live->booking_of("u")->where.shares[0].device, vgpualloc::device_index{1U});
    ASSERT_EQ(live->rollback("u").code, rejection_code::none);
    options.deviceshare = vgpualloc::dialects::volcano::plugin_arguments{.hami_vnpu = true};
    ASSERT_TRUE(live->configure(options));
    const auto refused = live->question("u")->explain();
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("deviceshare.VGPUEnable: true"));
}

TEST(live_cluster, a_reservation_follows_its_device_when_others_are_no_longer_read) {
    const auto npu = [](const std::string& uuid, const std::string& chip) {
        return "    hami.io/node-register-" + chip + ": '[{\"id\":\"" + uuid +
               "\",\"count\":7,\"devmem\":21527,\"devcore\":8,\"type\":\"" + chip +
               "\",\"numa\":0,\"health\":true}]'\n";
    };
    const std::string node = "---\nkind: Node\nmetadata:\n  name: npu\n  annotations:\n" + npu("B4-0", "Ascend910B4") +
                             npu("P-0", "Ascend310P") +
                             "status: {allocatable: {cpu: '64', memory: 512Gi, pods: '110', huawei.com/Ascend310P: "
                             "'7', huawei.com/Ascend910B4: '7'}}\n";
    const auto live =
        live_of(node + named_pod("p", "u", "huawei.com/Ascend310P: 1, huawei.com/Ascend310P-memory: 1024") +
                named_pod("q", "v", "huawei.com/Ascend910B4: 1, huawei.com/Ascend910B4-memory: 1024"));
    for (const char* const uid : {"u", "v"}) {
        const auto opinion = live->reserve(uid, live->find_node("npu"));
        ASSERT_TRUE(opinion.fits()) << uid << " " << static_cast<int>(opinion.refusal.code);
    }
    const auto uuid_of = [&](const char* uid) {
        const auto& where = live->booking_of(uid)->where;
        return live->book().nodes().nodes[where.node.at()].devices[where.shares[0].device.at()].uuid;
    };
    ASSERT_EQ(uuid_of("u"), "P-0");
    auto options = live->configured();
    auto catalog = vgpualloc::built_in_catalog();
    std::erase_if(catalog.ascend.chips, [](const auto& chip) { return chip.name == "Ascend910B4"; });
    options.config = vgpualloc::make_dialect_config(catalog);
    const auto configured = live->configure(options);
    ASSERT_TRUE(configured) << configured.error().message();
    EXPECT_EQ(live->state_of("u"), live_pod_state::reserved);
    EXPECT_EQ(uuid_of("u"), "P-0");
    EXPECT_EQ(live->state_of("v"), live_pod_state::waiting);
    ASSERT_EQ(live->dropped().size(), 1U);
    EXPECT_EQ(live->dropped().front().message(),
              "pod ns/q: got 'npu', expected its devices there under the new configuration too; it waits again");
}

TEST(live_cluster, a_configuration_may_change_while_pods_run) {
    const auto live = live_of(two_nodes + gpu_node("m", card("M", "mig")) + named_pod("p", "u", vgpu(1, 3000)) +
                              named_pod("r", "v", vgpu(1, 1000), "n0", "volcano.sh/vgpu-ids-new: 'A,NVIDIA,1000,0:'"));
    const node_index n1 = live->find_node("n1");
    ASSERT_TRUE(live->reserve("u", n1).fits());
    auto options = live->configured();
    options.policy = "random";
    const auto refused = live->configure(options);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("a policy that draws nothing"));
    options.policy = "spread";
    options.config = vgpualloc::make_dialect_config();
    ASSERT_TRUE(live->configure(options));
    EXPECT_EQ(live->state_of("u"), live_pod_state::reserved);
    EXPECT_EQ(live->state_of("v"), live_pod_state::committed);
    EXPECT_EQ(live->book().nodes().nodes[live->booking_of("u")->where.node.at()].name, "n1");
    EXPECT_EQ(live->rollback("u").code, rejection_code::none);
    EXPECT_EQ(live->choose("u", std::vector{live->find_node("n0"), live->find_node("n1")}).value(),
              live->find_node("n1"))
        << "spread goes where less is";
    live->book().check();
}

TEST(live_cluster, policies_have_to_follow_from_what_is_known) {
    for (const auto& [policy, device_policy] : {std::pair{"random", ""}, {"binpack", "random"}, {"nothing", ""}}) {
        EXPECT_FALSE(live_cluster::make({.policy = policy, .device_policy = device_policy})) << policy;
    }
}

} // namespace
