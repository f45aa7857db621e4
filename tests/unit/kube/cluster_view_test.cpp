// A cluster told one object at a time: what waits, what comes back, what costs nothing, and whose booking it is.
#include "vgpualloc/kube/cluster_view.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshots.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/policy/binpack.hpp"
#include "views.hpp"

namespace {

using namespace kube_test;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using vgpualloc::bytes;
using vgpualloc::mib;
using vgpualloc::node_index;
using vgpualloc::pod_id;
using vgpualloc::rejection_code;

std::string has(const std::string& uuid, int memory) {
    return "volcano.sh/vgpu-ids-new: '" + uuid + ",NVIDIA," + std::to_string(memory) + ",0:'";
}

kube::manifest object(const std::string& yaml) { return objects(yaml).at(0); }

/// MiB of the first device of a node.
std::int64_t used_on(kube::cluster_view& view, const std::string& node) {
    const node_index where = view.book().find_node(node);
    return where.valid() ? view.book().devices(where)[0].memory.count() : -1;
}

const std::vector<kube::manifest> some_objects = objects(
    gpu_node("n0", card("A") + card("B")) + gpu_node("n1", card("M", "mig")) +
    pod("p", "cpu: 2, memory: 1Gi, " + vgpu(1, 3000, 50), "n0", "volcano.sh/vgpu-ids-new: 'B,NVIDIA,3000,50:'") +
    pod("q", vgpu(1, 1000), "n1", "volcano.sh/vgpu-ids-new: 'M[group1-2],NVIDIA,1000,0:'") + pod("r", vgpu(1, 5)));

TEST(cluster_view, every_order_of_the_objects_ends_in_the_snapshot) {
    const auto state = kube::make_snapshot(some_objects, dialects());
    ASSERT_TRUE(state.has_value());
    std::vector<std::size_t> order{0, 1, 2, 3, 4};
    do {
        kube::cluster_view view{dialects()};
        for (const std::size_t i : order) EXPECT_TRUE(view.upsert(some_objects[i]));
        EXPECT_EQ(difference(view, *state), "");
        EXPECT_THAT(view.unbound_pods(), ElementsAre("ns/r"));
        EXPECT_THAT(view.waiting_pods(), IsEmpty());
        view.book().check();
    } while (std::ranges::next_permutation(order).found);
}

TEST(cluster_view, an_unchanged_object_is_no_event) {
    kube::cluster_view view{dialects()};
    for (const auto& known : some_objects) EXPECT_TRUE(view.upsert(known));
    const auto events = view.book().next_event();
    for (const auto& known : some_objects) EXPECT_FALSE(view.upsert(known));
    auto elsewhere = some_objects[0];
    elsewhere.place = "other.yaml:1";
    EXPECT_FALSE(view.upsert(elsewhere));
    // A device plugin's handshake changes the object, and nothing of the node.
    elsewhere.node->annotations["hami.io/node-handshake"] = "Reported 2026-01-01";
    EXPECT_TRUE(view.upsert(elsewhere));
    EXPECT_EQ(view.book().next_event(), events);
}

TEST(cluster_view, a_pod_waits_for_its_node_and_for_its_return) {
    kube::cluster_view view{dialects()};
    EXPECT_TRUE(view.upsert(object(pod("p", vgpu(1, 3000), "n0", has("A", 3000)))));
    EXPECT_THAT(view.waiting_pods(), ElementsAre("ns/p"));
    EXPECT_EQ(view.book().live_count(), 0U);
    EXPECT_TRUE(view.upsert(object(gpu_node("n0", card("A")))));
    EXPECT_THAT(view.waiting_pods(), IsEmpty());
    EXPECT_EQ(used_on(view, "n0"), 3000);
    EXPECT_TRUE(view.remove_node("n0"));
    EXPECT_FALSE(view.remove_node("n0"));
    EXPECT_EQ(view.book().live_count(), 0U);
    EXPECT_THAT(view.waiting_pods(), ElementsAre("ns/p"));
    // It comes back with another card before the one that is used.
    EXPECT_TRUE(view.upsert(object(gpu_node("n0", card("B") + card("A")))));
    EXPECT_EQ(view.book().devices(view.book().find_node("n0"))[1].memory, mib{3000});
    view.book().check();
}

TEST(cluster_view, cards_that_change_take_their_pods_along) {
    kube::cluster_view view{dialects()};
    view.upsert(object(gpu_node("n0", card("A") + card("B"))));
    view.upsert(object(pod("p", vgpu(1, 3000), "n0", has("A", 3000))));
    EXPECT_TRUE(view.upsert(object(gpu_node("n0", card("B") + card("A", "hami-core", "false")))));
    const node_index where = view.book().find_node("n0");
    EXPECT_EQ(view.book().devices(where)[1].memory, mib{3000}) << "what runs on a failed card counts";
    EXPECT_EQ(view.book().services(where)[1], vgpualloc::service_state::failed);
    EXPECT_TRUE(view.upsert(object(gpu_node("n0", card("B")))));
    EXPECT_EQ(view.book().devices(where).size(), 1U);
    EXPECT_EQ(view.book().live_count(), 1U) << "its host part still counts";
    EXPECT_THAT(view.warnings(), SizeIs(1));
    EXPECT_TRUE(view.upsert(object(gpu_node("n0", card("A") + card("B")))));
    EXPECT_EQ(used_on(view, "n0"), 3000);
    EXPECT_THAT(view.warnings(), IsEmpty());
    EXPECT_THAT(view.devices_of("n0"), SizeIs(2));
    view.book().check();
}

TEST(cluster_view, pods_end_go_and_come_again_under_their_name) {
    kube::cluster_view view{dialects()};
    view.upsert(object(gpu_node("n0", card("A"))));
    const auto runs = object(pod("p", vgpu(1, 3000), "n0", has("A", 3000), "Running"));
    view.upsert(runs);
    const pod_id first = view.id_of("ns/p");
    EXPECT_TRUE(view.upsert(object(pod("p", vgpu(1, 3000), "n0", has("A", 3000), "Succeeded"))));
    EXPECT_EQ(used_on(view, "n0"), 0);
    EXPECT_FALSE(view.id_of("ns/p").valid());
    EXPECT_FALSE(view.remove_pod("ns/p"));
    view.upsert(runs);
    EXPECT_NE(view.id_of("ns/p"), first) << "it is another pod";
    auto recreated = runs;
    recreated.pod->uid = "other";
    const pod_id second = view.id_of("ns/p");
    EXPECT_TRUE(view.upsert(recreated));
    EXPECT_NE(view.id_of("ns/p"), second);
    EXPECT_EQ(used_on(view, "n0"), 3000);
    EXPECT_TRUE(view.remove_pod("ns/p"));
    EXPECT_EQ(used_on(view, "n0"), 0);
}

/// A cluster with one card and one pending pod that a scheduler has reserved 3000 MiB for.
kube::cluster_view with_reservation() {
    kube::cluster_view view{dialects()};
    view.upsert(object(gpu_node("n0", card("A"))));
    view.upsert(object(pod("p", vgpu(1, 3000))));
    const auto waits = view.pod("ns/p");
    EXPECT_TRUE(waits.has_value());
    vgpualloc::booking decided{.owner = view.id_of("ns/p"),
                               .cpu = waits->request.cpu,
                               .memory = waits->request.memory,
                               .where = {.node = view.book().find_node("n0"), .shares = {}},
                               .tags = waits->request.tags};
    decided.where.shares.push_back({.container = 0,
                                    .device = vgpualloc::device_index{0},
                                    .part = vgpualloc::slice{.memory = mib{3000}, .cores = {}}});
    EXPECT_TRUE(view.book().reserve(decided).has_value());
    return view;
}

TEST(cluster_view, a_scheduler_s_booking_stays_until_an_object_says_otherwise) {
    auto view = with_reservation();
    auto waits = object(pod("p", vgpu(1, 3000)));
    waits.pod->labels["seen"] = "yes"; // the object changes while the scheduler binds
    EXPECT_TRUE(view.upsert(waits));
    EXPECT_TRUE(view.book().is_live(view.id_of("ns/p")));
    EXPECT_FALSE(view.book().is_committed(view.id_of("ns/p")));
    const auto events = view.book().next_event();
    EXPECT_TRUE(view.upsert(object(pod("p", vgpu(1, 3000), "n0", has("A", 3000)))));
    EXPECT_TRUE(view.book().is_committed(view.id_of("ns/p"))) << "as decided: the booking is committed";
    EXPECT_EQ(view.book().next_event(), events + 1);
    EXPECT_TRUE(view.remove_pod("ns/p"));
    EXPECT_EQ(used_on(view, "n0"), 0);

    auto other = with_reservation();
    EXPECT_TRUE(other.upsert(object(pod("p", vgpu(1, 3000), "n0", has("A", 4000)))));
    EXPECT_EQ(used_on(other, "n0"), 4000) << "another scheduler gave it more";
    auto gone = with_reservation();
    EXPECT_TRUE(gone.remove_pod("ns/p"));
    EXPECT_EQ(used_on(gone, "n0"), 0);
}

TEST(cluster_view, a_config_map_and_the_pods_say_what_a_node_has) {
    const std::string node =
        "kind: Node\nmetadata:\n  name: npu\n  labels: {accelerator: huawei-Ascend310P, servertype: Ascend310P-8, "
        "node.kubernetes.io/npu.chip.name: 310P3}\n  annotations: {baseDeviceInfos: '{\"Ascend310P-0\":{}}'}\n"
        "status: {capacity: {huawei.com/npu-core: '8'}, allocatable: {huawei.com/npu-core: '8'}}\n";
    const std::string map =
        "kind: ConfigMap\nmetadata: {name: mindx-dl-deviceinfo-npu}\ndata: {DeviceInfoCfg: '{\"DeviceInfo\":"
        "{\"DeviceList\":{\"huawei.com/Ascend310P\":\"Ascend310P-0\"}}}'}\n";
    const std::string runs =
        "kind: Pod\nmetadata: {name: p, namespace: ns, labels: {ring-controller.atlas: ascend-310P}, "
        "annotations: {huawei.com/npu-core: '5-vir02'}}\nspec: {nodeName: npu, containers: [{name: c, resources: "
        "{limits: {huawei.com/npu-core: 2}}}]}\n";
    kube::cluster_view view{dialects()};
    view.upsert(object(node));
    EXPECT_THAT(view.devices_of("npu"), IsEmpty()) << "without the list of chips the node is not valid";
    EXPECT_TRUE(view.upsert(object(map)));
    EXPECT_FALSE(view.upsert(object(map)));
    EXPECT_THAT(view.devices_of("npu"), SizeIs(1));
    view.upsert(object(runs));
    EXPECT_THAT(view.devices_of("npu"), SizeIs(2)) << "a chip that only a pod names counts";
    const auto state = kube::make_snapshot(objects(node + "---\n" + map + "---\n" + runs), dialects());
    EXPECT_EQ(difference(view, *state), "");
    view.remove_pod("ns/p");
    EXPECT_THAT(view.devices_of("npu"), SizeIs(1));
    EXPECT_FALSE(view.remove_config_map("mindx-dl-deviceinfo-npu"));
    EXPECT_FALSE(view.remove_config_map("kube-system/mindx-dl-deviceinfo-npu"));
    EXPECT_TRUE(view.remove_config_map("default/mindx-dl-deviceinfo-npu"));
    EXPECT_THAT(view.devices_of("npu"), IsEmpty());
}

TEST(cluster_view, config_maps_of_one_name_in_two_namespaces_are_two) {
    const std::string node =
        "kind: Node\nmetadata:\n  name: npu\n  labels: {accelerator: huawei-Ascend310P, servertype: Ascend310P-8, "
        "node.kubernetes.io/npu.chip.name: 310P3}\n  annotations: {baseDeviceInfos: "
        "'{\"Ascend310P-0\":{},\"Ascend310P-1\":{},\"Ascend310P-2\":{}}'}\n"
        "status: {capacity: {huawei.com/npu-core: '24'}, allocatable: {huawei.com/npu-core: '24'}}\n";
    const auto map = [](const std::string& ns, const std::string& unhealthy) {
        return "kind: ConfigMap\nmetadata: {name: mindx-dl-deviceinfo-npu, namespace: " + ns +
               "}\ndata: {DeviceInfoCfg: '{\"DeviceInfo\":{\"DeviceList\":{\"huawei.com/Ascend310P\":\"Ascend310P-0\","
               "\"huawei.com/Ascend310P-Unhealthy\":\"" +
               unhealthy + "\"}}}'}\n";
    };
    const auto healthy = [](const kube::cluster_view& view) {
        return std::ranges::count_if(view.devices_of("npu"), [](const auto& chip) { return chip.registered.healthy; });
    };
    const std::string system = map("kube-system", "");
    const std::string other = map("a-team", "Ascend310P-0");
    const std::string later = map("mindx-dl", "Ascend310P-0,Ascend310P-1");
    for (const auto& order : {std::vector{system, other, later}, {later, other, system}, {other, system, later}}) {
        kube::cluster_view view{dialects()};
        std::string all = node;
        view.upsert(object(node));
        for (const std::string& told : order) {
            EXPECT_TRUE(view.upsert(object(told)));
            all += "---\n" + told;
        }
        EXPECT_EQ(healthy(view), 3) << "that of kube-system counts";
        EXPECT_EQ(difference(view, *kube::make_snapshot(objects(all), dialects())), "");
        EXPECT_TRUE(view.remove_config_map("mindx-dl/mindx-dl-deviceinfo-npu"));
        EXPECT_FALSE(view.remove_config_map("mindx-dl/mindx-dl-deviceinfo-npu"));
        EXPECT_EQ(healthy(view), 3) << "the others are still there";
        EXPECT_TRUE(view.remove_config_map("kube-system/mindx-dl-deviceinfo-npu"));
        EXPECT_EQ(healthy(view), 2);
    }
}

TEST(cluster_view, requests_are_read_as_the_nodes_have_it) {
    const auto node = [](const std::string& name, const std::string& cores) {
        return object("kind: Node\nmetadata:\n  name: " + name + "\n  labels: {servertype: Ascend310P-" + cores +
                      "}\nstatus: {capacity: {huawei.com/npu-core: '40'}}\n");
    };
    kube::cluster_view view{dialects()};
    view.upsert(object("kind: Pod\nmetadata: {name: p, namespace: ns, labels: {ring-controller.atlas: ascend-310P}}\n"
                       "spec: {containers: [{name: c, resources: {limits: {huawei.com/npu-core: 40}}}]}\n"));
    const auto chips = [&] { return view.pod("ns/p")->request.containers.at(0).count; };
    EXPECT_EQ(chips(), 5) << "chips of 8, as most are";
    view.upsert(node("n0", "10"));
    EXPECT_EQ(chips(), 4);
    view.upsert(node("n1", "8"));
    EXPECT_TRUE(view.pod("ns/p")->failure.has_value()) << "it may be either";
    view.remove_node("n0");
    EXPECT_EQ(chips(), 5);
    EXPECT_FALSE(view.pod("ns/other").has_value());
}

TEST(cluster_view, a_node_that_cannot_be_kept_is_told_and_its_pods_wait) {
    kube::cluster_view view{dialects()};
    view.upsert(object("kind: Node\nmetadata: {labels: {a: b}}\n"));
    EXPECT_EQ(view.book().nodes().nodes.size(), 0U);
    EXPECT_FALSE(view.warnings().empty());
    EXPECT_TRUE(view.remove_node(""));
    EXPECT_FALSE(view.upsert(object("kind: Service\nmetadata: {name: s}\n")));
}

TEST(cluster_view, a_node_that_no_ledger_takes_any_more_goes_until_it_is_right_again) {
    kube::cluster_view view{dialects()};
    const kube::manifest right = object(gpu_node("n0", card("A")));
    kube::manifest wrong = right;
    wrong.cpu = vgpualloc::milli_cpu{-1};
    view.upsert(right);
    view.upsert(object(pod("p", vgpu(1, 3000), "n0", has("A", 3000))));
    EXPECT_EQ(used_on(view, "n0"), 3000);
    EXPECT_TRUE(view.upsert(wrong));
    EXPECT_FALSE(view.book().find_node("n0").valid()) << "as a snapshot of the same objects has it";
    EXPECT_EQ(view.book().live_count(), 0U);
    ASSERT_THAT(view.warnings(), SizeIs(1));
    EXPECT_EQ(view.warnings()[0].value, "-1");
    EXPECT_TRUE(view.upsert(right));
    EXPECT_EQ(used_on(view, "n0"), 3000);
    EXPECT_THAT(view.warnings(), IsEmpty());
}

/// A node with a card, these labels and these lines at the end of its object.
kube::manifest node_with(const std::string& labels, const std::string& lines = "") {
    std::string text = gpu_node("n0", card("A"));
    return object(text.insert(text.find("  annotations"), "  labels: {" + labels + "}\n") + lines);
}

TEST(cluster_view, labels_taints_cordons_and_readiness_are_events) {
    kube::cluster_view view{dialects()};
    view.upsert(node_with("zone: a"));
    view.upsert(object(pod("p", vgpu(1, 3000), "n0", has("A", 3000))));
    const std::vector<kube::manifest> changes{
        node_with("zone: b"),
        node_with("zone: b, cards: '8'"),
        node_with("zone: b", "spec: {taints: [{key: gpu, effect: NoSchedule}]}\n"),
        node_with("zone: b", "spec: {taints: [{key: gpu, effect: NoExecute}]}\n"),
        node_with("zone: b", "spec: {unschedulable: true}\n"),
        node_with("zone: b", "  conditions: [{type: Ready, status: 'False'}]\n"),
        node_with("zone: b", "  conditions: [{type: Ready, status: Unknown}]\n"),
        node_with("zone: b"),
    };
    for (const kube::manifest& changed : changes) {
        const auto events = view.book().next_event();
        EXPECT_TRUE(view.upsert(changed));
        ASSERT_EQ(view.book().next_event(), events + 1) << "and no pod is booked anew";
        const auto& event = view.book().events().back();
        EXPECT_EQ(event.kind, vgpualloc::ledger_event_kind::node_changed);
        EXPECT_FALSE(view.upsert(changed));
        EXPECT_EQ(view.book().next_event(), events + 1) << "one comparison";
        EXPECT_EQ(used_on(view, "n0"), 3000) << "what is bound stays";
    }
    const std::string ready = "  conditions: [{type: Ready, status: 'True', lastHeartbeatTime: '";
    EXPECT_FALSE(view.upsert(node_with("zone: b", ready + "2026-01-01T00:00:00Z'}]\n"))) << "it was taken for ready";
    EXPECT_FALSE(view.upsert(node_with("zone: b", ready + "2026-01-01T00:00:10Z'}]\n"))) << "a heartbeat says nothing";
    EXPECT_THAT(view.warnings(), IsEmpty());
    view.book().check();
}

TEST(cluster_view, rules_in_every_order_of_the_objects_end_in_the_snapshot) {
    const std::vector<kube::manifest> parts{
        node_with("zone: b", "spec: {unschedulable: true, taints: [{key: gpu, effect: NoSchedule}]}\n"),
        object(pod("p", vgpu(1, 3000), "n0", has("A", 3000)) + "  nodeSelector: {zone: a}\n"),
        object(gpu_node("n1", card("B")) + "  conditions: [{type: Ready, status: Unknown}]\n")};
    const auto state = kube::make_snapshot(parts, dialects());
    ASSERT_TRUE(state.has_value());
    std::vector<std::size_t> order{0, 1, 2};
    do {
        kube::cluster_view view{dialects()};
        for (const std::size_t i : order) EXPECT_TRUE(view.upsert(parts[i]));
        EXPECT_EQ(difference(view, *state), "");
    } while (std::ranges::next_permutation(order).found);
}

TEST(cluster_view, an_allocator_follows_what_a_node_says) {
    kube::cluster_view view{dialects()};
    view.upsert(node_with("zone: a"));
    view.upsert(object(pod("p", vgpu(1, 3000)) + "  nodeSelector: {zone: a}\n  tolerations: [{key: gpu}]\n"));
    vgpualloc::policies::binpack scorer;
    vgpualloc::allocator decider{view.book(), {.node = &scorer, .device = &scorer}};
    const auto request = decider.intern(view.pod("ns/p")->request);
    ASSERT_TRUE(request.has_value());
    const auto code = [&] {
        const auto decided = decider.decide(*request);
        return decided ? rejection_code::none : decided.error().main_code();
    };
    EXPECT_EQ(code(), rejection_code::none);
    view.upsert(node_with("zone: b"));
    EXPECT_EQ(code(), rejection_code::node_selector_differs);
    view.upsert(node_with("zone: a", "spec: {taints: [{key: gpu, effect: NoSchedule}]}\n"));
    EXPECT_EQ(code(), rejection_code::none);
    view.upsert(node_with("zone: a", "spec: {taints: [{key: npu, effect: NoSchedule}]}\n"));
    EXPECT_EQ(code(), rejection_code::taint_not_tolerated);
    view.upsert(node_with("zone: a", "spec: {unschedulable: true}\n"));
    EXPECT_EQ(code(), rejection_code::node_unschedulable);
    view.upsert(node_with("zone: a", "  conditions: [{type: Ready, status: 'False'}]\n"));
    EXPECT_EQ(code(), rejection_code::node_not_ready);
    view.upsert(node_with("zone: a"));
    EXPECT_EQ(code(), rejection_code::none);
}

TEST(cluster_view, what_the_ledger_cannot_count_waits_until_it_can) {
    kube::cluster_view view{dialects()};
    view.upsert(object(gpu_node("n0", card("A"))));
    for (int i = 0; i < 32; ++i) view.upsert(object(pod("p" + std::to_string(i), "memory: 256Pi", "n0")));
    EXPECT_EQ(view.book().live_count(), 31U) << "32 of them have no sum";
    EXPECT_THAT(view.warnings(), SizeIs(1));
    EXPECT_TRUE(view.remove_pod("ns/p3"));
    EXPECT_EQ(view.book().live_count(), 31U);
    EXPECT_TRUE(view.book().is_live(view.id_of("ns/p31")));
    EXPECT_THAT(view.warnings(), IsEmpty());
    view.upsert(object(pod("c", vgpu(1, 3000), "n0", "volcano.sh/vgpu-ids-new: 'A,NVIDIA,3000,2000000:'")));
    EXPECT_TRUE(view.book().is_live(view.id_of("ns/c"))) << "without its device";
    EXPECT_THAT(view.warnings(), SizeIs(1));
    view.book().check();
}

} // namespace
