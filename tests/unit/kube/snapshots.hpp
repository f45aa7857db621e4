// Clusters of Kubernetes objects for tests of what stands on a snapshot.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "vgpualloc/kube/snapshot.hpp"

namespace kube_test {

namespace kube = vgpualloc::kube;

inline constexpr const char* a100 = "NVIDIA A100-SXM4-40GB";

/// A node with cards in the words of the volcano_vgpu dialect: `cards` is "uuid,count,memory,type,health,mode:".
inline std::string gpu_node(const std::string& name, const std::string& cards, const std::string& pods_max = "110") {
    return "---\nkind: Node\nmetadata:\n  name: " + name + "\n  annotations:\n    volcano.sh/node-vgpu-register: '" +
           cards + "'\nstatus:\n  allocatable: {cpu: '16', memory: 64Gi, pods: '" + pods_max +
           "', volcano.sh/vgpu-number: '10', volcano.sh/vgpu-memory: '10', volcano.sh/vgpu-cores: '10'}\n";
}

inline std::string card(const std::string& uuid, const std::string& mode = "hami-core",
                        const std::string& health = "true") {
    return uuid + ",10,40960," + a100 + "," + health + "," + mode + ":";
}

/// The arguments are in flow style; `node` empty: the pod waits.
inline std::string pod(const std::string& name, const std::string& limits, const std::string& node = "",
                       const std::string& annotations = "", const std::string& phase = "") {
    std::string text = "---\nkind: Pod\nmetadata:\n  name: " + name + "\n  namespace: ns\n  annotations: {" +
                       annotations + "}\nspec:\n";
    if (!node.empty()) text += "  nodeName: " + node + "\n";
    text += "  containers:\n  - name: main\n    resources: {limits: {" + limits + "}}\n";
    return phase.empty() ? text : text + "status: {phase: " + phase + "}\n";
}

inline std::string vgpu(int count, int memory, int cores = 0) {
    return "volcano.sh/vgpu-number: " + std::to_string(count) + ", volcano.sh/vgpu-memory: " + std::to_string(memory) +
           (cores > 0 ? ", volcano.sh/vgpu-cores: " + std::to_string(cores) : "");
}

/// The names of the components, and the first geometry groups of an A100.
inline vgpualloc::dialect_set dialects() {
    auto config = vgpualloc::make_dialect_config();
    using vgpualloc::mib;
    config.devices.vgpu.geometries = {
        {.models = {"A100"},
         .groups = {{.name = "group1", .kinds = {{.name = "1g.5gb", .memory = mib{5120}, .count = 7}}},
                    {.name = "group2",
                     .kinds = {{.name = "2g.10gb", .memory = mib{10240}, .count = 3},
                               {.name = "1g.5gb", .memory = mib{5120}, .count = 1}}}}}};
    return vgpualloc::dialect_set{std::move(config)};
}

inline std::vector<kube::manifest> objects(const std::string& yaml) {
    auto read = kube::read_manifests(yaml, "f.yaml");
    EXPECT_TRUE(read.has_value()) << read.error().message();
    return read ? *std::move(read) : std::vector<kube::manifest>{};
}

inline kube::snapshot snapshot_of(const std::string& yaml, const vgpualloc::dialect_set& spoken = dialects()) {
    auto state = kube::make_snapshot(objects(yaml), spoken);
    EXPECT_TRUE(state.has_value()) << state.error().message();
    return state ? *std::move(state) : kube::snapshot{};
}

} // namespace kube_test
