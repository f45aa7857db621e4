// What labels say of the GPUs of a node: those of GPU feature discovery, and those of clouds where they are missing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/nvidia.hpp"

namespace vgpualloc::dialects::nvidia {

/// A product label without what feature discovery puts behind the GPU's name.
[[nodiscard]] std::string_view gpu_of(std::string_view product);

/// The MIG profile behind a product label; empty: it names whole GPUs.
[[nodiscard]] std::string profile_of(std::string_view product);

/// Labels by the words of feature discovery ("product", "count", "memory", "replicas", "sharing-strategy"). Each of
/// these that the node does not have comes from the labels of its cloud:
///
/// - GKE: cloud.google.com/gke-accelerator, gke-accelerator-count, gke-gpu-partition-size, gke-gpu-sharing-strategy and
///   gke-max-shared-clients-per-gpu;
/// - Karpenter and EKS Auto Mode: instance-gpu-name, -count, -memory and -manufacturer, and sku-gpu-name, -count and
///   -manufacturer of karpenter.azure.com;
/// - k8s.amazonaws.com/accelerator, where it names a GPU that is known.
class gpu_labels {
public:
    gpu_labels(const kubernetes::node& node, const mig_catalog& catalog);

    /// Of the devices of a resource; `word` may be another one too, which no cloud has. Empty: nothing says it.
    [[nodiscard]] const std::string& of(const std::string& resource, std::string_view word) const;
    [[nodiscard]] std::optional<std::int64_t> number_of(const std::string& resource, std::string_view word,
                                                        std::int64_t most) const;
    /// The label that says it.
    [[nodiscard]] std::string name_of(const std::string& resource, std::string_view word) const;

    /// Whether labels or the name say that several units share a device.
    [[nodiscard]] bool says_shared(const std::string& resource) const;
    /// Whether labels say how units share devices, be it that they do not.
    [[nodiscard]] bool says_how_shared(const std::string& resource) const;
    /// Its plugin is that of GKE, which gives a container one replica.
    [[nodiscard]] bool is_of_gke() const;

private:
    /// What a label of the cloud says, in the words of feature discovery.
    struct cloud_label {
        std::string value{};
        std::string name{}; ///< the cloud's own
    };

    void read_gke(const mig_catalog& catalog);
    void read_instance(const std::string& prefix);
    void read_accelerator();
    void set(const std::string& word, std::string value, const std::string& name);
    [[nodiscard]] const cloud_label* of_cloud(const std::string& resource, std::string_view word) const;
    [[nodiscard]] const std::string& own(const std::string& name) const;

    const kubernetes::node* node_;
    std::map<std::string, cloud_label, std::less<>> cloud_{}; ///< by word, of nvidia.com/gpu
};

} // namespace vgpualloc::dialects::nvidia
