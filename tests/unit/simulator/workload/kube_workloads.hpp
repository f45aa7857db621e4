// Nodes and classes of pods as Kubernetes objects, for the tests of workloads made of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "vgpualloc/kube/snapshot.hpp"
#include "vgpusim/workload/kubernetes.hpp"
#include "vgpusim/workload/pod_classes.hpp"
#include "vgputraces/arrivals.hpp"

namespace vgpusim_test {

inline std::vector<vgpualloc::kube::manifest> manifests(const std::string& yaml) {
    auto read = vgpualloc::kube::read_manifests(yaml, "f.yaml");
    EXPECT_TRUE(read.has_value()) << read.error().message();
    return read ? *std::move(read) : std::vector<vgpualloc::kube::manifest>{};
}

/// A node with so many GPUs of Volcano's, of 32,768 MiB and ten containers each.
inline std::string vgpu_node(const std::string& name, int gpus) {
    std::string cards;
    for (int i = 0; i < gpus; ++i) {
        cards += "GPU-" + name + std::to_string(i) + ",10,32768,NVIDIA-Tesla V100-SXM2-32GB,true,hami-core:";
    }
    return "---\nkind: Node\nmetadata:\n  name: " + name + "\n  annotations:\n    volcano.sh/node-vgpu-register: '" +
           cards +
           "'\nstatus:\n  allocatable: {cpu: '64', memory: 256Gi, pods: '110', volcano.sh/vgpu-number: '10', "
           "volcano.sh/vgpu-memory: '10', volcano.sh/vgpu-cores: '10'}\n";
}

/// What goes into `spec` of a pod that asks for so many GPUs, and of each for so much memory.
inline std::string vgpu_spec(int gpus, int memory_mib) {
    return "{containers: [{name: main, resources: {limits: {cpu: 1, volcano.sh/vgpu-number: " + std::to_string(gpus) +
           ", volcano.sh/vgpu-memory: " + std::to_string(memory_mib) + "}}}]}";
}

inline std::string pod_object(const std::string& name, const std::string& spec) {
    return "---\nkind: Pod\nmetadata: {name: " + name + "}\nspec: " + spec + "\n";
}

inline vgpualloc::kube::snapshot empty_cluster(const std::string& yaml) {
    auto state = vgpusim::make_empty_cluster(manifests(yaml), vgpualloc::dialect_set{}, "f.yaml");
    EXPECT_TRUE(state.has_value()) << state.error().message();
    return state ? *std::move(state) : vgpualloc::kube::snapshot{};
}

inline vgpualloc::expected<std::vector<vgpusim::pod_class>> classes_of(const std::string& yaml) {
    return vgpusim::read_pod_classes(manifests(yaml), vgpualloc::dialect_set{}, "f.yaml");
}

} // namespace vgpusim_test
