// Host rules from Kubernetes objects: what a pod requires of its node, what a node says, and what is refused and where.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/kube/objects.hpp"

namespace {

using namespace vgpualloc::kube;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::host_facts;
using vgpualloc::host_rules;
using vgpualloc::label_operator;
using vgpualloc::node_selector_term;
using vgpualloc::rejection_code;
using vgpualloc::taint;
using vgpualloc::taint_effect;
using vgpualloc::toleration;

manifest read_one(const std::string& text) {
    const auto objects = read_manifests(text, "f.yaml");
    EXPECT_TRUE(objects.has_value()) << objects.error().message();
    return objects && objects->size() == 1 ? objects->front() : manifest{};
}

/// A pod with these lines in its specification, the first of which is line 5.
manifest pod_with(const std::string& spec) {
    return read_one("kind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c}]\n" + spec);
}

/// A pod whose required node affinity has one term, in flow style.
manifest pod_requiring(const std::string& term) {
    return pod_with(
        "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" + term +
        "]}}}\n");
}

manifest node_object(const std::string& lines) { return read_one("kind: Node\nmetadata: {name: n0}\n" + lines); }

std::vector<toleration> tolerations(const std::string& list) {
    const manifest pod = pod_with("  tolerations: [" + list + "]\n");
    EXPECT_THAT(pod.problems, IsEmpty()) << list;
    return pod.rules.tolerations;
}

TEST(manifests, a_pod_that_chooses_its_nodes) {
    const manifest pod = read_one(R"(
apiVersion: v1
kind: Pod
metadata: {name: trainer, namespace: team}
spec:
  nodeSelector:
    nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB
    kubernetes.io/os: linux
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - {key: topology.kubernetes.io/zone, operator: In, values: [eu-1a, eu-1b]}
          - {key: nvidia.com/gpu.count, operator: Gt, values: ["3"]}
        - matchExpressions:
          - {key: spot, operator: DoesNotExist}
          matchFields:
          - {key: metadata.name, operator: NotIn, values: [gpu-7]}
        - {}
  tolerations:
  - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
  - {key: team, value: vision}
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  containers:
  - name: main
    resources: {limits: {volcano.sh/vgpu-number: 1}}
)");
    EXPECT_THAT(pod.problems, IsEmpty());
    EXPECT_THAT(pod.rules_ignored, IsEmpty());
    EXPECT_THAT(pod.rules.node_selector, ElementsAre(Pair("kubernetes.io/os", "linux"),
                                                     Pair("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB")));
    EXPECT_TRUE(pod.rules.has_affinity);
    const std::vector<node_selector_term> terms{
        {.labels = {{"topology.kubernetes.io/zone", label_operator::in, {"eu-1a", "eu-1b"}},
                    {"nvidia.com/gpu.count", label_operator::greater, {"3"}}}},
        {.labels = {{"spot", label_operator::does_not_exist, {}}},
         .names = {{"metadata.name", label_operator::not_in, {"gpu-7"}}}},
        {}};
    EXPECT_EQ(pod.rules.affinity, terms);
    const std::vector<toleration> tolerated{
        {.key = "nvidia.com/gpu", .any_value = true, .any_effect = false, .effect = taint_effect::no_schedule},
        {.key = "team", .value = "vision"},
        {.key = "node.kubernetes.io/not-ready",
         .any_value = true,
         .any_effect = false,
         .effect = taint_effect::no_execute}};
    EXPECT_EQ(pod.rules.tolerations, tolerated);
}

TEST(manifests, a_pod_without_rules_has_none) {
    for (const char* spec : {"", "  nodeSelector: {}\n  affinity: {}\n  tolerations: []\n",
                             "  nodeSelector:\n  affinity:\n  tolerations:\n", "  affinity: {nodeAffinity: {}}\n",
                             "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: null}}\n"}) {
        const manifest pod = pod_with(spec);
        EXPECT_THAT(pod.problems, IsEmpty()) << spec;
        EXPECT_EQ(pod.rules, host_rules{}) << spec;
    }
}

TEST(manifests, what_a_toleration_leaves_out_is_any) {
    EXPECT_THAT(tolerations("{operator: Exists}"), ElementsAre(toleration{.any_value = true}));
    EXPECT_THAT(tolerations("{key: a}"), ElementsAre(toleration{.key = "a"}));
    EXPECT_THAT(tolerations("{key: a, operator: Equal, value: '', effect: ''}"), ElementsAre(toleration{.key = "a"}));
    EXPECT_THAT(tolerations("{key: a, operator: '', value: b}"), ElementsAre(toleration{.key = "a", .value = "b"}));
    EXPECT_THAT(
        tolerations("{operator: Exists, effect: PreferNoSchedule}"),
        ElementsAre(toleration{.any_value = true, .any_effect = false, .effect = taint_effect::prefer_no_schedule}));
    const std::string seconds = "{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: ";
    EXPECT_EQ(tolerations(seconds + "0}"), tolerations(seconds + "300}")) << "of pods that run already";
}

TEST(manifests, templates_have_rules_too) {
    const std::string spec = "{containers: [{name: c}], nodeSelector: {disk: ssd}}";
    for (const std::string& text : std::vector<std::string>{
             "kind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: " + spec + "}}\n",
             "kind: CronJob\nmetadata: {name: d}\nspec: {jobTemplate: {spec: {template: {spec: " + spec + "}}}}\n",
             "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\nspec: {tasks: [{template: "
             "{spec: " +
                 spec + "}}]}\n"}) {
        const manifest object = read_one(text);
        EXPECT_THAT(object.rules.node_selector, ElementsAre(Pair("disk", "ssd"))) << text;
        EXPECT_THAT(object.rules.tolerations, IsEmpty()) << text;
    }
}

TEST(manifests, a_daemon_set_tolerates_what_its_controller_adds) {
    const auto daemon = [](const std::string& spec) {
        return read_one("kind: DaemonSet\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: c}]" +
                        spec + "}}}\n");
    };
    const manifest object = daemon(", tolerations: [{key: gpu, operator: Exists}]");
    host_facts facts;
    facts.taints = {{.key = "gpu"},
                    {.key = "node.kubernetes.io/disk-pressure"},
                    {.key = "node.kubernetes.io/not-ready", .effect = taint_effect::no_execute}};
    facts.unschedulable = true;
    EXPECT_EQ(why_not_host(object.rules, facts, "n"), rejection_code::none) << "a cordon does not stop it";
    facts.ready = false;
    EXPECT_EQ(why_not_host(object.rules, facts, "n"), rejection_code::node_not_ready) << "of NoExecute alone it does";
    const host_facts offline{.taints = {{.key = "node.kubernetes.io/network-unavailable"}}};
    EXPECT_EQ(why_not_host(object.rules, offline, "n"), rejection_code::taint_not_tolerated);
    EXPECT_EQ(why_not_host(daemon(", hostNetwork: true").rules, offline, "n"), rejection_code::none);
    EXPECT_THAT(pod_with("").rules.tolerations, IsEmpty());
    // The pods that it makes name their node.
    const manifest its_pod = pod_requiring("{matchFields: [{key: metadata.name, operator: In, values: [n3]}]}");
    EXPECT_EQ(why_not_host(its_pod.rules, {}, "n3"), rejection_code::none);
    EXPECT_EQ(why_not_host(its_pod.rules, {}, "n4"), rejection_code::node_affinity_differs);
}

TEST(manifests, what_the_api_server_refuses_of_rules_is_a_problem) {
    struct row {
        std::string spec;
        std::string field; ///< below spec
        error_code code;
        std::string value;
        std::string expected;
    };
    const std::string terms = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    const auto term = [](const std::string& text) {
        return "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: " +
               text + "}}}\n";
    };
    const auto expression = [&](const std::string& text) { return term("[{matchExpressions: [{" + text + "}]}]"); };
    const auto named = [&](const std::string& text) { return term("[{matchFields: [{" + text + "}]}]"); };
    const std::string entry = terms + "[0].matchExpressions[0].";
    const std::string name = terms + "[0].matchFields[0].";
    using enum error_code;
    const std::vector<row> rows{
        {"  nodeSelector: {cards: 8}\n", "nodeSelector.cards", malformed, "8", "a text: write it in quotes"},
        {"  nodeSelector: [a]\n", "nodeSelector", malformed, "a list", "an object"},
        {term("[]"), terms, missing, "", "at least one term"},
        {term("{}"), terms, malformed, "an object", "a list"},
        {expression("operator: Exists"), entry + "key", missing, "", "name of a label"},
        {expression("key: a"), entry + "operator", missing, "", "In, NotIn, Exists, DoesNotExist, Gt or Lt"},
        {expression("key: a, operator: in, values: [b]"), entry + "operator", malformed, "in", "In, NotIn"},
        {expression("key: a, operator: In"), entry + "values", missing, "", "at least one value"},
        {expression("key: a, operator: NotIn, values: []"), entry + "values", missing, "", "at least one value"},
        {expression("key: a, operator: In, values: [1]"), entry + "values[0]", malformed, "1", "in quotes"},
        {expression("key: a, operator: Exists, values: [b]"), entry + "values", malformed, "b", "no values"},
        {expression("key: a, operator: DoesNotExist, values: [b, c]"), entry + "values", malformed, "2 values",
         "no values"},
        {expression("key: a, operator: Gt, values: [b]"), entry + "values", malformed, "b", "one whole number"},
        {expression("key: a, operator: Gt, values: ['1.5']"), entry + "values", malformed, "1.5", "one whole number"},
        {expression("key: a, operator: Lt, values: ['1', '2']"), entry + "values", malformed, "2 values",
         "one whole number"},
        {expression("key: a, operator: Lt, values: ['+-1']"), entry + "values", malformed, "+-1", "one whole number"},
        {named("key: metadata.uid, operator: In, values: [b]"), name + "key", unsupported, "metadata.uid",
         "metadata.name"},
        {named("key: metadata.name, operator: Exists"), name + "operator", unsupported, "Exists", "In or NotIn"},
        {named("key: metadata.name, operator: In, values: [b, c]"), name + "values", malformed, "2 values", "one name"},
        {"  tolerations: {}\n", "tolerations", malformed, "an object", "a list"},
        {"  tolerations: [{key: a, operator: Gt, value: '5'}]\n", "tolerations[0].operator", malformed, "Gt",
         "Exists or Equal"},
        {"  tolerations: [{value: b}]\n", "tolerations[0].operator", mismatch, "", "Exists"},
        {"  tolerations: [{key: a, operator: Exists, value: b}]\n", "tolerations[0].value", mismatch, "b", "no value"},
        {"  tolerations: [{key: a, effect: Never}]\n", "tolerations[0].effect", malformed, "Never",
         "NoSchedule, PreferNoSchedule or NoExecute"},
        {"  tolerations: [{key: a, value: true}]\n", "tolerations[0].value", malformed, "true", "in quotes"},
    };
    for (const row& refused : rows) {
        const manifest pod = pod_with(refused.spec);
        ASSERT_THAT(pod.problems, SizeIs(1)) << refused.spec;
        const error& problem = pod.problems[0];
        EXPECT_EQ(problem.where, "f.yaml:5") << refused.spec;
        EXPECT_EQ(problem.field, "spec." + refused.field);
        EXPECT_EQ(problem.code, refused.code) << refused.spec;
        EXPECT_EQ(problem.value, refused.value) << refused.spec;
        EXPECT_THAT(problem.expected, HasSubstr(refused.expected)) << refused.spec;
    }
}

TEST(manifests, a_problem_names_the_whole_path_however_deep_it_lies) {
    const manifest task =
        read_one("apiVersion: batch.volcano.sh/v1alpha1\nkind: CronJob\nmetadata: {name: j}\nspec: {jobTemplate: "
                 "{spec: {tasks: [{"
                 "name: t, template: {spec: {containers: [{name: c}], affinity: {nodeAffinity: {"
                 "requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{}, {matchExpressions: [{"
                 "key: zone, operator: In, values: [a, b, 3]}]}]}}}}}}]}}}\n");
    ASSERT_THAT(task.problems, SizeIs(1));
    EXPECT_EQ(task.problems.front().field,
              "spec.jobTemplate.spec.tasks[0].template.spec.affinity.nodeAffinity."
              "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].matchExpressions[0].values[2]");
    EXPECT_EQ(task.problems.front().value, "3");
}

TEST(manifests, a_tainted_node_as_kubectl_prints_it) {
    const manifest node = read_one(R"(
apiVersion: v1
kind: Node
metadata:
  name: gpu-1
  labels: {kubernetes.io/hostname: gpu-1, nvidia.com/gpu.count: "8"}
spec:
  podCIDR: 10.244.1.0/24
  taints:
  - {effect: NoSchedule, key: nvidia.com/gpu, value: "present"}
  - {effect: NoExecute, key: node.kubernetes.io/unreachable, timeAdded: "2026-01-01T00:00:00Z"}
  - {effect: PreferNoSchedule, key: old}
  unschedulable: true
status:
  allocatable: {cpu: 8}
  conditions:
  - {type: MemoryPressure, status: "False", lastHeartbeatTime: "2026-01-01T00:00:00Z"}
  - {type: Ready, status: Unknown, reason: NodeStatusUnknown}
)");
    EXPECT_THAT(node.problems, IsEmpty());
    EXPECT_THAT(node.host.taints,
                ElementsAre(taint{.key = "nvidia.com/gpu", .value = "present"},
                            taint{.key = "node.kubernetes.io/unreachable", .effect = taint_effect::no_execute},
                            taint{.key = "old", .effect = taint_effect::prefer_no_schedule}));
    EXPECT_TRUE(node.host.unschedulable);
    EXPECT_FALSE(node.host.ready);
    EXPECT_TRUE(node.host.unreachable);
}

TEST(manifests, a_node_is_ready_unless_it_says_otherwise) {
    const auto facts = [](const std::string& conditions) {
        const manifest node = node_object("status: {conditions: " + conditions + "}\n");
        EXPECT_THAT(node.problems, IsEmpty()) << conditions;
        return node.host;
    };
    EXPECT_EQ(node_object("").host, host_facts{});
    EXPECT_EQ(node_object("spec: {unschedulable: false, taints: []}\n").host, host_facts{});
    EXPECT_EQ(facts("[]"), host_facts{});
    EXPECT_EQ(facts("[{type: DiskPressure, status: 'True'}]"), host_facts{});
    EXPECT_EQ(facts("[{type: Ready, status: 'True'}]"), host_facts{});
    EXPECT_EQ(facts("[{type: Ready, status: 'False'}]"), (host_facts{.ready = false}));
    EXPECT_EQ(facts("[{type: Ready, status: Unknown}]"), (host_facts{.ready = false, .unreachable = true}));
}

TEST(manifests, what_cannot_be_read_of_a_node_keeps_all_pods_away) {
    struct row {
        std::string lines; ///< the first of which is line 3
        std::string field;
        std::string expected;
    };
    const std::vector<row> rows{
        {"spec: {taints: [{key: a}, {key: b, effect: NoSchedule}]}\n", "spec.taints[0].effect",
         "NoSchedule, PreferNoSchedule or NoExecute"},
        {"spec: {taints: [{key: a, effect: noschedule}, {key: b, effect: NoSchedule}]}\n", "spec.taints[0].effect",
         "NoSchedule, PreferNoSchedule or NoExecute"},
        {"spec: {taints: [{effect: NoExecute}, {key: b, effect: NoSchedule}]}\n", "spec.taints[0].key",
         "the taint's key"},
        {"spec: {unschedulable: 'yes', taints: [{key: b, effect: NoSchedule}]}\n", "spec.unschedulable",
         "true or false"},
        {"spec: {taints: [{key: b, effect: NoSchedule}]}\nstatus: {conditions: {}}\n", "status.conditions", "a list"},
        {"status: {conditions: [{type: Ready, status: Maybe}]}\nspec: {taints: [{key: b, effect: NoSchedule}]}\n",
         "status.conditions[0].status", "True, False or Unknown"},
        {"status: {conditions: [{type: Ready}]}\nspec: {taints: [{key: b, effect: NoSchedule}]}\n",
         "status.conditions[0].status", "True, False or Unknown"},
    };
    for (const row& unread : rows) {
        const manifest node = node_object(unread.lines);
        ASSERT_THAT(node.problems, SizeIs(1)) << unread.lines;
        EXPECT_THAT(node.problems[0].where, testing::StartsWith("f.yaml:"));
        EXPECT_EQ(node.problems[0].field, unread.field);
        EXPECT_THAT(node.problems[0].expected, HasSubstr(unread.expected)) << unread.lines;
        EXPECT_EQ(node.host.taints, (std::vector<taint>{{.key = "b"}})) << unread.lines;
        EXPECT_EQ(why_not_host({.tolerations = {{.any_value = true}}}, node.host, "n"),
                  rejection_code::node_unschedulable)
            << unread.lines;
    }
}

TEST(manifests, rules_that_are_not_looked_at_are_named_where_a_pod_has_them) {
    const std::string term = "{labelSelector: {matchLabels: {app: a}}, topologyKey: kubernetes.io/hostname}";
    EXPECT_THAT(pod_with("  affinity:\n"
                         "    nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: "
                         "{matchExpressions: [{key: a, operator: Exists}]}}]}\n"
                         "    podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, "
                         "podAffinityTerm: " +
                         term + "}]}\n    podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [" + term +
                         "]}\n  topologySpreadConstraints:\n  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
                         "DoNotSchedule, labelSelector: {}}\n")
                    .rules_ignored,
                ElementsAre("preferred node affinity "
                            "(spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution)",
                            "preferred pod affinity (spec.affinity.podAffinity)"));
    EXPECT_THAT(pod_with("  affinity: {podAffinity: {}, podAntiAffinity: "
                         "{preferredDuringSchedulingIgnoredDuringExecution: []}}\n  topologySpreadConstraints: []\n")
                    .rules_ignored,
                IsEmpty());
    EXPECT_THAT(pod_requiring("{matchExpressions: [{key: a, operator: Exists}]}").rules_ignored, IsEmpty());
}

TEST(manifests, other_rules_are_another_object) {
    const manifest plain = pod_with("");
    EXPECT_TRUE(plain.says_the_same_as(pod_with("")));
    for (const char* spec : {"  nodeSelector: {a: b}\n", "  tolerations: [{operator: Exists}]\n",
                             "  topologySpreadConstraints: [{topologyKey: zone}]\n"}) {
        EXPECT_FALSE(plain.says_the_same_as(pod_with(spec))) << spec;
    }
    const manifest open = node_object("status: {conditions: [{type: Ready, status: 'True'}]}\n");
    EXPECT_TRUE(open.says_the_same_as(
        node_object("status: {conditions: [{type: Ready, status: 'True', lastHeartbeatTime: now}]}\n")));
    for (const char* lines : {"spec: {unschedulable: true}\n", "spec: {taints: [{key: a, effect: NoSchedule}]}\n",
                              "status: {conditions: [{type: Ready, status: 'False'}]}\n"}) {
        EXPECT_FALSE(open.says_the_same_as(node_object(lines))) << lines;
    }
}

} // namespace
