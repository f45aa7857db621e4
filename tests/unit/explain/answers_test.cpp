// Explanations: answers, scores with their terms, the choice, and what nothing fits sounds like.
#include "vgpualloc/explain/words.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explanations.hpp"

namespace {

using explain_test::explained;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using vgpualloc::error_code;
using vgpualloc::rejection_code;
using vgpualloc::explaining::choice_reason;
using namespace kube_test;
namespace explaining = vgpualloc::explaining;

std::string bound(const std::string& name, const std::string& node, const std::string& uuid, int memory,
                  const std::string& more = "") {
    return pod(name, vgpu(1, memory), node,
               "volcano.sh/vgpu-ids-new: '" + uuid + ",NVIDIA," + std::to_string(memory) + ",0:'" + more);
}

const std::string core_and_mig = gpu_node("core", card("A")) + gpu_node("mig", card("M", "mig"));

TEST(explain, r023_and_r030_go_where_their_mode_is) {
    const auto core = explained(core_and_mig + pod("p", vgpu(1, 3000, 50), "", "volcano.sh/vgpu-mode: hami-core"));
    ASSERT_EQ(core.chosen, 0U);
    EXPECT_EQ(core.reason, choice_reason::only_one_fits);
    ASSERT_THAT(core.nodes[0].shares, SizeIs(1));
    EXPECT_EQ(core.nodes[0].shares[0].part.words, "slice 3000 MiB, 50 % of compute");
    EXPECT_EQ(core.nodes[1].refused.code, rejection_code::mode_not_offered);
    const auto mig = explained(core_and_mig + pod("p", vgpu(1, 3000), "", "volcano.sh/vgpu-mode: mig"));
    ASSERT_EQ(mig.chosen, 1U);
    EXPECT_EQ(mig.nodes[1].shares[0].part.words, "mig 1g.5gb at slot 0 of group group1");
    EXPECT_EQ(mig.nodes[1].shares[0].part.start, 0);
    EXPECT_EQ(mig.nodes[0].refused.code, rejection_code::mode_not_offered);
}

TEST(explain, r033_and_r067_without_a_mode_the_node_score_decides) {
    const std::string asks = pod("p", vgpu(1, 3000));
    const auto both = explained(core_and_mig + asks);
    EXPECT_EQ(both.fitting, 2U);
    EXPECT_EQ(both.chosen, 1U); // the instance takes more of the card, which best_fit prefers
    EXPECT_EQ(both.reason, choice_reason::highest_score);
    EXPECT_EQ(both.runner_up, 0U);
    EXPECT_DOUBLE_EQ(both.margin, both.nodes[1].score - both.nodes[0].score);
    EXPECT_GT(both.margin, 0.0);
    const auto fuller = explained(core_and_mig + bound("b", "core", "A", 30000) + asks);
    EXPECT_EQ(fuller.chosen, 0U);
    const auto other = explained(core_and_mig + asks, "worst_fit");
    EXPECT_EQ(other.chosen, 0U);
}

TEST(explain, r059_two_devices_that_differ) {
    const auto result =
        explained(gpu_node("one", card("A")) + gpu_node("two", card("B") + card("C")) + pod("p", vgpu(2, 10240)));
    ASSERT_EQ(result.chosen, 1U);
    ASSERT_THAT(result.nodes[1].shares, SizeIs(2));
    EXPECT_NE(result.nodes[1].shares[0].uuid, result.nodes[1].shares[1].uuid);
    EXPECT_EQ(result.nodes[0].refused.code, rejection_code::too_few_devices);
    EXPECT_EQ(explaining::words_of(result.nodes[0].refused), "too_few_devices: wanted 2 devices, available 1 device");
}

TEST(explain, terms_add_up_to_the_score) {
    for (const std::string policy : {"best_fit", "fgd", "weighted:best_fit=0.7,binpack=0.3,fgd=-2"}) {
        const auto result =
            explained(core_and_mig + bound("b", "core", "A", 9000) + pod("p", vgpu(1, 3000, 20)), policy);
        for (const auto& node : result.nodes) {
            double sum = 0.0;
            for (const auto& entry : node.terms) sum += entry.weight * entry.score;
            EXPECT_EQ(sum, node.score) << policy << " on " << node.name;
            EXPECT_THAT(node.terms, SizeIs(policy.starts_with("weighted") ? 3 : 1));
        }
    }
}

TEST(explain, equal_nodes_go_by_order) {
    const auto result = explained(gpu_node("x0", card("A")) + gpu_node("y0", card("B")) + pod("p", vgpu(1, 3000)));
    EXPECT_EQ(result.chosen, 0U);
    EXPECT_EQ(result.reason, choice_reason::first_of_equals);
    EXPECT_EQ(result.tied, 2U);
    EXPECT_EQ(result.runner_up, 1U);
    EXPECT_EQ(result.margin, 0.0);
}

TEST(explain, the_runner_up_is_the_best_of_the_others) {
    const auto result =
        explained(gpu_node("a", card("A")) + gpu_node("b", card("B")) + gpu_node("c", card("C")) +
                  bound("b1", "b", "B", 10000) + bound("c1", "c", "C", 20000) + pod("p", vgpu(1, 3000)));
    EXPECT_EQ(result.chosen, 2U);
    EXPECT_EQ(result.runner_up, 1U);
    EXPECT_DOUBLE_EQ(result.margin, result.nodes[2].score - result.nodes[1].score);
}

TEST(explain, unhealthy_full_and_missing_devices_say_so) {
    const auto result =
        explained(gpu_node("ill", card("A", "hami-core", "false")) + gpu_node("full", card("B") + card("C")) +
                  "---\nkind: Node\nmetadata: {name: none}\nstatus: {allocatable: {cpu: 1}}\n" +
                  bound("b", "full", "B", 38000) + bound("c", "full", "C", 39000) + pod("p", vgpu(1, 3000)));
    EXPECT_FALSE(result.chosen.has_value());
    EXPECT_EQ(explaining::scheduling_message(result),
              "0/3 nodes are available: 1 too_few_devices, 1 device_unhealthy, 1 insufficient_device_memory.");
    EXPECT_EQ(result.nodes[0].refused.code, rejection_code::device_unhealthy);
    EXPECT_EQ(explaining::words_of(result.nodes[1].refused),
              "insufficient_device_memory: wanted 3000 MiB, available 2960 MiB");
    EXPECT_EQ(result.nodes[1].refused.device, "B"); // the card that comes closest
    EXPECT_EQ(result.nodes[1].devices[1].containers[0].refused.available, 1960);
}

TEST(explain, host_resources_have_their_numbers) {
    const std::string node = gpu_node("n0", card("A"), "1");
    EXPECT_EQ(explaining::words_of(explained(node + pod("b", "cpu: 1", "n0") + pod("p", vgpu(1, 1))).nodes[0].refused),
              "too_many_pods: wanted 1 pod, available 0 pods");
    EXPECT_EQ(explaining::words_of(explained(node + pod("p", "cpu: 20, " + vgpu(1, 1))).nodes[0].refused),
              "insufficient_cpu: wanted 20000 mCPU, available 16000 mCPU");
    EXPECT_EQ(explaining::words_of(explained(node + pod("p", "memory: 65Gi, " + vgpu(1, 1))).nodes[0].refused),
              "insufficient_memory: wanted 66560 MiB, available 65536 MiB");
}

TEST(explain, a_later_container_is_asked_after_those_before_it) {
    std::string two = pod("p", vgpu(1, 40000));
    two += "  - name: second\n    resources: {limits: {" + vgpu(1, 8000) + "}}\n";
    const auto result = explained(gpu_node("n0", card("A")) + two);
    EXPECT_TRUE(result.nodes[0].devices[0].containers[1].refused.fits()); // alone it would
    EXPECT_EQ(result.nodes[0].refused.container, 1U);
    EXPECT_EQ(explaining::words_of(result.nodes[0].refused),
              "insufficient_device_memory: wanted 8000 MiB, available 960 MiB");
    EXPECT_EQ(result.pod.container_names[1], "second");
}

TEST(explain, a_group_that_spreads_avoids_the_cards_of_its_members) {
    const std::string group = "scheduling.k8s.io/group-name: g, volcano.sh/vgpu-podgroup-policy: spread";
    const auto result = explained(gpu_node("n0", card("A")) + bound("b", "n0", "A", 1000, ", " + group) +
                                  pod("p", vgpu(1, 1000), "", group));
    EXPECT_EQ(result.nodes[0].refused.code, rejection_code::device_avoided);
    auto config = dialects().config();
    config.exclusive_rules = {{{"app", "x"}}};
    const auto labelled = [](std::string of) { return of.insert(of.find("  annotations"), "  labels: {app: x}\n"); };
    const auto ruled =
        explained(gpu_node("n0", card("A")) + labelled(bound("b", "n0", "A", 1000)) + labelled(pod("p", vgpu(1, 1000))),
                  "best_fit", vgpualloc::dialect_set{config});
    EXPECT_EQ(ruled.nodes[0].refused.code, rejection_code::device_avoided);
}

TEST(explain, an_overcommitted_device_gives_nothing_more) {
    const auto result = explained(gpu_node("n0", card("A")) + bound("b", "n0", "A", 30000) +
                                  bound("c", "n0", "A", 30000) + pod("p", vgpu(1, 1)));
    EXPECT_TRUE(result.nodes[0].devices[0].overcommitted);
    EXPECT_EQ(result.nodes[0].devices[0].memory_used, vgpualloc::mib{60000});
    EXPECT_EQ(result.nodes[0].refused.code, rejection_code::insufficient_device_memory);
    EXPECT_EQ(result.nodes[0].refused.available, -19040);
}

/// A node with one 310P chip in MindCluster's words, and the ConfigMap beside it.
std::string chip_node(const std::string& name) {
    return "---\nkind: Node\nmetadata:\n  name: " + name +
           "\n  labels: {accelerator: huawei-Ascend310P, servertype: Ascend310P-8, "
           "node.kubernetes.io/npu.chip.name: 310P3}\n  annotations: {baseDeviceInfos: '{\"Ascend310P-0\":{}}'}\n"
           "status:\n  allocatable: {cpu: 64, memory: 64Gi, huawei.com/npu-core: 8}\n"
           "  capacity: {huawei.com/npu-core: 8}\n---\nkind: ConfigMap\nmetadata: {name: mindx-dl-deviceinfo-" +
           name +
           "}\ndata:\n  DeviceInfoCfg: "
           "'{\"DeviceInfo\":{\"DeviceList\":{\"huawei.com/Ascend310P\":\"Ascend310P-0\"}}}'\n";
}

TEST(explain, less_than_asked_comes_after_any_score) {
    const auto high = [](std::string of) {
        return of.insert(of.find("  annotations"),
                         "  labels: {ring-controller.atlas: ascend-310P, vnpu-dvpp: 'null', vnpu-level: high}\n");
    };
    const auto result = explained(
        chip_node("used") + chip_node("idle") +
            high(pod("b", "huawei.com/npu-core: 4", "used", "huawei.com/npu-core: 0-vir04, huawei.com/AscendReal: x")) +
            high(pod("p", "huawei.com/npu-core: 4")),
        "binpack");
    EXPECT_GT(result.nodes[0].score, result.nodes[1].score);
    EXPECT_EQ(result.chosen, 1U);
    EXPECT_EQ(result.reason, choice_reason::less_compromise);
    EXPECT_EQ(result.nodes[0].shares[0].part.name, "vir04_3c");
    EXPECT_EQ(result.nodes[1].shares[0].part.words, "template vir04, 4 AI cores");
}

TEST(explain, drawn_choices_are_called_so) {
    const auto result =
        explained(gpu_node("x0", card("A")) + gpu_node("y0", card("B")) + pod("p", vgpu(1, 3000)), "random");
    EXPECT_EQ(result.reason, choice_reason::drawn);
    ASSERT_TRUE(result.chosen.has_value());
    EXPECT_THAT(result.nodes[*result.chosen].shares, SizeIs(1));
    EXPECT_THAT(result.nodes[1 - *result.chosen].shares, IsEmpty());
}

TEST(explain, nothing_is_booked) {
    auto in = snapshot_of(core_and_mig + pod("p", vgpu(1, 3000)));
    ASSERT_TRUE(explaining::explain(in, in.pending[0], {.policy = "best_fit"}).has_value());
    EXPECT_EQ(in.book->live_count(), 0U);
    EXPECT_THAT(in.book->events(), IsEmpty());
}

std::vector<explaining::explanation> all_of(const kube::snapshot& in,
                                            const std::vector<explaining::pods_wanted>& wanted,
                                            const explaining::explain_options& options) {
    std::vector<explaining::explanation> explanations;
    explaining::explain_all(in, wanted, options, [&](vgpualloc::expected<explaining::explanation> explanation) {
        if (explanation) explanations.push_back(*std::move(explanation));
    });
    return explanations;
}

/// All pods of all templates, one after the other.
TEST(explain, replicas_are_placed_until_no_more_fit) {
    auto in = snapshot_of(gpu_node("n0", card("A")) + gpu_node("n1", card("B")) + pod("p", vgpu(1, 15000)));
    const explaining::pods_wanted many{.pod = in.pending[0], .kind = "Deployment", .count = 10'000};
    const explaining::pods_wanted one{.pod = in.pending[0], .kind = "Pod"};
    const auto answers = all_of(in, {many, one}, {.policy = "binpack"});
    ASSERT_THAT(answers, SizeIs(2));
    const auto& replicas = answers[0].replicas;
    ASSERT_EQ(replicas.placed.size(), 4U) << "two of 15000 MiB on each card of 40960";
    EXPECT_EQ(replicas.placed[1].node, replicas.placed[0].node) << "binpack fills the first card";
    EXPECT_EQ(replicas.placed[3].shares.at(0).uuid, replicas.placed[2].shares.at(0).uuid);
    EXPECT_EQ(replicas.next, "0/2 nodes are available: 2 insufficient_device_memory.");
    EXPECT_THAT(explaining::explanation_text(answers[0], {}), HasSubstr("4 of 10000 pods fit, one after the other"));
    EXPECT_FALSE(answers[1].chosen.has_value()) << "those before it are there";
    EXPECT_EQ(in.book->live_count(), 0U) << "everything is taken back";
    const auto daemons = all_of(in, {{.pod = in.pending[0], .one_per_node = true}}, {.policy = "binpack"});
    EXPECT_EQ(daemons.at(0).replicas.placed.size(), 2U);
    EXPECT_THAT(explaining::explanation_text(daemons.at(0), {}), HasSubstr("2 of 2 nodes take a pod"));
}

TEST(explain, errors_are_the_pods_and_the_policys) {
    auto in =
        snapshot_of(gpu_node("n0", card("A")) + pod("p", vgpu(1, 1) + ", nvidia.com/gpu: 1") + pod("q", vgpu(1, 1)));
    EXPECT_EQ(explaining::explain(in, in.pending[0], {}).error().code, error_code::unsupported);
    EXPECT_EQ(explaining::explain(in, in.pending[1], {.policy = "worst"}).error().code, error_code::unknown_name);
}

TEST(explain, a_long_cluster_shows_its_first_nodes_and_the_chosen_one) {
    std::string yaml;
    for (int i = 0; i < 30; ++i) yaml += gpu_node("node-" + std::to_string(i), card("A"));
    const auto result = explained(yaml + bound("b", "node-28", "A", 30000) + pod("p", vgpu(1, 3000)));
    const auto text = explaining::explanation_text(result, {});
    EXPECT_THAT(text, StartsWith("pod ns/p (f.yaml:"));
    EXPECT_THAT(text, HasSubstr("chosen: node-28, the highest score; next node-0, "));
    EXPECT_THAT(text, HasSubstr("\nnode-19 "));
    EXPECT_THAT(text, Not(HasSubstr("\nnode-20 ")));
    EXPECT_THAT(text, HasSubstr("\nnode-28 "));
    EXPECT_THAT(text, HasSubstr("and 9 more nodes"));
    EXPECT_THAT(explaining::explanation_text(result, {.nodes_max = 100}), HasSubstr("\nnode-20 "));
    EXPECT_THAT(explaining::explanation_text(result, {.node = "node-20"}), Not(HasSubstr("\nnode-19 ")));
}

const std::string plain_node =
    "---\nkind: Node\nmetadata: {name: n0}\nstatus: {allocatable: {cpu: 16, memory: 64Gi, pods: 110, "
    "nvidia.com/gpu: 1, nvidia.com/mig-1g.5gb: 3}}\n";

TEST(explain, devices_of_another_family_are_no_reason_where_there_are_some_of_the_family) {
    const auto result = explained(plain_node + pod("b", "nvidia.com/gpu: 1", "n0") + pod("p", "nvidia.com/gpu: 1"));
    EXPECT_EQ(result.nodes[0].refused.code, rejection_code::device_taken_whole) << "one GPU, and three instances";
    EXPECT_EQ(explaining::scheduling_message(result), "0/1 nodes are available: 1 device_taken_whole.");
}

TEST(explain, a_node_is_said_to_offer_only_what_it_has_an_amount_of) {
    const auto result = explained(gpu_node("n0", card("A")) + pod("p", "nvidia.com/gpu: 1"));
    EXPECT_EQ(result.nodes[0].refused.rule,
              "wants nvidia.com/gpu, the node offers none of it, only volcano.sh/vgpu-cores, volcano.sh/vgpu-memory, "
              "volcano.sh/vgpu-number");
}

TEST(explain, containers_ask_for_what_the_file_says_and_what_is_counted_follows) {
    const std::string waits = pod("p", "nvidia.com/mig-1g.5gb: 1");
    const auto lines_of = [](const std::string& yaml) {
        const std::string text = explaining::explanation_text(explained(plain_node + yaml), {});
        const auto begin = text.find("  host:");
        return text.substr(text.find('\n', begin) + 1, text.find("policy ") - text.find('\n', begin) - 1);
    };
    const std::string words = ", any mode, family nvidia.com/mig, profile 1g.5gb";
    EXPECT_EQ(lines_of(waits), "  container main: 1 device" + words + " (dialect nvidia)\n");
    EXPECT_EQ(lines_of(waits + "  initContainers: [{name: i, resources: {limits: {nvidia.com/mig-1g.5gb: 2}}}]\n"),
              "  init container i: 2 units, of one device or several" + words +
                  " (dialect nvidia)\n  container main: 1 device" + words +
                  " (dialect nvidia)\n  counted, because init containers end before the others run:\n    "
                  "main: 1 device" +
                  words + "\n    at init, beyond that: 1 device" + words + "\n");
    EXPECT_EQ(
        lines_of(
            waits +
            "  initContainers: [{name: s, restartPolicy: Always, resources: {limits: {nvidia.com/mig-1g.5gb: 1}}}]\n"),
        "  sidecar s: 1 device" + words + " (dialect nvidia)\n  container main: 1 device" + words +
            " (dialect nvidia)\n");
}

TEST(explain, what_is_needed_at_init_beyond_the_others_is_of_no_container) {
    for (const std::string resource : {"nvidia.com/mig-1g.5gb", "nvidia.com/gpu"}) {
        const std::string node =
            "---\nkind: Node\nmetadata: {name: n0}\nstatus: {allocatable: {cpu: '16', memory: 64Gi, "
            "pods: '110', " +
            resource + ": '7'}}\n";
        const std::string init = "  initContainers: [{name: i0, resources: {limits: {" + resource +
                                 ": 2}}}, {name: i1, resources: {limits: {" + resource + ": 3}}}]\n";
        const auto result = explained(node + pod("p", resource + ": 1") + init);
        std::int64_t beyond = 0;
        for (std::size_t i = 0; i < result.pod.container_names.size(); ++i) {
            EXPECT_EQ(result.pod.container_names[i], i == 0 ? "main" : "") << resource;
            if (i > 0) beyond += result.pod.request.containers[i].count;
        }
        EXPECT_EQ(beyond, 2) << "i1 asks for 3, 1 of which main has later; " << resource;
    }
}

TEST(explain, says_what_a_score_of_bid_price_is_made_of) {
    const std::string yaml = gpu_node("n0", card("A")) + gpu_node("n1", card("B")) + bound("r", "n1", "B", 20'480) +
                             pod("p", vgpu(1, 20'480));
    const auto of = explained(yaml, "bid_price");
    ASSERT_EQ(of.chosen, 1U) << "the half that is left is worth less than half of an idle GPU";
    const auto& parts = of.nodes[1].terms.at(0).parts;
    ASSERT_THAT(parts, SizeIs(1));
    EXPECT_EQ(parts[0].what, "leftovers");
    EXPECT_DOUBLE_EQ(parts[0].worth, of.nodes[1].score);
    const std::string text = explaining::explanation_text(of, {});
    EXPECT_THAT(text, HasSubstr("\n  on n1: leftovers are worth "));
    EXPECT_THAT(text, HasSubstr(" less\n  on n0: leftovers are worth "));
    EXPECT_THAT(explaining::explanation_json(of, {}), HasSubstr(R"("what": "leftovers")"));
    explaining::explanation priced = of;
    priced.nodes[1].terms[0].parts.push_back(
        {.what = "room for 8 whole GPUs", .worth = -0.75, .amount = 0.5, .price = 1.5});
    priced.nodes[1].terms[0].parts.push_back({.what = "room for 1g.5gb", .worth = 2.0, .amount = -1.0, .price = 2.0});
    EXPECT_THAT(
        explaining::explanation_text(priced, {}),
        HasSubstr(
            "less; less room for 8 whole GPUs: 0.5, at 1.5 GPUs each; more room for 1g.5gb: 1, at 2 GPUs each\n"));
    EXPECT_THAT(explaining::explanation_text(explained(yaml, "best_fit"), {}), testing::Not(HasSubstr("leftovers")));
}

} // namespace
