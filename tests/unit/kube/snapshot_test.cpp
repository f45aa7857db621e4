// Snapshots: devices of every dialect once, what bound pods have, what cannot be true.
#include "vgpualloc/kube/snapshot.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshots.hpp"

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using vgpualloc::core_percent;
using vgpualloc::device_index;
using vgpualloc::error_code;
using vgpualloc::mib;
using vgpualloc::milli_cpu;
using vgpualloc::node_index;
using namespace kube_test;

constexpr node_index first{std::size_t{0}};
const std::string ids_of_a = "volcano.sh/vgpu-ids-new: 'A,NVIDIA,3000,0:'";

const std::string npu_node =
    "---\nkind: Node\nmetadata:\n  name: npu\n  annotations:\n    hami.io/node-register-Ascend310P: "
    "'[{\"id\":\"npu-a\",\"count\":7,\"devmem\":21527,\"devcore\":8,\"type\":\"Ascend310P\",\"health\":true}]'\n"
    "status:\n  allocatable: {cpu: '64', memory: 256Gi, huawei.com/Ascend310P: '7'}\n";

TEST(snapshot, a_mixed_cluster) {
    const auto state =
        snapshot_of(gpu_node("core", card("A") + card("B", "hami-core", "false")) + gpu_node("mig", card("M", "mig")) +
                    npu_node + "---\nkind: Service\nmetadata: {name: s}\n");
    EXPECT_THAT(state.warnings, IsEmpty());
    ASSERT_THAT(state.nodes().nodes, SizeIs(3));
    EXPECT_EQ(state.nodes().nodes[0].cpu, milli_cpu{16000});
    EXPECT_EQ(state.nodes().nodes[0].memory, to_bytes(mib{65536}));
    EXPECT_EQ(state.nodes().nodes[0].pods_max, 110);
    const auto& good = state.nodes().spec_of(first, device_index{std::size_t{0}});
    EXPECT_EQ(good.mode->name(), "hami_core");
    EXPECT_EQ(state.book->services(first)[0], vgpualloc::service_state::in_service);
    EXPECT_EQ(state.book->services(first)[1], vgpualloc::service_state::failed);
    EXPECT_EQ(state.nodes().spec_of(node_index{std::size_t{1}}, device_index{std::size_t{0}}).mode->name(), "mig");
    EXPECT_EQ(state.nodes().spec_of(node_index{std::size_t{2}}, device_index{std::size_t{0}}).mode->name(),
              "ascend_vir");
    EXPECT_EQ(state.devices[2][0].dialect, "ascend_hami");
    EXPECT_EQ(state.devices[1][0].registered.geometry.size(), 2U);
}

TEST(snapshot, bound_pods_are_counted_and_ended_ones_are_not) {
    const auto state =
        snapshot_of(gpu_node("n0", card("A") + card("B")) +
                    pod("runs", "cpu: 2, memory: 1Gi, " + vgpu(1, 3000, 50), "n0",
                        "volcano.sh/vgpu-ids-new: 'B,NVIDIA,3000,50:'", "Running") +
                    pod("starts", vgpu(1, 1000), "n0", "volcano.sh/vgpu-ids-new: 'B,NVIDIA,1000,0:'", "Pending") +
                    pod("ended", vgpu(1, 1000), "n0", "volcano.sh/vgpu-ids-new: 'B,NVIDIA,1000,0:'", "Succeeded") +
                    pod("failed", vgpu(1, 1000), "n0", "volcano.sh/vgpu-ids-new: 'B,NVIDIA,1000,0:'", "Failed") +
                    pod("plain", "cpu: 500m", "n0", "", "Running"));
    EXPECT_THAT(state.warnings, IsEmpty());
    EXPECT_THAT(state.bound, SizeIs(3));
    EXPECT_THAT(state.pending, IsEmpty());
    EXPECT_EQ(state.book->host(first).pods, 3);
    EXPECT_EQ(state.book->host(first).cpu, milli_cpu{2500});
    EXPECT_EQ(state.book->host(first).memory, vgpualloc::to_bytes(mib{1024}));
    EXPECT_EQ(state.book->devices(first)[0], vgpualloc::device_state{});
    EXPECT_EQ(state.book->devices(first)[1].memory, mib{4000});
    EXPECT_EQ(state.book->devices(first)[1].cores, core_percent{50});
    EXPECT_EQ(state.book->devices(first)[1].slots, 2);
    state.book->check();
}

TEST(snapshot, a_pod_that_is_being_bound_is_where_its_annotation_says) {
    const std::string ids = "volcano.sh/vgpu-ids-new: 'A,NVIDIA,3000,50:', volcano.sh/vgpu-node: n0";
    const std::string text = gpu_node("n0", card("A"));
    const auto binding = snapshot_of(text + pod("p", vgpu(1, 3000), "", ids + ", volcano.sh/bind-phase: allocating"));
    EXPECT_THAT(binding.bound, SizeIs(1));
    EXPECT_EQ(binding.book->devices(first)[0].memory, mib{3000});
    const auto failed = snapshot_of(text + pod("p", vgpu(1, 3000), "", ids + ", volcano.sh/bind-phase: failed"));
    EXPECT_THAT(failed.bound, IsEmpty());
    EXPECT_THAT(failed.pending, SizeIs(1));
    EXPECT_EQ(failed.book->devices(first)[0].memory, mib{0});
}

TEST(snapshot, instances_and_templates_are_counted) {
    const auto state =
        snapshot_of(gpu_node("mig", card("M", "mig")) + npu_node +
                    pod("instance", vgpu(1, 3000), "mig", "volcano.sh/vgpu-ids-new: 'M[group1-2],NVIDIA,3000,0:'") +
                    pod("npu-pod", "huawei.com/Ascend310P: 1, huawei.com/Ascend310P-memory: 6144", "npu",
                        "hami.io/Ascend310P-devices-allocated: 'npu-a,Ascend310P,6144,0:;'"));
    EXPECT_THAT(state.warnings, IsEmpty());
    EXPECT_EQ(state.book->devices(first)[0].memory, mib{5120});
    EXPECT_EQ(state.book->devices(first)[0].layout, 0b100U);
    EXPECT_EQ(state.book->devices(node_index{std::size_t{1}})[0].memory, mib{6144});
}

TEST(snapshot, what_runs_counts_even_if_it_is_too_much) {
    const std::string ids = "volcano.sh/vgpu-ids-new: 'A,NVIDIA,30000,0:'";
    const auto state = snapshot_of(gpu_node("n0", card("A")) + pod("p", vgpu(1, 30000), "n0", ids) +
                                   pod("q", vgpu(1, 30000), "n0", ids));
    EXPECT_EQ(state.book->devices(first)[0].memory, mib{60000});
    EXPECT_TRUE(state.book->is_overcommitted(first, device_index{std::size_t{0}}));
    ASSERT_THAT(state.warnings, SizeIs(1));
    EXPECT_THAT(state.warnings[0].message(), AllOf(HasSubstr("node n0"), HasSubstr("'A'"), HasSubstr("60000 MiB")));
}

TEST(snapshot, a_device_of_two_dialects_counts_once) {
    std::string node = gpu_node("n0", card("A"));
    node.insert(node.find("    volcano.sh/node"),
                "    hami.io/node-nvidia-register: '[{\"id\":\"A\",\"count\":10,\"devmem\":40960,\"devcore\":100,"
                "\"type\":\"NVIDIA A100\",\"health\":true}]'\n");
    const auto state = snapshot_of(node + pod("p", vgpu(1, 3000), "n0", "volcano.sh/vgpu-ids-new: 'A,NVIDIA,3000,0:'") +
                                   pod("q", "nvidia.com/gpu: 1, nvidia.com/gpumem: 2000", "n0",
                                       "hami.io/vgpu-devices-allocated: 'A,NVIDIA,2000,0:;'"));
    ASSERT_THAT(state.devices[0], SizeIs(1));
    EXPECT_EQ(state.devices[0][0].dialect, "volcano_vgpu");
    EXPECT_EQ(state.book->devices(first)[0].memory, mib{5000});
    ASSERT_THAT(state.warnings, SizeIs(1));
    EXPECT_EQ(state.warnings[0].code, error_code::duplicate);
    EXPECT_THAT(state.warnings[0].message(),
                AllOf(HasSubstr("device A"), HasSubstr("hami"), HasSubstr("volcano_vgpu")));
}

TEST(snapshot, the_same_object_twice_counts_once) {
    const std::string node = gpu_node("n0", card("A"));
    const std::string bound = pod("p", vgpu(1, 3000), "n0", "volcano.sh/vgpu-ids-new: 'A,NVIDIA,3000,0:'");
    const auto state = snapshot_of(node + bound + node + bound);
    EXPECT_THAT(state.nodes().nodes, SizeIs(1));
    EXPECT_EQ(state.book->devices(first)[0].memory, mib{3000});
    EXPECT_THAT(state.warnings, SizeIs(2));
}

TEST(snapshot, what_cannot_be_read_is_a_warning_with_its_place) {
    struct wrong {
        std::string yaml;
        std::string place, word;
    };
    const std::string node = gpu_node("n0", card("A"));
    const wrong cases[] = {
        {gpu_node("n0", "A,10,x," + std::string{a100} + ",true,hami-core:"), "f.yaml:2", "memory"},
        {gpu_node("n0", card("A"), "many"), "f.yaml:2", "allocatable.pods"},
        {node + pod("p", vgpu(1, 3000), "elsewhere"), "f.yaml:10: pod ns/p", "elsewhere"},
        {node + pod("p", vgpu(1, 3000), "n0", "volcano.sh/vgpu-ids-new: 'Z,NVIDIA,3000,0:'"), "f.yaml:10", "Z"},
        {node + pod("p", vgpu(1, 3000), "n0"), "f.yaml:10: pod ns/p", "annotations"},
        {node + pod("p", "volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: 3000000000", "n0",
                    "volcano.sh/vgpu-ids-new: 'A,NVIDIA,3000,0:'"),
         "f.yaml:19", "3000000000"},
    };
    for (const wrong& wrong_case : cases) {
        const auto state = snapshot_of(wrong_case.yaml);
        ASSERT_THAT(state.warnings, SizeIs(1)) << wrong_case.yaml;
        EXPECT_THAT(state.warnings[0].where, HasSubstr(wrong_case.place));
        EXPECT_THAT(state.warnings[0].message(), HasSubstr(wrong_case.word));
    }
}

TEST(snapshot, cards_cut_without_a_geometry_are_told) {
    const auto state = snapshot_of(gpu_node("n0", card("A", "mig")), vgpualloc::dialect_set{});
    ASSERT_THAT(state.warnings, SizeIs(1));
    EXPECT_THAT(state.warnings[0].message(), HasSubstr("--config"));
}

TEST(snapshot, pending_pods_keep_their_request_or_its_error) {
    const auto state = snapshot_of(gpu_node("n0", card("A")) + pod("good", "cpu: 1, " + vgpu(2, 3000, 50)) +
                                   pod("both", vgpu(1, 1) + ", nvidia.com/gpu: 1"));
    EXPECT_THAT(state.warnings, IsEmpty());
    ASSERT_THAT(state.pending, SizeIs(2));
    const auto& good = state.pending[0];
    EXPECT_EQ(good.full_name(), "ns/good");
    EXPECT_EQ(good.dialect, "volcano_vgpu");
    EXPECT_EQ(good.request.cpu, milli_cpu{1000});
    ASSERT_THAT(good.request.containers, SizeIs(1));
    EXPECT_EQ(good.request.containers[0].count, 2);
    EXPECT_EQ(good.container_names, std::vector<std::string>{"main"});
    ASSERT_TRUE(state.pending[1].failure.has_value());
    EXPECT_EQ(state.pending[1].failure->code, error_code::unsupported);
    EXPECT_THAT(state.pending[1].failure->message(), HasSubstr("volcano_vgpu, nvidia"));
}

TEST(snapshot, typical_requests_are_those_of_all_pods) {
    const auto state = snapshot_of(gpu_node("n0", card("A")) +
                                   pod("p", vgpu(1, 3000), "n0", "volcano.sh/vgpu-ids-new: 'A,NVIDIA,3000,0:'") +
                                   pod("q", vgpu(1, 3000)) + pod("r", "cpu: 1"));
    const auto typical = state.typical().typical;
    ASSERT_THAT(typical, SizeIs(2));
    EXPECT_EQ(typical[0].weight + typical[1].weight, 3);
    EXPECT_DOUBLE_EQ(typical[0].frequency + typical[1].frequency, 1.0);
}

TEST(snapshot, a_cluster_has_nodes) {
    const auto state = kube::make_snapshot(objects(pod("p", "cpu: 1")), dialects());
    ASSERT_FALSE(state.has_value());
    EXPECT_EQ(state.error().code, error_code::missing);
    EXPECT_THAT(state.error().message(), HasSubstr("at least one object of kind Node"));
    const auto nameless = kube::make_snapshot(objects(gpu_node("", card("A"))), dialects());
    ASSERT_FALSE(nameless.has_value());
    EXPECT_EQ(nameless.error().field, "metadata.name") << "there is a node, but not one that counts";
}

TEST(snapshot, limits_of_pods_are_quantities) {
    const auto most_pods = [](const std::string& written) {
        const auto state = snapshot_of(gpu_node("n0", card("A"), written));
        return std::pair{state.nodes().nodes[0].pods_max, state.warnings.size()};
    };
    using read = std::pair<std::int64_t, std::size_t>;
    EXPECT_EQ(most_pods("250"), (read{250, 0}));
    EXPECT_EQ(most_pods("1k"), (read{1000, 0})) << "as Kubernetes writes 1000";
    EXPECT_EQ(most_pods("0"), (read{0, 0}));
    for (const char* const wrong : {"-1", "1.5", "abc", "10M"}) EXPECT_EQ(most_pods(wrong), (read{110, 1})) << wrong;
}

TEST(snapshot, nodes_and_pods_have_what_the_host_rules_compare) {
    std::string node = gpu_node("n0", card("A")) + "  conditions: [{type: Ready, status: 'False'}]\n" +
                       "spec: {unschedulable: true, taints: [{key: gpu, value: a, effect: NoExecute}]}\n";
    node.insert(node.find("  annotations"), "  labels: {zone: b, cards: '8'}\n");
    const auto state = snapshot_of(node + gpu_node("n1", card("B")) + pod("runs", vgpu(1, 3000), "n0", ids_of_a) +
                                   "  nodeSelector: {zone: nowhere}\n" + pod("waits", vgpu(1, 3000)) +
                                   "  nodeSelector: {zone: b}\n  tolerations: [{key: gpu, operator: Exists}]\n" +
                                   pod("plain", "cpu: 1") + "  nodeSelector: {zone: c}\n");
    EXPECT_THAT(state.warnings, IsEmpty());
    const vgpualloc::host_facts& facts = state.nodes().nodes[0].host;
    EXPECT_THAT(facts.labels, ElementsAre(Pair("cards", "8"), Pair("zone", "b")));
    EXPECT_THAT(facts.taints, ElementsAre(vgpualloc::taint{
                                  .key = "gpu", .value = "a", .effect = vgpualloc::taint_effect::no_execute}));
    EXPECT_TRUE(facts.unschedulable);
    EXPECT_FALSE(facts.ready);
    vgpualloc::host_facts open = state.nodes().nodes[1].host;
    EXPECT_THAT(open.resources, testing::Contains("volcano.sh/vgpu-number"));
    open.resources.clear();
    EXPECT_THAT(open.allocatable,
                ElementsAre("volcano.sh/vgpu-cores", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-number"));
    open.allocatable.clear();
    EXPECT_EQ(open, vgpualloc::host_facts{});
    EXPECT_THAT(state.pending[0].request.rules.resources,
                ElementsAre("volcano.sh/vgpu-memory", "volcano.sh/vgpu-number"));
    EXPECT_THAT(state.pending[1].request.rules.resources, IsEmpty());
    ASSERT_THAT(state.pending, SizeIs(2));
    EXPECT_THAT(state.pending[0].request.rules.node_selector, ElementsAre(Pair("zone", "b")));
    EXPECT_THAT(state.pending[0].request.rules.tolerations, SizeIs(1));
    EXPECT_THAT(state.pending[1].request.rules.node_selector, ElementsAre(Pair("zone", "c"))) << "without devices too";
    ASSERT_THAT(state.bound, SizeIs(1));
    EXPECT_EQ(state.book->devices(first)[0].memory, mib{3000}) << "a pod that is bound stays, whatever the rules say";
}

TEST(snapshot, rules_that_cannot_be_read_are_told) {
    const auto state = snapshot_of(gpu_node("n0", card("A")) + "spec: {taints: [{key: gpu, effect: Sometimes}]}\n" +
                                   pod("runs", vgpu(1, 3000), "n0", ids_of_a) + "  nodeSelector: {cards: 8}\n" +
                                   pod("waits", vgpu(1, 3000)) + "  tolerations: [{key: a, operator: Like}]\n");
    EXPECT_THAT(state.warnings, ElementsAre(Field(&vgpualloc::error::field, "spec.taints[0].effect"),
                                            Field(&vgpualloc::error::field, "spec.nodeSelector.cards"),
                                            Field(&vgpualloc::error::field, "spec.tolerations[0].operator")));
    EXPECT_THAT(state.nodes().nodes[0].host.taints, IsEmpty());
    EXPECT_EQ(state.book->devices(first)[0].memory, mib{3000});
    ASSERT_THAT(state.pending, SizeIs(1));
    ASSERT_TRUE(state.pending[0].failure.has_value()) << "nobody knows where it may go";
    EXPECT_EQ(state.pending[0].failure->value, "Like");
}

TEST(snapshot, a_request_that_nothing_could_count_is_not_read) {
    const auto state = snapshot_of(gpu_node("n0", card("A")) + pod("big", vgpu(2000, 3000, 50)));
    ASSERT_THAT(state.pending, SizeIs(1));
    ASSERT_TRUE(state.pending[0].failure.has_value());
    EXPECT_EQ(state.pending[0].failure->value, "2000");
    EXPECT_THAT(state.pending[0].failure->message(), HasSubstr("containers[0].count"));
}

TEST(snapshot, what_the_ledger_cannot_count_is_told_and_left_out) {
    const auto cores =
        snapshot_of(gpu_node("n0", card("A")) +
                    pod("p", "cpu: 2, " + vgpu(1, 3000), "n0", "volcano.sh/vgpu-ids-new: 'A,NVIDIA,3000,2000000:'"));
    EXPECT_THAT(cores.warnings, ElementsAre(Field(&vgpualloc::error::value, "A")));
    EXPECT_EQ(cores.book->devices(first)[0].memory, mib{0});
    EXPECT_EQ(cores.book->host(first).cpu, milli_cpu{2000}) << "only the device is not counted";
    std::string pods;
    for (int i = 0; i < 32; ++i) pods += pod("p" + std::to_string(i), "memory: 256Pi", "n0");
    const auto memory = snapshot_of(gpu_node("n0", card("A")) + pods);
    EXPECT_EQ(memory.book->live_count(), 31U) << "32 of them have no sum";
    EXPECT_THAT(memory.bound, SizeIs(31));
    EXPECT_THAT(memory.warnings, ElementsAre(Field(&vgpualloc::error::field, "spec")));
}

TEST(snapshot, a_node_that_a_ledger_would_refuse_is_told_and_counts_nowhere) {
    auto objects = kube_test::objects(gpu_node("n0", card("A")) + gpu_node("n1", card("B")) + pod("p", "cpu: 1", "n0") +
                                      pod("q", "cpu: 1", "n1"));
    objects[0].cpu = milli_cpu{-1};
    const auto state = kube::make_snapshot(objects, dialects());
    ASSERT_TRUE(state.has_value());
    ASSERT_THAT(state->nodes().nodes, ElementsAre(Field(&vgpualloc::node::name, "n1")));
    EXPECT_THAT(state->devices, SizeIs(1));
    for (const auto& amounts : state->extended) EXPECT_THAT(amounts, SizeIs(1));
    EXPECT_THAT(state->bound, SizeIs(1));
    ASSERT_THAT(state->warnings, SizeIs(2)) << "the node, and the pod on it";
    EXPECT_THAT(state->warnings[0].message(), AllOf(HasSubstr("node n0"), HasSubstr("-1"), HasSubstr("nowhere")));
    EXPECT_EQ(state->warnings[1].value, "n0");
    objects[1].cpu = milli_cpu{-1};
    const auto none = kube::make_snapshot(objects, dialects());
    ASSERT_FALSE(none.has_value());
    EXPECT_THAT(none.error().message(), HasSubstr("node n1"));
}

TEST(snapshot, a_node_without_a_name_is_no_node) {
    const auto state = snapshot_of(gpu_node("", card("A")) + gpu_node("n1", card("B")));
    ASSERT_THAT(state.nodes().nodes, SizeIs(1));
    EXPECT_EQ(state.nodes().nodes[0].name, "n1");
    EXPECT_THAT(state.warnings, ElementsAre(Field(&vgpualloc::error::field, "metadata.name")));
}

/// What the kubelet gave a pod that runs is as much as kube-scheduler counted for it: sidecars too.
TEST(snapshot, pods_on_plain_nodes_have_what_kube_scheduler_counts) {
    const std::string node =
        "---\nkind: Node\nmetadata: {name: n0}\nstatus: {allocatable: {cpu: 16, memory: 64Gi, pods: 110, "
        "nvidia.com/gpu: 8, nvidia.com/mig-1g.5gb: 8}}\n";
    const auto taken = [&node](const std::string& resource, const std::string& init_containers) {
        const std::string asks = "resources: {limits: {" + resource + ": 1}}";
        std::string text = pod("p", resource + ": 1", "n0") + "  - {name: second, " + asks + "}\n  initContainers: [";
        for (const char c : init_containers) {
            const bool is_sidecar = c == 's';
            text += is_sidecar
                        ? "{name: s, restartPolicy: Always, " + asks + "}, "
                        : std::string{"{name: i"} + c + ", resources: {limits: {" + resource + ": " + c + "}}}, ";
        }
        const auto state = snapshot_of(node + text + "]\n");
        EXPECT_THAT(state.warnings, IsEmpty());
        return state.book->find_booking(vgpualloc::pod_id{0U})->where.shares.size();
    };
    for (const std::string resource : {"nvidia.com/gpu", "nvidia.com/mig-1g.5gb"}) {
        EXPECT_EQ(taken(resource, ""), 2U) << resource;
        EXPECT_EQ(taken(resource, "s"), 3U) << resource << ": the sidecar stays";
        EXPECT_EQ(taken(resource, "2"), 2U) << resource << ": as many as both containers have";
        EXPECT_EQ(taken(resource, "s3"), 4U) << resource << ": three beside the sidecar";
        EXPECT_EQ(taken(resource, "3s"), 3U) << resource << ": three before the sidecar";
    }
}

TEST(snapshot, devices_left_out_for_one_cause_have_one_warning) {
    const auto gpu = [](const std::string& id, const std::string& mode) {
        return R"({"id":")" + id + R"(","count":4,"devmem":24576,"devcore":100,"type":"X","mode":")" + mode +
               R"(","health":true})";
    };
    const std::string list = gpu("a", "mig") + "," + gpu("b", "hami-core") + "," + gpu("c", "mig") + "," +
                             gpu("d", "odd") + "," + gpu("e", "odd");
    const auto state = snapshot_of("kind: Node\nmetadata: {name: n0, annotations: {hami.io/node-nvidia-register: '[" +
                                   list + "]'}}\nstatus: {allocatable: {cpu: 1, nvidia.com/gpu: 9}}\n");
    ASSERT_THAT(state.warnings, SizeIs(2));
    EXPECT_THAT(state.warnings[0].message(), HasSubstr("register[3, 4]: mode: got 'odd'"));
    EXPECT_THAT(state.warnings[1].message(), HasSubstr("node n0: 2 of 3 devices (a, c): MIG model: got 'X'"));
    EXPECT_THAT(state.devices[0], SizeIs(1));
}

TEST(snapshot, numbers_in_the_names_of_resources_count_no_devices) {
    const auto state =
        snapshot_of("kind: Node\nmetadata: {name: n0}\nstatus: {allocatable: {cpu: 1, nvidia.com/mig-1g.5gb: "
                    "'-1', nvidia.com/mig-2g.5gb: '-1'}}\n");
    ASSERT_THAT(state.warnings, SizeIs(2));
    EXPECT_THAT(state.warnings[0].message(), HasSubstr("nvidia.com/mig-1g.5gb: got '-1'"));
    EXPECT_THAT(state.warnings[1].message(), HasSubstr("nvidia.com/mig-2g.5gb: got '-1'"));
}

} // namespace
