// Clusters of Kubernetes objects for tests of snapshots and what-ifs.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "vgpualloc/kube/snapshot.hpp"

namespace cluster_test {

namespace kube = vgpualloc::kube;

/// How many random clusters a test draws of `all`: an eighth with sanitizers, where each takes ten times as long.
constexpr int clusters_to_draw(int all) {
#if defined(__SANITIZE_ADDRESS__)
    return all / 8;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    return all / 8;
#else
    return all;
#endif
#else
    return all;
#endif
}

/// A node with cards of 40,960 MiB in the words of dialect volcano_vgpu, GPU-<name>-0, ….
inline std::string card_node(const std::string& name, int cards, const std::string& mode = "hami-core") {
    std::string registered;
    for (int i = 0; i < cards; ++i) {
        registered += "GPU-" + name + "-" + std::to_string(i) + ",10,40960,NVIDIA A100-SXM4-40GB,true," + mode + ":";
    }
    return "---\nkind: Node\nmetadata:\n  name: " + name + "\n  labels: {kubernetes.io/hostname: " + name +
           "}\n  annotations:\n    volcano.sh/node-vgpu-register: '" + registered +
           "'\nstatus:\n  allocatable: {cpu: '16', memory: 64Gi, pods: '110', volcano.sh/vgpu-number: '" +
           std::to_string(10 * cards) + "', volcano.sh/vgpu-memory: '" + std::to_string(40960 * cards) +
           "', volcano.sh/vgpu-cores: '" + std::to_string(100 * cards) + "'}\n";
}

/// What stands besides in a pod's metadata and in its specification, in flow style and with a comma at the end.
struct pod_extras {
    std::string annotations{};
    std::string metadata{};
    std::string spec{};
};

inline std::string pod_object(const std::string& name, int memory, const pod_extras& extras = {}) {
    return "---\nkind: Pod\nmetadata: {" + extras.metadata + " name: " + name + ", namespace: ns, annotations: {" +
           extras.annotations + "}}\nspec: {" + extras.spec +
           " containers: [{name: main, image: secret/image, resources: {limits: {volcano.sh/vgpu-number: 1, "
           "volcano.sh/vgpu-memory: " +
           std::to_string(memory) + "}}}]}\n";
}

inline const std::string controlled = "ownerReferences: [{kind: ReplicaSet, name: set, uid: s, controller: true}],";

/// A pod that has a slice of card `card` of a card_node(), and that is made again once it is evicted.
inline std::string running_pod(const std::string& name, const std::string& node, int card, int memory,
                               const std::string& metadata = controlled) {
    return pod_object(name, memory,
                      {.annotations = "volcano.sh/vgpu-ids-new: '" + ("GPU-" + node + "-" + std::to_string(card)) +
                                      ",NVIDIA," + std::to_string(memory) + ",0:'",
                       .metadata = metadata,
                       .spec = "nodeName: " + node + ","});
}

inline std::vector<kube::manifest> objects(const std::string& yaml) {
    auto read = kube::read_manifests(yaml, "f.yaml");
    EXPECT_TRUE(read.has_value()) << read.error().message();
    return read ? *std::move(read) : std::vector<kube::manifest>{};
}

inline kube::snapshot snapshot_of(const std::string& yaml) {
    auto state = kube::make_snapshot(objects(yaml), {});
    EXPECT_TRUE(state.has_value()) << state.error().message();
    return state ? *std::move(state) : kube::snapshot{};
}

} // namespace cluster_test
