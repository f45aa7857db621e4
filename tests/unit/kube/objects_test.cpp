// Kubernetes objects from YAML and JSON: kinds, quantities, what is refused and where.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/kube/objects.hpp"

namespace {

using namespace vgpualloc::kube;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using vgpualloc::bytes;
using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::mib;
using vgpualloc::milli_cpu;

std::vector<manifest> read(const std::string& text) {
    auto objects = read_manifests(text, "f.yaml");
    EXPECT_TRUE(objects.has_value()) << objects.error().message();
    return objects ? *std::move(objects) : std::vector<manifest>{};
}
std::string refused(const std::string& text) {
    const auto objects = read_manifests(text, "f.yaml");
    EXPECT_FALSE(objects.has_value());
    return objects ? "" : objects.error().message();
}

const std::string pod_head = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns}\n";

/// A pod of one container with these limits, in flow style.
std::string pod_limiting(const std::string& limits) {
    return pod_head + "spec: {containers: [{name: c, resources: {limits: {" + limits + "}}}]}\n";
}

TEST(manifests, a_pod) {
    const auto objects = read(R"(
apiVersion: v1
kind: Pod
metadata:
  name: p
  namespace: ns
  uid: u1
  labels: {app: web}
  annotations:
    volcano.sh/vgpu-mode: "mig"
spec:
  schedulerName: volcano
  nodeName: n0
  initContainers:
  - name: i
    resources: {requests: {cpu: 3, memory: 100Mi}}
  containers:
  - name: a
    resources:
      limits: {cpu: 500m, memory: 1Gi, volcano.sh/vgpu-number: "1", volcano.sh/vgpu-memory: 3k}
      requests: {cpu: 100m}
  - name: b
    resources: {limits: {cpu: 1}}
status: {phase: Running}
)");
    ASSERT_THAT(objects, SizeIs(1));
    const manifest& pod = objects[0];
    EXPECT_THAT(pod.problems, IsEmpty());
    EXPECT_EQ(pod.place, "f.yaml:2");
    EXPECT_EQ(pod.kind, "Pod");
    EXPECT_EQ(pod.scheduler_name, "volcano");
    EXPECT_EQ(pod.node_name, "n0");
    EXPECT_EQ(pod.phase, "Running");
    ASSERT_TRUE(pod.pod.has_value());
    EXPECT_EQ(pod.pod->ns, "ns");
    EXPECT_EQ(pod.pod->uid, "u1");
    EXPECT_THAT(pod.pod->labels, ElementsAre(Pair("app", "web")));
    EXPECT_THAT(pod.pod->annotations, ElementsAre(Pair("volcano.sh/vgpu-mode", "mig")));
    ASSERT_THAT(pod.pod->containers, SizeIs(2));
    EXPECT_THAT(pod.pod->containers[0].limits,
                ElementsAre(Pair("volcano.sh/vgpu-memory", 3000), Pair("volcano.sh/vgpu-number", 1)));
    EXPECT_EQ(pod.pod->containers[0].requests, pod.pod->containers[0].limits); // as the API server sets them
    EXPECT_THAT(pod.pod->init_containers, SizeIs(1));
    EXPECT_EQ(pod.cpu, milli_cpu{3000}); // the init container's is larger than 100 + 1000
    EXPECT_EQ(pod.memory, to_bytes(mib{1024}));
}

/// Cases of Kubernetes' own PodRequests (k8s.io/component-helpers/resource).
TEST(manifests, sidecars_run_beside_everything_that_comes_after_them) {
    using amounts = std::pair<std::int64_t, std::int64_t>; // milli-CPUs and bytes
    const auto host_of = [](const std::string& containers, const std::string& init, const std::string& more = "") {
        const auto objects = read("kind: Pod\nmetadata: {name: p}\nspec:\n  containers: [" + containers +
                                  "]\n  initContainers: [" + init + "]\n" + more);
        EXPECT_THAT(objects.at(0).problems, IsEmpty());
        return amounts{objects.at(0).cpu.count(), objects.at(0).memory.count()};
    };
    const auto container = [](const std::string& cpu, const std::string& memory, bool always = false) {
        static int number = 0; // names of a pod's containers are different
        return "{name: c" + std::to_string(++number) + ", resources: {requests: {cpu: " + cpu + ", memory: " + memory +
               "}}" + (always ? ", restartPolicy: Always}" : "}");
    };
    const std::string main = container("1", "10");
    EXPECT_EQ(host_of(main, container("2", "5", true)), (amounts{3000, 15}));
    EXPECT_EQ(host_of(main, container("2", "5", true) + ", " + container("3", "4")), (amounts{5000, 15}))
        << "the init container runs beside the sidecar before it";
    EXPECT_EQ(host_of(main, container("3", "4") + ", " + container("2", "5", true)), (amounts{3000, 15}))
        << "and is over when the one after it starts";
    EXPECT_EQ(host_of(main, container("4", "100")), (amounts{4000, 100}));
    EXPECT_EQ(host_of(main, container("1", "1", true) + ", " + container("1", "1", true)), (amounts{3000, 12}));
    EXPECT_EQ(host_of(main, container("2", "5", true), "  overhead: {cpu: 250m, memory: 3}\n"), (amounts{3250, 18}));
}

TEST(manifests, host_memory_is_counted_in_bytes) {
    const auto objects = read(R"(
kind: Node
metadata: {name: n}
status: {allocatable: {memory: 200M}}
---
kind: Pod
metadata: {name: p}
spec:
  containers:
  - {name: a, resources: {requests: {memory: 50M}}}
  - {name: b, resources: {requests: {memory: "50000000.5"}}}
)");
    EXPECT_EQ(objects[0].memory, bytes{200'000'000});
    EXPECT_EQ(objects[1].memory, bytes{100'000'001}) << "a part of a byte is one, in every container";
}

TEST(manifests, kinds_that_make_pods) {
    const std::string spec = "{containers: [{name: c}]}";
    const std::string tmpl = "template: {metadata: {labels: {a: b}}, spec: " + spec + "}";
    const auto objects = read("kind: Deployment\nmetadata: {name: d}\nspec: {replicas: 3, " + tmpl + "}\n---\n" +
                              "kind: StatefulSet\nmetadata: {name: s}\nspec: {" + tmpl + "}\n---\n" +
                              "kind: DaemonSet\nmetadata: {name: e}\nspec: {" + tmpl + "}\n---\n" +
                              "kind: Job\napiVersion: batch/v1\nmetadata: {name: j}\nspec: {parallelism: 4, " + tmpl +
                              "}\n---\n" + "kind: CronJob\nmetadata: {name: k}\nspec: {jobTemplate: {spec: {" + tmpl +
                              "}}}\n---\nkind: ReplicaSet\nmetadata: {name: r}\nspec: {replicas: 0, " + tmpl + "}\n");
    ASSERT_THAT(objects, SizeIs(6));
    const std::vector<std::int64_t> replicas{3, 1, 1, 4, 1, 0};
    for (std::size_t i = 0; i < objects.size(); ++i) {
        EXPECT_THAT(objects[i].problems, IsEmpty()) << i;
        ASSERT_TRUE(objects[i].pod.has_value()) << i;
        EXPECT_EQ(objects[i].replicas, replicas[i]) << i;
        EXPECT_THAT(objects[i].pod->labels, ElementsAre(Pair("a", "b"))) << i;
        EXPECT_THAT(objects[i].pod->containers, SizeIs(1)) << i;
    }
}

TEST(manifests, a_volcano_job_is_its_tasks) {
    const auto objects = read(R"(
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j}
spec:
  schedulerName: volcano
  tasks:
  - {name: ps, replicas: 2, template: {spec: {containers: [{name: c}]}}}
  - {replicas: x, template: {spec: {schedulerName: other, containers: [{name: c}]}}}
)");
    ASSERT_THAT(objects, SizeIs(2));
    EXPECT_EQ(objects[0].name, "j/ps");
    EXPECT_EQ(objects[0].replicas, 2);
    EXPECT_EQ(objects[0].scheduler_name, "volcano");
    EXPECT_THAT(objects[0].problems, IsEmpty());
    EXPECT_EQ(objects[1].name, "j/1");
    EXPECT_EQ(objects[1].scheduler_name, "other");
    EXPECT_THAT(objects[1].problems, ElementsAre(Field(&error::field, "spec.tasks[1].replicas")));
    EXPECT_EQ(objects[1].problems[0].where, "f.yaml:9");
}

TEST(manifests, lists_nodes_and_config_maps) {
    const auto objects = read(R"(
kind: List
items:
- kind: Node
  metadata: {name: n0, labels: {l: "1"}, annotations: {a: x}}
  status:
    allocatable: {cpu: 7910m, memory: 1025Ki, volcano.sh/vgpu-number: 10}
    capacity: {cpu: "8"}
- kind: ConfigMap
  metadata: {name: c}
  data:
    device-config.yaml: |
      a: 1
---
kind: NodeList
items:
- metadata: {name: n1}
---
kind: Service
metadata: {name: s}
)");
    ASSERT_THAT(objects, SizeIs(4));
    ASSERT_TRUE(objects[0].node.has_value());
    EXPECT_EQ(objects[0].node->allocatable.at("volcano.sh/vgpu-number"), "10");
    EXPECT_EQ(objects[0].node->allocatable.at("cpu"), "7910m");
    EXPECT_EQ(objects[0].node->capacity.at("cpu"), "8");
    EXPECT_EQ(objects[0].node->annotations.at("a"), "x");
    EXPECT_EQ(objects[0].cpu, milli_cpu{7910});
    EXPECT_EQ(objects[0].memory, bytes{1025 * 1024});
    EXPECT_EQ(objects[1].data.at("device-config.yaml"), "a: 1\n");
    EXPECT_EQ(objects[2].kind, "Node");
    EXPECT_TRUE(objects[2].node.has_value());
    EXPECT_FALSE(objects[3].pod.has_value());
}

TEST(manifests, json_is_read_alike) {
    const auto objects = read(R"({"kind":"PodList","items":[{"metadata":{"name":"p"},"spec":{"containers":[
        {"name":"c","resources":{"limits":{"nvidia.com/gpu":"2","nvidia.com/gpumem":1e3,"nvidia.com/gpucores":0.5}}}]}}]})");
    ASSERT_THAT(objects, SizeIs(1));
    EXPECT_EQ(objects[0].place, "f.yaml: object 1");
    EXPECT_EQ(objects[0].pod->containers[0].limits.at("nvidia.com/gpu"), 2);
    EXPECT_EQ(objects[0].pod->containers[0].limits.at("nvidia.com/gpumem"), 1000);
    EXPECT_THAT(objects[0].problems,
                ElementsAre(AllOf(Field(&error::code, error_code::out_of_range), Field(&error::value, "0.5"))));
    EXPECT_THAT(refused(R"({"kind":"Pod","kind":"Pod"})"), HasSubstr("kind"));
    EXPECT_THAT(refused("[1]"), HasSubstr("a list"));
    EXPECT_FALSE(refused(std::string(100, '[') + std::string(100, ']')).empty());
}

TEST(manifests, amounts_of_devices_are_whole) {
    for (const char* amount : {"500m", "0.5", "-1", "1x", "\"\"", "99999999999999999999", "true", "[1]"}) {
        const auto objects = read(pod_limiting("nvidia.com/gpu: " + std::string{amount} + ", nvidia.com/gpumem: 5"));
        ASSERT_THAT(objects, SizeIs(1));
        ASSERT_THAT(objects[0].problems, SizeIs(1)) << amount;
        EXPECT_EQ(objects[0].problems[0].where, "f.yaml:4");
        EXPECT_EQ(objects[0].problems[0].field, "spec.containers[0].resources.limits.nvidia.com/gpu");
        EXPECT_THAT(objects[0].pod->containers[0].limits, ElementsAre(Pair("nvidia.com/gpumem", 5))) << amount;
    }
    EXPECT_THAT(read(pod_limiting("cpu: 99999999999999999999"))[0].problems, SizeIs(1));
    EXPECT_THAT(read(pod_limiting("cpu: 1e18"))[0].problems, SizeIs(1));
}

TEST(manifests, labels_and_annotations_need_quotes) {
    for (const char* value : {"yes", "No", "off", "true", "5", "0x1F", "1e3", "-1.5", "[a]", "{a: b}"}) {
        const auto objects = read("kind: Pod\nmetadata:\n  name: p\n  labels:\n    vnpu-dvpp: " + std::string{value} +
                                  "\nspec: {containers: [{name: c}]}\n");
        ASSERT_THAT(objects[0].problems, SizeIs(1)) << value;
        EXPECT_EQ(objects[0].problems[0].where, "f.yaml:5");
        EXPECT_EQ(objects[0].problems[0].field, "metadata.labels.vnpu-dvpp");
    }
    for (const char* value : {"\"yes\"", "'5'", "!!str 5", "5a", "null", "1.2.3", "yesterday"}) {
        EXPECT_THAT(read("kind: Pod\nmetadata: {name: p, labels: {vnpu-dvpp: " + std::string{value} +
                         "}}\nspec: {containers: [{name: c}]}\n")[0]
                        .problems,
                    IsEmpty())
            << value;
    }
}

TEST(manifests, what_is_missing_or_of_the_wrong_shape) {
    const auto problems = [](const std::string& text) { return read(text)[0].problems; };
    EXPECT_THAT(problems("metadata: {name: p}"), ElementsAre(Field(&error::field, "kind")));
    EXPECT_THAT(problems("kind: Service"), ElementsAre(Field(&error::field, "metadata.name")));
    EXPECT_THAT(problems("kind: Pod\nmetadata: {name: p}"), ElementsAre(Field(&error::field, "spec.containers")));
    EXPECT_THAT(problems("kind: Pod\nmetadata: {name: p}\nspec: 5"), SizeIs(2));
    EXPECT_THAT(problems("kind: Pod\nmetadata: {name: p}\nspec: {containers: {a: b}}"),
                ElementsAre(Field(&error::expected, "a list")));
    EXPECT_THAT(problems("kind: Deployment\nmetadata: {name: p}\nspec: {replicas: -1}"),
                testing::Contains(Field(&error::field, "spec.replicas")));
}

TEST(yaml, anchors_aliases_and_merges) {
    const auto json = yaml_to_json_text("base: &b {a: 1, c: x}\nuse: {<<: *b, a: 2}\nlist: [*b]\n", "f");
    EXPECT_EQ(*json, R"({"base":{"a":1,"c":"x"},"use":{"a":2,"c":"x"},"list":[{"a":1,"c":"x"}]})");
}

TEST(manifests, priorities_times_and_owners_are_read) {
    const auto objects = read(
        "kind: Pod\nmetadata: {name: p, creationTimestamp: '2026-01-02T03:04:05Z', ownerReferences: [{kind: "
        "ReplicaSet}, "
        "{kind: DaemonSet, name: d, controller: true}]}\nspec: {priority: 7, priorityClassName: own, containers: "
        "[{name: m}]}\n"
        "---\nkind: Pod\nmetadata: {name: q}\nspec: {priorityClassName: system-node-critical, containers: [{name: "
        "m}]}\n"
        "---\nkind: PriorityClass\nmetadata: {name: own}\nvalue: 9\n"
        "---\nkind: PodGroup\nmetadata: {name: g}\nspec: {minMember: 4}\n"
        "---\nkind: ResourceQuota\nmetadata: {name: r}\nspec: {hard: {cpu: '9'}}\nstatus: {hard: {cpu: '8'}, used: "
        "{cpu: '1'}}\n");
    ASSERT_THAT(objects, SizeIs(5));
    EXPECT_EQ(objects[0].created, "2026-01-02T03:04:05Z");
    EXPECT_EQ(objects[0].controller, "DaemonSet");
    EXPECT_EQ(objects[0].controller_name, "d");
    EXPECT_EQ(objects[4].quota_hard, (vgpualloc::kubernetes::text_map{{"cpu", "8"}}));
    EXPECT_EQ(objects[4].quota_used, (vgpualloc::kubernetes::text_map{{"cpu", "1"}}));
    EXPECT_EQ(objects[0].priority, 7);
    EXPECT_EQ(objects[0].priority_class, "own");
    EXPECT_EQ(objects[1].priority, 2'000'001'000);
    EXPECT_EQ(objects[2].priority, 9);
    EXPECT_EQ(objects[3].min_available, 4);
}

TEST(yaml, scalars_as_json) {
    const auto json = yaml_to_json_text("[yes, 'no', a b]", "f"); // JSON too may begin with a bracket
    EXPECT_EQ(json.value(), R"([true,"no","a b"])");
    const auto flow = yaml_to_json_text("a: [1, -2.5, yes, Off, ~, null, '5', a b, 1.2.3]", "f");
    ASSERT_TRUE(flow.has_value());
    EXPECT_EQ(*flow, R"({"a":[1,-2.5,true,false,null,null,"5","a b","1.2.3"]})");
    const auto block =
        yaml_to_json_text("- +3\n- .5\n- 5.\n- 0x10\n- 010\n- 1e3\n- 089\n- yes\n- ~\n- '5'\n- \"a\\n\"\n", "f");
    ASSERT_TRUE(block.has_value());
    EXPECT_EQ(*block, R"([3,0.5,5,16,8,1e3,89,true,null,"5","a\n"])");
    EXPECT_FALSE(yaml_to_json_text("a: 1\n---\nb: 2\n", "f").has_value());
    EXPECT_FALSE(yaml_to_json_text("", "f").has_value());
}

TEST(yaml, errors_name_file_and_line) {
    EXPECT_THAT(refused("kind: Pod\n  bad: indent\n"), HasSubstr("f.yaml:2"));
    EXPECT_THAT(refused("a: 1\nb: 2\na: 3\n"), HasSubstr("f.yaml:3:1: a: the key is given twice"));
    EXPECT_THAT(refused("a: *nowhere\n"), HasSubstr("f.yaml:1"));
    EXPECT_THAT(refused("a: !ruby/object x\n"), HasSubstr("f.yaml:1"));
    EXPECT_THAT(refused("? [a]\n: b\n"), HasSubstr("f.yaml:1"));
    EXPECT_THAT(refused("just text\n"), HasSubstr("Kubernetes object"));
}

TEST(yaml, bombs_and_depth_are_refused) {
    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
        for (int j = 0; j < 9; ++j) bomb += ", " + before;
        bomb += "]\n";
    }
    EXPECT_THAT(refused(bomb), HasSubstr("at most 200000 values"));
    EXPECT_FALSE(refused("a: " + std::string(100, '[') + std::string(100, ']')).empty());
    EXPECT_FALSE(refused("a: " + std::string(100000, '[')).empty());
    EXPECT_FALSE(refused("a: &a [*a]\n").empty());
    std::string deep;
    for (int i = 0; i < 2000; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
    EXPECT_FALSE(refused(deep).empty());
}

/// Kind, name and place of what is read.
std::vector<std::string> read_in_order(const std::string& text) {
    std::vector<std::string> result;
    const auto objects = read_manifests(text, "f.json");
    if (!objects) return {objects.error().message()};
    for (const manifest& object : *objects) result.push_back(object.kind + " " + object.name + " " + object.place);
    return result;
}

TEST(manifests, items_of_a_list_are_the_same_whether_they_are_read_one_by_one_or_not) {
    const std::string a = R"({"kind": "Queue", "metadata": {"name": "a"}})";
    const std::string b = R"({"kind": "Queue", "metadata": {"name": "b"}})";
    const std::string bare = R"({"metadata": {"name": "c"}})";
    struct row {
        std::string text;
        std::vector<std::string> objects;
    };
    const std::vector<row> rows{
        {R"({"kind": "List", "items": [)" + a + ",\n" + b + "]}", {"Queue a f.json: object 1", "Queue b f.json:2"}},
        {R"({"items": [)" + a + "," + b + R"(], "kind": "List"})",
         {"Queue a f.json: object 1", "Queue b f.json: object 2"}},
        {R"({"items": [)" + a + "," + bare + "," + b + R"(], "kind": "QuotaList"})",
         {"Queue a f.json: object 1", "Quota c f.json: object 2", "Queue b f.json: object 3"}},
        {R"({"items": [)" + a + R"(], "kind": "Thing", "metadata": {"name": "t"}})", {"Thing t f.json:1"}},
        {b + "\n" + R"({"items": [)" + a + R"(], "kind": "List"})", {"Queue b f.json:1", "Queue a f.json: object 2"}},
        {R"({"items": [)" + a + R"(], "kind": "List"})" + "\n" + b, {"Queue a f.json: object 1", "Queue b f.json:2"}},
        {R"({"items": [)" + a + ",\n1], \"kind\": \"List\"}", {"Queue a f.json: object 1", "  f.json:2"}},
        {R"({"items": [1,)" + a + R"(], "kind": "List"})", {"  f.json: object 1", "Queue a f.json: object 2"}},
        {R"({"items": [)" + a + ", {\"kind\": \n", {}},
    };
    for (const row& expected : rows) {
        const auto objects = read_in_order(expected.text);
        if (expected.objects.empty()) {
            ASSERT_THAT(objects, testing::SizeIs(1));
            EXPECT_THAT(objects[0], HasSubstr("f.json:2:1")) << "the error, and nothing of what came before it";
        } else {
            EXPECT_EQ(objects, expected.objects) << expected.text;
        }
    }
}

} // namespace
