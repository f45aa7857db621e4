// Any order of node, pod and ConfigMap events ends in the ledger that a snapshot of the objects that are left makes.
#include "vgpualloc/kube/cluster_view.hpp"

#include <map>
#include <string>
#include <vector>

#include "support.hpp"
#include "unit/kube/views.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/snapshot.hpp"

namespace vgpualloc::property {
namespace {

constexpr std::int64_t nodes_max = 3;
constexpr std::int64_t pods_max = 6;

std::string name_of_node(std::int64_t number) { return "n" + std::to_string(number); }

/// Cards of volcano_vgpu in some order, some of them cut by MIG, unhealthy or smaller; and chips of mindcluster. Some
/// nodes have labels and taints, are cordoned or not ready.
kube::manifest draw_node(const std::string& name) {
    kube::manifest object;
    object.kind = "Node";
    object.name = name;
    object.cpu = milli_cpu{1000 * number(1, 4)};
    object.memory = to_bytes(mib{1024 * number(1, 4)});
    kubernetes::node node;
    node.name = name;
    node.allocatable["pods"] = std::to_string(number(2, 6));
    std::string& cards = node.annotations["volcano.sh/node-vgpu-register"];
    for (std::int64_t i = number(0, 3); i > 0; --i) {
        const std::string uuid = name + "-" + std::to_string((i + number(0, 1)) % 4);
        if (cards.find(uuid) != std::string::npos) continue;
        cards += uuid + ",4," + std::to_string(10240 * number(1, 2)) + ",NVIDIA A100," +
                 (number(0, 3) > 0 ? "true" : "false") + "," + (number(0, 2) > 0 ? "hami-core" : "mig") + ":";
    }
    for (const char* resource : {"volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores"}) {
        node.allocatable[resource] = "10";
    }
    if (number(0, 2) > 0) {
        const std::string cores = number(0, 1) == 0 ? "8" : "10";
        node.labels = {{"accelerator", "huawei-Ascend310P"},
                       {"servertype", "Ascend310P-" + cores},
                       {"node.kubernetes.io/npu.chip.name", "310P3"}};
        node.annotations["baseDeviceInfos"] = R"({"Ascend310P-0":{},"Ascend310P-1":{}})";
        node.capacity["huawei.com/npu-core"] = cores;
        node.allocatable["huawei.com/npu-core"] = cores;
    }
    if (number(0, 1) == 0) node.labels["zone"] = number(0, 1) == 0 ? "a" : "b";
    object.node = std::move(node);
    if (number(0, 3) == 0) object.host.taints.push_back({.key = number(0, 1) == 0 ? "gpu" : "npu"});
    object.host.unschedulable = number(0, 4) == 0;
    object.host.ready = number(0, 4) > 0;
    return object;
}

kube::manifest draw_config_map(const std::string& node, const std::string& ns) {
    kube::manifest object;
    object.kind = "ConfigMap";
    object.name = "mindx-dl-deviceinfo-" + node;
    object.ns = ns;
    const std::string unhealthy = number(0, 1) == 0 ? "Ascend310P-1" : "";
    object.data["DeviceInfoCfg"] =
        R"({"DeviceInfo":{"DeviceList":{"huawei.com/Ascend310P":"Ascend310P-0,Ascend310P-1",)"
        R"("huawei.com/Ascend310P-Unhealthy":")" +
        unhealthy + R"("}}})";
    return object;
}

/// A pod that waits, is bound, is being bound or has ended, with the device that its annotation says.
kube::manifest draw_pod(const std::string& name) {
    kube::manifest object;
    object.kind = "Pod";
    object.name = name;
    object.ns = "ns";
    object.cpu = milli_cpu{500 * number(0, 2)};
    object.memory = to_bytes(mib{256 * number(0, 2)});
    const std::string node = name_of_node(number(0, nodes_max - 1));
    kubernetes::pod pod;
    pod.name = name;
    pod.ns = "ns";
    if (number(0, 5) == 0) pod.uid = "again";
    if (number(0, 2) == 0) pod.annotations["scheduling.k8s.io/group-name"] = "group";
    kubernetes::amount_map limits;
    if (number(0, 1) > 0) {
        limits = {{"volcano.sh/vgpu-number", 1}, {"volcano.sh/vgpu-memory", 1024 * number(1, 6)}};
        const std::string uuid = node + "-" + std::to_string(number(0, 3));
        pod.annotations["volcano.sh/vgpu-ids-new"] =
            uuid + (number(0, 3) == 0 ? "[all-" + std::to_string(number(0, 7)) + "]" : "") + ",NVIDIA," +
            std::to_string(1024 * number(1, 6)) + ",0:";
    } else {
        limits = {{"huawei.com/npu-core", 2}};
        pod.labels["ring-controller.atlas"] = "ascend-310P";
        pod.annotations["huawei.com/npu-core"] = std::to_string(number(0, 3)) + (number(0, 1) == 0 ? "-vir02" : "");
        if (number(0, 1) == 0) pod.annotations["huawei.com/AscendReal"] = "Ascend310P-2c-100-0_0";
    }
    pod.containers.push_back({.name = "c", .limits = limits, .requests = limits});
    switch (number(0, 4)) {
    case 0:
        break;
    case 1:
        pod.annotations["volcano.sh/vgpu-node"] = node;
        if (number(0, 1) == 0) pod.annotations["volcano.sh/bind-phase"] = "failed";
        break;
    default:
        object.node_name = node;
    }
    if (number(0, 5) == 0) object.phase = "Succeeded";
    if (number(0, 3) == 0) object.rules.node_selector = {{"zone", "a"}}; // which a pod that is bound need not meet
    object.pod = std::move(pod);
    return object;
}

dialect_set dialects_with_geometry() {
    dialect_config config = make_dialect_config();
    config.devices.vgpu.geometries = {
        {.models = {"A100"}, .groups = {{.name = "all", .kinds = {{.name = "1g", .memory = mib{2560}, .count = 7}}}}}};
    return dialect_set{std::move(config)};
}

using known_objects = std::map<std::string, kube::manifest>; ///< by kind and name

/// One event, told to the view and noted in what is known.
void step(kube::cluster_view& view, known_objects& known) {
    const std::int64_t kind = number(0, 9);
    const bool removes = number(0, 4) == 0;
    const std::string node = name_of_node(number(0, nodes_max - 1));
    if (kind < 2) {
        if (removes) {
            RC_ASSERT(view.remove_node(node) == (known.erase("node " + node) > 0));
            return;
        }
        const auto object = draw_node(node);
        view.upsert(object);
        known["node " + node] = object;
        RC_ASSERT(!view.upsert(object));
    } else if (kind < 4) {
        const std::string ns = number(0, 1) == 0 ? "kube-system" : "a-namespace";
        if (removes) {
            RC_ASSERT(view.remove_config_map(ns + "/mindx-dl-deviceinfo-" + node) ==
                      (known.erase("map " + ns + " " + node) > 0));
            return;
        }
        const auto object = draw_config_map(node, ns);
        view.upsert(object);
        known["map " + ns + " " + node] = object;
    } else {
        const std::string name = "p" + std::to_string(number(0, pods_max - 1));
        if (removes) {
            view.remove_pod("ns/" + name);
            known.erase("pod " + name);
            return;
        }
        const auto object = draw_pod(name);
        view.upsert(object);
        known["pod " + name] = object;
    }
}

std::vector<kube::manifest> listed(const known_objects& known) {
    std::vector<kube::manifest> objects;
    for (const auto& [key, object] : known) objects.push_back(object);
    return objects;
}

TEST(cluster_view_property, any_order_of_events_ends_in_the_same_ledger) {
    const dialect_set dialects = dialects_with_geometry();
    std::int64_t compared = 0;
    std::int64_t with_devices = 0;
    hold("view = snapshot of what is left", [&] {
        kube::cluster_view view{dialects};
        known_objects known;
        for (std::int64_t steps = number(1, 40); steps > 0; --steps) step(view, known);
        view.book().check();
        const auto objects = listed(known);
        const auto state = kube::make_snapshot(objects, dialects);
        if (!state) { // no node
            RC_ASSERT(view.book().live_count() == 0U);
            return;
        }
        RC_ASSERT(kube_test::difference(view, *state) == "");
        RC_ASSERT(kube_test::difference(view, view.to_snapshot()) == "");
        kube::cluster_view reread = view.read_as(dialects);
        RC_ASSERT(kube_test::difference(reread, *state) == "");
        // The same objects again, each once, in another order.
        kube::cluster_view again{dialects};
        auto shuffled = objects;
        rng{static_cast<std::uint64_t>(number(0, 1 << 20))}.shuffle(shuffled);
        for (const auto& object : shuffled) again.upsert(object);
        RC_ASSERT(kube_test::difference(again, *state) == "");
        ++compared;
        for (const auto& bound : state->bound) {
            const auto id = view.id_of(bound.pod.full_name());
            with_devices += view.book().booking_of(id).where.shares.empty() ? 0 : 1;
        }
    });
    EXPECT_GT(compared, 0);
    EXPECT_GT(with_devices, 0) << "the property is about nothing if no pod has a device";
}

} // namespace
} // namespace vgpualloc::property
