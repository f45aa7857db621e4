// Inputs that are long enough for a call to be stopped in the midst of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "vgpuformats/column_table.hpp"

namespace facade_test {

/// Nodes of seven kinds.
inline std::string long_node_list(std::size_t nodes) {
    constexpr const char* models[] = {"T4", "V100M16", "V100M32", "P100", "G2", "G3", "A10"};
    std::string text = "sn,cpu_milli,memory_mib,gpu,model\n";
    for (std::size_t n = 0; n < nodes; ++n) {
        text += fmt::format("node-{},{},393216,{},{}\n", n, 64000 + n % 3 * 32000, 2U << n % 3, models[n % 7]);
    }
    return text;
}

/// Pods of 151 kinds, that come and go.
inline std::string long_pod_list(std::size_t pods, std::size_t nodes) {
    std::string text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n";
    for (std::size_t p = 0; p < pods; ++p) {
        const std::size_t draw = p * 2654435761U % 151;
        const bool is_whole = draw % 10 == 0;
        const std::size_t arrival = p * 2000 / nodes;
        text += fmt::format("pod-{},{},{},{},{},{},{}\n", p, 1000 + draw % 13 * 500, 4096 + draw % 5 * 2048,
                            is_whole ? 1U << draw % 3 : 1U, is_whole ? 1000 : 10 * (1 + draw % 97), arrival,
                            arrival + 3000 + draw * 50);
    }
    return text;
}

/// The same kind of pods as columns.
class long_pod_columns {
public:
    long_pod_columns(std::size_t pods, std::size_t nodes) {
        offsets_.push_back(0);
        for (std::size_t p = 0; p < pods; ++p) {
            const auto draw = static_cast<std::int64_t>(p * 2654435761U % 151);
            const auto arrival = static_cast<std::int64_t>(p * 2000 / nodes);
            names_ += fmt::format("pod-{}", p);
            offsets_.push_back(static_cast<std::int64_t>(names_.size()));
            cpu_.push_back(1000 + draw % 13 * 500);
            memory_.push_back(4096 + draw % 5 * 2048);
            gpus_.push_back(1);
            milli_.push_back(10 * (1 + draw % 97));
            created_.push_back(arrival);
            deleted_.push_back(arrival + 3000 + draw * 50);
        }
        table_.columns.push_back(
            {.name = "name", .cells = vgpuformats::joined_texts{.offsets = offsets_, .bytes = names_}});
        const auto add = [this](const char* name, const std::vector<std::int64_t>& cells) {
            table_.columns.push_back({.name = name, .cells = std::span{cells}});
        };
        add("cpu_milli", cpu_);
        add("memory_mib", memory_);
        add("num_gpu", gpus_);
        add("gpu_milli", milli_);
        add("creation_time", created_);
        add("deletion_time", deleted_);
    }
    [[nodiscard]] const vgpuformats::column_table& table() const { return table_; }

private:
    std::string names_;
    std::vector<std::int64_t> offsets_, cpu_, memory_, gpus_, milli_, created_, deleted_;
    vgpuformats::column_table table_;
};

/// A Node object with eight GPUs that pods share.
inline std::string node_object(std::size_t n) {
    std::string devices;
    for (int d = 0; d < 8; ++d) {
        devices += fmt::format("GPU-{}-{},10,40960,NVIDIA A100-SXM4-40GB,true,hami-core:", n, d);
    }
    return fmt::format(R"(  {{"apiVersion": "v1", "kind": "Node",
   "metadata": {{"name": "node-{}", "labels": {{"pool": "p{}"}}, "annotations": {{"volcano.sh/node-vgpu-register": "{}"}}}},
   "status": {{"allocatable": {{"cpu": "64", "memory": "512Gi", "pods": "250", "volcano.sh/vgpu-number": "80", "volcano.sh/vgpu-memory": "327680", "volcano.sh/vgpu-cores": "800"}},
              "conditions": [{{"type": "Ready", "status": "True"}}]}}}})",
                       n, n % 5, devices);
}

/// A Pod that asks for so much memory of a GPU. Without a node it waits.
inline std::string pod_object(std::size_t p, std::size_t memory_mib, const std::string& node, const std::string& gpu) {
    const std::string runs =
        node.empty()
            ? std::string{}
            : fmt::format(R"("annotations": {{"volcano.sh/vgpu-ids-new": "{},NVIDIA,{},5:"}}, )", gpu, memory_mib);
    return fmt::format(R"(  {{"apiVersion": "v1", "kind": "Pod",
   "metadata": {{"name": "pod-{0}", "namespace": "team", {1}"ownerReferences": [{{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": true}}]}},
   "spec": {{"schedulerName": "volcano"{2}, "containers": [{{"name": "main", "resources": {{"limits": {{"cpu": "1", "memory": "1Gi", "volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "{3}", "volcano.sh/vgpu-cores": "5"}}}}}}]}},
   "status": {{"phase": "{4}"}}}})",
                       p, runs, node.empty() ? "" : fmt::format(R"(, "nodeName": "{}")", node), memory_mib,
                       node.empty() ? "Pending" : "Running");
}

/// What `kubectl get nodes,pods -o json` prints: six pods that run on every node, and pods that wait.
inline std::string cluster_objects(std::size_t nodes, std::size_t waiting) {
    std::string text = "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n";
    for (std::size_t n = 0; n < nodes; ++n) text += (n == 0 ? "" : ",\n") + node_object(n);
    for (std::size_t p = 0; p < nodes * 6; ++p) {
        const std::size_t node = p % nodes;
        text += ",\n" + pod_object(p, 4096 + p % 7 * 4096, fmt::format("node-{}", node),
                                   fmt::format("GPU-{}-{}", node, p / nodes + p % 3));
    }
    for (std::size_t p = 0; p < waiting; ++p) {
        text += ",\n" + pod_object(nodes * 6 + p, 8192 + p % 61 * 512, "", "");
    }
    return text + "\n]}\n";
}

/// Nodes alone.
inline std::string node_objects(std::size_t nodes) {
    std::string text = "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n";
    for (std::size_t n = 0; n < nodes; ++n) text += (n == 0 ? "" : ",\n") + node_object(n);
    return text + "\n]}\n";
}

/// Pods that wait, as documents of YAML in block style.
inline std::string pods_in_yaml(std::size_t pods) {
    std::string text;
    for (std::size_t p = 0; p < pods; ++p) {
        text +=
            fmt::format("---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: pod-{}\n  namespace: team\nspec:\n"
                        "  containers:\n  - name: main\n    resources:\n      limits:\n        cpu: \"1\"\n"
                        "        memory: 1Gi\n        volcano.sh/vgpu-number: 1\n        volcano.sh/vgpu-memory: {}\n",
                        p, 8192 + p % 61 * 512);
    }
    return text;
}

/// Forty classes of pods, and a table of arrivals of them.
inline std::string class_objects() {
    std::string text;
    for (int c = 0; c < 40; ++c) {
        text += fmt::format(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: class-{0}}}\nspec:\n  schedulerName: volcano\n"
            "  containers:\n  - name: main\n    resources: {{limits: {{cpu: \"1\", memory: 1Gi, "
            "volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: {1}, volcano.sh/vgpu-cores: 5}}}}\n",
            c, 2048 + c * 512);
    }
    return text;
}
inline std::string arrival_table(std::size_t pods) {
    std::string text = "name,class,arrival,duration\n";
    for (std::size_t p = 0; p < pods; ++p) {
        text += fmt::format("pod-{},class-{},{},{}\n", p, p * 7 % 40, p, 500 + p * 31 % 4000);
    }
    return text;
}

} // namespace facade_test
