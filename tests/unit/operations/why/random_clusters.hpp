// Random clusters whose pods wait for every sort of reason.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "../clusters.hpp"
#include "vgpualloc/core/rng.hpp"

namespace cluster_test {

/// Nodes of which some are cordoned, tainted or labelled, with pods that run, and `waiting` pods w1, w2, …, of which
/// some have a selector or a gate.
inline std::string random_cluster_with_rules(vgpualloc::rng& random, std::uint64_t waiting) {
    std::string text;
    const std::uint64_t nodes = 1 + random.below(4);
    for (std::uint64_t n = 0; n < nodes; ++n) {
        const int cards = static_cast<int>(1 + random.below(3));
        const std::string name = "n" + std::to_string(n);
        std::string node = card_node(name, cards, random.below(4) == 0 ? "mig" : "hami-core");
        const std::string hostname = "kubernetes.io/hostname: " + name;
        if (random.below(3) == 0) node.replace(node.find(hostname), hostname.size(), hostname + ", pool: dev");
        const std::uint64_t state = random.below(6);
        if (state == 0) node += "spec: {unschedulable: true}\n";
        if (state == 1) node += "spec: {taints: [{key: team, value: dev, effect: NoSchedule}]}\n";
        if (state == 2) {
            node +=
                "spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}\n";
        }
        text += node;
        for (int card = 0; card < cards; ++card) {
            const int memory = static_cast<int>(1000 * (1 + random.below(39)));
            const char* const of_a_job = "ownerReferences: [{kind: Job, name: j, controller: true}],"; // so it may move
            if (random.below(4) > 0) {
                text += running_pod("r" + name + std::to_string(card), name, card, memory, of_a_job);
                text += "status: {phase: Running}\n";
            }
        }
    }
    for (std::uint64_t i = 1; i <= waiting; ++i) {
        pod_extras extras;
        const std::uint64_t rule = random.below(5);
        if (rule == 0) extras.spec = "nodeSelector: {pool: dev},";
        if (rule == 1) extras.spec = "schedulingGates: [{name: example.com/ready}],";
        text += pod_object("w" + std::to_string(i), static_cast<int>(1000 * (1 + random.below(45))), extras);
    }
    return text;
}

/// Nodes of NVIDIA's own plugin: whole GPUs, MIG in two layouts, and GPUs shared by time, of which some are cordoned or
/// tainted, with pods that run, and `waiting` pods w1, w2, … that ask for any of these or for more than there is.
inline std::string random_cluster_of_nvidia(vgpualloc::rng& random, std::uint64_t waiting) {
    struct sort {
        const char* labels;
        const char* offers; ///< of a node with two GPUs
        const char* asks;
    };
    constexpr std::array<sort, 4> sorts{
        {{"nvidia.com/mig.strategy: mixed, nvidia.com/mig.config: all-disabled", "nvidia.com/gpu: '2'",
          "nvidia.com/gpu"},
         {"nvidia.com/mig.strategy: mixed, nvidia.com/mig.config: all-balanced",
          "nvidia.com/mig-1g.10gb: '4', nvidia.com/mig-2g.20gb: '2', nvidia.com/mig-3g.40gb: '2'",
          "nvidia.com/mig-3g.40gb"},
         {"nvidia.com/mig.strategy: mixed, nvidia.com/mig.config: all-1g.10gb", "nvidia.com/mig-1g.10gb: '14'",
          "nvidia.com/mig-1g.10gb"},
         {"nvidia.com/gpu.replicas: '4', nvidia.com/gpu.sharing-strategy: time-slicing", "nvidia.com/gpu: '8'",
          "nvidia.com/gpu"}}};
    const auto pod = [](const std::string& name, const std::string& asks, std::uint64_t count, std::uint64_t cpu,
                        const std::string& spec) {
        return "---\nkind: Pod\nmetadata: {name: " + name + ", namespace: ns}\nspec: {" + spec +
               " containers: [{name: main, image: i, resources: {requests: {cpu: '" + std::to_string(cpu) +
               "'}, limits: {" + asks + ": " + std::to_string(count) + "}}}]}\n";
    };
    std::string text;
    const std::uint64_t nodes = 1 + random.below(4);
    for (std::uint64_t n = 0; n < nodes; ++n) {
        const sort& own = sorts[random.below(sorts.size())];
        const std::string name = "n" + std::to_string(n);
        const std::string pool = random.below(3) == 0 ? ", pool: dev" : "";
        const std::uint64_t closed = random.below(5);
        std::string spec;
        if (closed == 0) spec = "spec: {unschedulable: true}\n";
        if (closed == 1) spec = "spec: {taints: [{key: team, value: dev, effect: NoSchedule}]}\n";
        text += "---\nkind: Node\nmetadata: {name: " + name + ", labels: {kubernetes.io/hostname: " + name + pool +
                ", nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB, nvidia.com/gpu.count: '2', "
                "nvidia.com/gpu.memory: '81920', " +
                own.labels + "}}\n" + spec + "status: {allocatable: {cpu: '16', memory: 64Gi, pods: '110', " +
                own.offers + "}}\n";
        for (std::uint64_t runs = random.below(3); runs > 0; --runs) {
            text += pod("r" + name + std::to_string(runs), own.asks, 1, 1 + random.below(8), "nodeName: " + name + ",");
            text += "status: {phase: Running}\n";
        }
    }
    for (std::uint64_t i = 1; i <= waiting; ++i) {
        const std::string selector = random.below(4) == 0 ? "nodeSelector: {pool: dev}," : "";
        text += pod("w" + std::to_string(i), sorts[random.below(sorts.size())].asks, 1 + random.below(3),
                    1 + random.below(18), selector);
    }
    return text;
}

} // namespace cluster_test
