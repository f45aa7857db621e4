// Random clusters whose pods wait for every sort of reason.
#pragma once

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

} // namespace cluster_test
