// Nodes that a host rule refuses: the code, and which taint, label or requirement it is.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explanations.hpp"
#include "requirements.hpp"
#include "vgpualloc/explain/words.hpp"

namespace {

using explain_test::explained;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using vgpualloc::rejection_code;
using namespace kube_test;
namespace explaining = vgpualloc::explaining;

/// A node with a card and these lines at the end of its object.
std::string node_with(const std::string& name, const std::string& lines, const std::string& labels = "") {
    std::string text = gpu_node(name, card("GPU-" + name));
    return text.insert(text.find("  annotations"), "  labels: {" + labels + "}\n") + lines;
}

/// What a node says to a pod with these lines at the end of its specification.
std::string words_of(const std::string& node, const std::string& spec) {
    const auto result = explained(node + pod("p", vgpu(1, 3000)) + spec);
    return result.nodes.empty() ? "" : explaining::words_of(result.nodes[0].refused);
}

std::string requiring(const std::string& terms) {
    return "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" + terms +
           "]}}}\n";
}

TEST(explain_rules, a_refusal_names_the_taint) {
    const std::string tainted =
        node_with("n0", "spec: {taints: [{key: old, effect: PreferNoSchedule}, {key: team, value: vision, effect: "
                        "NoSchedule}, {key: leaving, effect: NoExecute}]}\n");
    EXPECT_EQ(words_of(tainted, ""), "taint_not_tolerated: team=vision:NoSchedule");
    EXPECT_EQ(words_of(tainted, "  tolerations: [{key: team, value: vision}]\n"),
              "taint_not_tolerated: leaving:NoExecute");
    EXPECT_EQ(words_of(tainted, "  tolerations: [{key: team, value: speech}, {key: leaving, operator: Exists}]\n"),
              "taint_not_tolerated: team=vision:NoSchedule");
    EXPECT_EQ(words_of(tainted, "  tolerations: [{operator: Exists}]\n"), "");
}

TEST(explain_rules, a_cordoned_node_and_one_that_is_not_ready_say_so) {
    const std::string cordoned = node_with("n0", "spec: {unschedulable: true}\n");
    EXPECT_EQ(words_of(cordoned, ""), "node_unschedulable: the node is cordoned");
    EXPECT_EQ(words_of(cordoned, "  tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}]\n"), "");
    const auto with_status = [](const std::string& status) {
        return node_with("n0", "  conditions: [{type: Ready, status: '" + status + "'}]\n");
    };
    EXPECT_EQ(words_of(with_status("True"), ""), "");
    EXPECT_EQ(words_of(with_status("False"), ""), "node_not_ready: condition Ready is False");
    EXPECT_EQ(words_of(with_status("Unknown"), ""), "node_not_ready: condition Ready is Unknown");
    const std::string tolerates = "  tolerations: [{key: node.kubernetes.io/unreachable, effect: NoSchedule}]\n";
    EXPECT_EQ(words_of(with_status("Unknown"), tolerates), "");
    EXPECT_EQ(words_of(with_status("False"), tolerates), "node_not_ready: condition Ready is False");
}

TEST(explain_rules, a_selector_names_the_label_and_what_the_node_has) {
    const std::string node = node_with("n0", "", "zone: a, cards: '8'");
    EXPECT_EQ(words_of(node, "  nodeSelector: {zone: a, cards: '8'}\n"), "");
    EXPECT_EQ(words_of(node, "  nodeSelector: {zone: b}\n"),
              "node_selector_differs: wants zone=b, the node has zone=a");
    EXPECT_EQ(words_of(node, "  nodeSelector: {disk: ssd, zone: b}\n"),
              "node_selector_differs: wants disk=ssd, the node has no such label");
}

TEST(explain_rules, an_affinity_names_what_every_term_lacks) {
    const std::string node = node_with("n0", "", "zone: a, cards: '8'");
    const std::vector<std::pair<std::string, std::string>> rows{
        {"{key: zone, operator: In, values: [a]}", ""},
        {"{key: zone, operator: In, values: [b, c]}", "wants zone in (b, c), the node has zone=a"},
        {"{key: zone, operator: In, values: [b, c, d, e, f, g, h]}",
         "wants zone in (b, c, d, e, f, and 2 more), the node has zone=a"},
        {"{key: zone, operator: NotIn, values: [a]}", "wants zone not in (a), the node has zone=a"},
        {"{key: disk, operator: NotIn, values: [a]}", ""},
        {"{key: disk, operator: Exists}", "wants disk, the node has no such label"},
        {"{key: zone, operator: DoesNotExist}", "wants no zone, the node has zone=a"},
        {"{key: cards, operator: Gt, values: ['7']}", ""},
        {"{key: cards, operator: Gt, values: ['8']}", "wants cards > 8, the node has cards=8"},
        {"{key: cards, operator: Lt, values: ['8']}", "wants cards < 8, the node has cards=8"},
        {"{key: zone, operator: Lt, values: ['8']}", "wants zone < 8, the node has zone=a"},
    };
    for (const auto& [expression, words] : rows) {
        EXPECT_EQ(words_of(node, requiring("{matchExpressions: [" + expression + "]}")),
                  words.empty() ? "" : "node_affinity_differs: " + words);
    }
    const std::string other_node = "{matchFields: [{key: metadata.name, operator: In, values: [n7]}]}";
    const std::string disk = "{matchExpressions: [{key: disk, operator: Exists}]}";
    EXPECT_EQ(words_of(node, requiring(other_node)),
              "node_affinity_differs: wants metadata.name in (n7), the node is n0");
    EXPECT_EQ(words_of(node, requiring("{}, " + other_node + ", " + disk + ", " + disk + ", " + disk)),
              "node_affinity_differs: a term without requirements matches no node; or wants metadata.name in (n7), the "
              "node is n0; or wants disk, the node has no such label; or 2 more terms");
    EXPECT_EQ(words_of(node, requiring(other_node + ", {matchExpressions: [{key: zone, operator: Exists}]}")), "")
        << "one term is enough";
}

TEST(explain_rules, the_first_rule_is_named_in_kube_scheduler_s_order) {
    const std::string all = "  nodeSelector: {zone: b}\n" + requiring("{}");
    const std::string taints = "taints: [{key: gpu, effect: NoSchedule}]";
    EXPECT_THAT(words_of(node_with("n0", "spec: {unschedulable: true, " + taints + "}\n"), all),
                HasSubstr("node_unschedulable"));
    EXPECT_THAT(words_of(node_with("n0", "spec: {" + taints + "}\n"), all), HasSubstr("taint_not_tolerated"));
    EXPECT_THAT(words_of(node_with("n0", ""), all), HasSubstr("node_selector_differs"));
    EXPECT_THAT(words_of(node_with("n0", "", "zone: b"), all), HasSubstr("node_affinity_differs"));
    // What no device can ever serve is said before, and what is in use after the rules.
    const std::string full = node_with("n0", "spec: {" + taints + "}\n");
    EXPECT_EQ(explained(full + pod("p", vgpu(1, 50000))).nodes[0].refused.code, rejection_code::taint_not_tolerated);
    EXPECT_EQ(explained("---\nkind: Node\nmetadata: {name: n0}\nspec: {" + taints + "}\n" + pod("p", vgpu(1, 1)))
                  .nodes[0]
                  .refused.code,
              rejection_code::too_few_devices);
}

TEST(explain_rules, the_pod_goes_where_the_rules_let_it) {
    const std::string cluster =
        node_with("kept", "spec: {taints: [{key: gpu, effect: NoSchedule}]}\n") +
        node_with("away", "spec: {unschedulable: true}\n") + node_with("open", "") +
        pod("runs", vgpu(1, 9000), "kept", "volcano.sh/vgpu-ids-new: 'GPU-kept,NVIDIA,9000,0:'");
    const auto result = explained(cluster + pod("p", vgpu(1, 3000)));
    ASSERT_EQ(result.chosen, 2U);
    EXPECT_EQ(result.fitting, 1U);
    EXPECT_EQ(result.nodes[0].devices[0].memory_used, vgpualloc::mib{9000}) << "what runs there stays";
    EXPECT_TRUE(result.nodes[0].devices[0].containers[0].refused.fits()) << "the device would";
    const auto tolerant = explained(cluster + pod("p", vgpu(1, 3000)) + "  tolerations: [{key: gpu}]\n");
    EXPECT_EQ(tolerant.chosen, 0U) << "it is the fuller one";
    const auto nowhere = explained(cluster + pod("p", vgpu(1, 3000)) + "  nodeSelector: {zone: a}\n");
    EXPECT_EQ(explaining::scheduling_message(nowhere),
              "0/3 nodes are available: 1 node_unschedulable, 1 taint_not_tolerated, 1 node_selector_differs.");
}

TEST(explain_rules, text_and_json_name_the_rule) {
    const auto result = explained(node_with("n0", "spec: {taints: [{key: gpu, effect: NoSchedule}]}\n") +
                                  node_with("n1", "") + pod("p", vgpu(1, 3000)));
    EXPECT_THAT(explaining::explanation_text(result, {}), HasSubstr("taint_not_tolerated: gpu:NoSchedule\n"));
    const std::string json = explaining::explanation_json(result, {.node = "n0"});
    EXPECT_THAT(json, HasSubstr("\"code\": \"taint_not_tolerated\""));
    EXPECT_THAT(json, HasSubstr("\"text\": \"taint_not_tolerated: gpu:NoSchedule\""));
    EXPECT_THAT(json, HasSubstr("\"rule\": \"gpu:NoSchedule\""));
    EXPECT_THAT(explaining::explanation_json(result, {.node = "n1"}), Not(HasSubstr("\"rule\"")));
}

TEST(explain_rules, what_was_not_looked_at_is_told) {
    const std::string cluster = node_with("n0", "") + pod("p", vgpu(1, 3000));
    EXPECT_THAT(explained(cluster).not_considered, IsEmpty());
    EXPECT_THAT(explained(cluster + "  nodeSelector: {}\n  tolerations: [{operator: Exists}]\n").not_considered,
                IsEmpty());
    const auto result = explained(
        cluster + "  affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, "
                  "podAffinityTerm: {topologyKey: kubernetes.io/hostname}}]}}\n"
                  "  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
                  "ScheduleAnyway}]\n");
    EXPECT_THAT(result.not_considered,
                ElementsAre("preferred pod anti-affinity (spec.affinity.podAntiAffinity)",
                            "topology spread that may be given up (spec.topologySpreadConstraints)"));
    EXPECT_EQ(result.chosen, 0U);
    EXPECT_THAT(explaining::explanation_text(result, {}),
                HasSubstr("\nnot considered, although it is there:\n  preferred pod anti-affinity"));
    EXPECT_THAT(explaining::explanation_json(result, {}), HasSubstr("\"topology spread"));
}

TEST(explain_rules, other_pods_that_keep_a_pod_away_are_named) {
    const std::string apart = "  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                              "[{topologyKey: zone, labelSelector: {matchLabels: {app: db}}}]}}\n";
    const std::string near = "  affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                             "[{topologyKey: zone, labelSelector: {matchLabels: {app: db}}}]}}\n";
    const std::string spread = "  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
                               "DoNotSchedule, labelSelector: {matchLabels: {app: db}}}]\n";
    const std::string zoned = node_with("n0", "", "zone: a");
    std::string runs = pod("db-0", vgpu(1, 3000)) + "  nodeName: n0\n";
    const std::string metadata = "metadata:\n";
    ASSERT_NE(runs.find(metadata), std::string::npos) << runs;
    runs.insert(runs.find(metadata) + metadata.size(), "  labels: {app: db}\n");
    const auto rule = [&](const std::string& cluster, const std::string& lines) {
        return explained(cluster + pod("p", vgpu(1, 3000)) + lines).nodes[0].refused.rule;
    };
    EXPECT_EQ(rule(zoned + runs, apart), "anti-affinity with ns/db-0 in zone a");
    EXPECT_EQ(rule(zoned, apart), "");
    EXPECT_EQ(rule(zoned, near), "affinity: no such pod in zone a");
    EXPECT_EQ(rule(node_with("n0", ""), near), "affinity: no label zone");
    EXPECT_EQ(rule(node_with("n0", ""), spread), "spread: no label zone");
}

// A priority that the cluster would preempt for is named, and takes nothing from those that run.
TEST(explain_rules, a_pod_with_a_priority_preempts_nobody) {
    vgpualloc::test::covers({"R109"});
    const std::string full = gpu_node("n0", card("A")) +
                             pod("runs", vgpu(1, 40960), "n0", "volcano.sh/vgpu-ids-new: 'A,NVIDIA,40960,0:'") +
                             pod("urgent", vgpu(1, 1000));
    const auto plain = explained(full);
    const auto urgent = explained(full + "  priority: 1000000000\n  preemptionPolicy: PreemptLowerPriority\n");
    EXPECT_FALSE(urgent.chosen.has_value());
    EXPECT_EQ(explaining::scheduling_message(urgent), explaining::scheduling_message(plain));
    EXPECT_THAT(urgent.not_considered, Contains("priority (spec.priorityClassName)"));
    EXPECT_THAT(plain.not_considered, Not(Contains("priority (spec.priorityClassName)")));
}

} // namespace
