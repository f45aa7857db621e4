// What nodes, devices and requests are called in tables: pools, kinds, shapes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::show {

/// What is shown for a model or an amount that no object says.
inline constexpr std::string_view unknown_word = "unknown";

/// A model without the words of its vendor and of how the board is built: "NVIDIA-A100-SXM4-80GB" is "A100-80GB",
/// "Tesla-T4-SHARED" is "T4". One without a name is unknown_word.
[[nodiscard]] std::string short_model(std::string_view whole_name);

/// Names of models in one cluster: short where no other model of the cluster is shortened to the same, else in full.
class model_names {
public:
    /// NVIDIA's plugin adds -SHARED to the name of a board that is time-sliced.
    void add(const std::string& model);
    [[nodiscard]] std::string name_of(const std::string& model) const;

private:
    std::map<std::string, std::set<std::string>> models_; ///< by short name
};

/// Labels by which nodes are in pools; the first that a node has counts.
inline constexpr std::array<std::string_view, 6> pool_labels{
    "cloud.google.com/gke-nodepool",  "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool", "agentpool",
    "karpenter.sh/nodepool",          "pool"};
/// Of a node, the value of the first of these labels that it has: of GKE, EKS, AKS and Karpenter, and `pool`; empty:
/// it has none.
[[nodiscard]] std::string pool_of(const vgpualloc::node& node);

/// How a device is shared: "whole", "hami-core", "mig all-balanced", "time-slicing x4". A layout is what the operator
/// calls it (label nvidia.com/mig.config), else the instances that a GPU is cut into, if that is said.
[[nodiscard]] std::string sharing_name(const vgpualloc::node& node, const kube::snapshot_device& device);

/// What a pod asks for of devices: "4 gpu", "32768 MiB, 60 cores, L40S"; empty: nothing.
[[nodiscard]] std::string devices_name(const vgpualloc::pod_request& request);

/// What a pod asks for and by which rules, as one line of a table has it: "4 gpu, 48 cpu",
/// "32768 MiB, 60 cores, L40S, 4 cpu", "1 gpu, 2 cpu, pool=dev".
[[nodiscard]] std::string shape_name(const kube::snapshot_pod& pod);

/// The rules of a shape: node selector, required affinity, tolerations but for those that Kubernetes itself adds.
[[nodiscard]] std::vector<std::string> shape_rules(const vgpualloc::pod_request& request);

/// 48000 is "48", 500 is "0.5".
[[nodiscard]] std::string thousandths(std::int64_t amount);

/// Milli-GPU in words: "1 GPU", "0.5 GPUs", "4 GPUs".
[[nodiscard]] std::string gpu_words(std::int64_t milli);

/// Host memory, where it is what tells two shapes apart: "192 GiB", "500 MiB".
[[nodiscard]] std::string host_memory_words(vgpualloc::bytes memory);

/// Names that differ in the number at their end only, which follow one another: "a100-[1-3]", or one name.
struct folded_name {
    std::string text{};
    std::size_t names = 1;
};
[[nodiscard]] std::vector<folded_name> fold(const std::vector<std::string>& names);

/// Names with numbers that follow one another are folded: "a100-[1-3], t4-1". Of more than `pieces_max` pieces the
/// first are named, and how many names follow. `names` are ascending.
[[nodiscard]] std::string folded_names(const std::vector<std::string>& names, std::size_t pieces_max);

} // namespace vgpuops::show
