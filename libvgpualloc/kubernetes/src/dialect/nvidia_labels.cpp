// Labels of nodes with NVIDIA's GPUs.
#include "nvidia_labels.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "nvidia_boards.hpp"
#include "nvidia_parts.hpp"
#include "text.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::dialects::nvidia {

namespace {

using kubernetes::value_of;

/// Source: cloud.google.com/kubernetes-engine/docs, "GPUs in GKE", "Run multi-instance GPUs", "GPU sharing strategies".
constexpr const char* gke_model = "cloud.google.com/gke-accelerator";
constexpr const char* gke_count = "cloud.google.com/gke-accelerator-count";
constexpr const char* gke_partition = "cloud.google.com/gke-gpu-partition-size";
constexpr const char* gke_strategy = "cloud.google.com/gke-gpu-sharing-strategy";
constexpr const char* gke_clients = "cloud.google.com/gke-max-shared-clients-per-gpu";

/// Source: karpenter.sh/docs/concepts/scheduling, "Well-Known Labels", and the labels of EKS Auto Mode; those of Azure:
/// learn.microsoft.com/azure/aks, "Node auto-provisioning". Memory is of one GPU, in MiB.
constexpr std::array<const char*, 3> instance_prefixes{
    "karpenter.k8s.aws/instance-gpu-", "eks.amazonaws.com/instance-gpu-", "karpenter.azure.com/sku-gpu-"};
/// By hand, as guides and the cluster autoscaler of AWS have it: "nvidia-tesla-v100", but also "true".
constexpr const char* eks_accelerator = "k8s.amazonaws.com/accelerator";

/// How clouds call a GPU, in lower case and without "nvidia-" and "tesla-", and how its driver does. Where boards of
/// one name differ, `memory_mib_least` of their memory tells them apart.
struct cloud_name {
    std::string_view written;
    std::string_view product;
    std::int64_t memory_mib_least = 0;
};
/// Of equal names the one with the most memory comes first.
constexpr auto cloud_names = std::to_array<cloud_name>({
    {"k80", "Tesla-K80"},
    {"m60", "Tesla-M60"},
    {"p4", "Tesla-P4"},
    {"p100", "Tesla-P100-PCIE-16GB"},
    {"v100", "Tesla-V100-SXM2-32GB", 30000},
    {"v100", "Tesla-V100-SXM2-16GB"},
    {"t4", "Tesla-T4"},
    {"t4g", "NVIDIA-T4G"},
    {"a10", "NVIDIA-A10"},
    {"a10g", "NVIDIA-A10G"},
    {"a100", "NVIDIA-A100-SXM4-80GB", 80000},
    {"a100", "NVIDIA-A100-SXM4-40GB", 40000},
    {"a100", "NVIDIA-A100"},
    {"a100-80gb", "NVIDIA-A100-SXM4-80GB"},
    {"l4", "NVIDIA-L4"},
    {"l40s", "NVIDIA-L40S"},
    {"h100", "NVIDIA-H100-80GB-HBM3"},
    {"h100-80gb", "NVIDIA-H100-80GB-HBM3"},
    {"h100-mega-80gb", "NVIDIA-H100-80GB-HBM3"},
    {"h200", "NVIDIA-H200"},
    {"h200-141gb", "NVIDIA-H200"},
    {"b200", "NVIDIA-B200"},
    {"b300", "NVIDIA-B300"},
    {"gb200", "NVIDIA-GB200"},
    {"gb300", "NVIDIA-GB300"},
    {"rtx-pro-6000", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"},
});

std::string in_lower_case(std::string_view written) {
    std::string result{written};
    std::ranges::transform(result, result.begin(), [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    });
    return result;
}

/// As the driver calls it; empty: no such GPU is known.
std::string product_of(std::string_view written, std::int64_t memory_mib) {
    const std::string lower = in_lower_case(written);
    std::string_view name = lower;
    for (const std::string_view vendor : {"nvidia-", "tesla-"}) {
        if (name.starts_with(vendor)) name.remove_prefix(vendor.size());
    }
    const auto at = std::ranges::find_if(cloud_names, [&](const cloud_name& entry) {
        return entry.written == name && memory_mib >= entry.memory_mib_least;
    });
    return at == cloud_names.end() ? std::string{} : std::string{at->product};
}

bool is_of_another_vendor(std::string_view manufacturer) {
    return !manufacturer.empty() && in_lower_case(manufacturer) != "nvidia";
}

} // namespace

std::string_view gpu_of(std::string_view product) {
    if (product.ends_with(shared_ending)) product.remove_suffix(shared_ending.size());
    return product.substr(0, product.find(mig_words));
}

std::string profile_of(std::string_view product) {
    if (product.ends_with(shared_ending)) product.remove_suffix(shared_ending.size());
    const std::size_t at = product.find(mig_words);
    return at == std::string_view::npos ? std::string{} : profile_of_words(product.substr(at + mig_words.size()));
}

gpu_labels::gpu_labels(const kubernetes::node& node, const mig_catalog& catalog) : node_{&node} {
    if (is_of_gke()) read_gke(catalog);
    for (const char* const prefix : instance_prefixes) {
        if (node.labels.contains(std::string{prefix} + "count") || node.labels.contains(std::string{prefix} + "name")) {
            read_instance(prefix);
        }
    }
    read_accelerator();
}

const std::string& gpu_labels::own(const std::string& name) const { return value_of(node_->labels, name); }

bool gpu_labels::is_of_gke() const {
    // Where GKE's own plugin is off, another one says what the GPUs are.
    constexpr const char* no_plugin = "cloud.google.com/gke-no-default-nvidia-gpu-device-plugin";
    return own(gke_model).starts_with("nvidia-") && own(no_plugin) != "true";
}

void gpu_labels::set(const std::string& word, std::string value, const std::string& name) {
    if (value.empty()) return;
    cloud_.try_emplace(word, cloud_label{.value = std::move(value), .name = name});
}

void gpu_labels::read_gke(const mig_catalog& catalog) {
    // NVIDIA's A100 there is the one of 40 GB, whose label has no memory; the larger one is nvidia-a100-80gb.
    constexpr std::int64_t a100_mib = 40960;
    const std::string& written = own(gke_model);
    const std::string known = product_of(written, written == "nvidia-tesla-a100" ? a100_mib : 0);
    std::string product = known.empty() ? written : known;
    const std::string& partition = own(gke_partition);
    std::int64_t parts = 1;
    if (!partition.empty()) {
        const auto model = find_model(catalog, product);
        parts = instances_per_board(model ? *model : nullptr, profile_of_words(partition));
        product += std::string{mig_words} + partition;
    }
    set("product", std::move(product), gke_model);
    // Feature discovery counts instances where GPUs are cut into them.
    const auto gpus = text::whole_number(own(gke_count), devices_per_node_max);
    set("count", gpus ? std::to_string(*gpus * parts) : own(gke_count), gke_count); // a warning tells what is no number
    const auto clients = text::whole_number(own(gke_clients), devices_per_node_max);
    if (clients && *clients <= 1) return;
    set("replicas", clients ? std::to_string(*clients) : own(gke_clients), gke_clients);
    if (!clients) return;
    set("sharing-strategy", own(gke_strategy) == "mps" ? "mps" : "time-slicing", gke_strategy);
}

void gpu_labels::read_instance(const std::string& prefix) {
    if (is_of_another_vendor(own(prefix + "manufacturer"))) return;
    const std::string& memory = own(prefix + "memory");
    const auto memory_mib = text::whole_number(memory, device_memory_max.count());
    const std::string& written = own(prefix + "name");
    const std::string known = product_of(written, memory_mib.value_or(0));
    set("product", known.empty() ? written : known, prefix + "name");
    if (text::whole_number(own(prefix + "count"), devices_per_node_max)) {
        set("count", own(prefix + "count"), prefix + "count");
    }
    if (memory_mib) set("memory", memory, prefix + "memory");
}

void gpu_labels::read_accelerator() { set("product", product_of(own(eks_accelerator), 0), eks_accelerator); }

const gpu_labels::cloud_label* gpu_labels::of_cloud(const std::string& resource, std::string_view word) const {
    if (cloud_.empty() || stem_of(resource) != gpu_resource) return nullptr;
    // Where feature discovery says how GPUs are cut or shared, it is of the whole node.
    const bool is_of_sharing = word == "replicas" || word == "sharing-strategy";
    if (is_of_sharing &&
        (!own(stem_of(resource) + ".replicas").empty() || !own(stem_of(resource) + ".sharing-strategy").empty())) {
        return nullptr;
    }
    // The memory of an instance is not that of its GPU.
    if (word == "memory" && !profile_of(own(stem_of(resource) + ".product")).empty()) return nullptr;
    const auto at = cloud_.find(word);
    return at == cloud_.end() ? nullptr : &at->second;
}

const std::string& gpu_labels::of(const std::string& resource, std::string_view word) const {
    const std::string& labelled = own(stem_of(resource) + "." + std::string{word});
    if (!labelled.empty()) return labelled;
    const cloud_label* const of_the_cloud = of_cloud(resource, word);
    return of_the_cloud == nullptr ? labelled : of_the_cloud->value;
}

std::optional<std::int64_t> gpu_labels::number_of(const std::string& resource, std::string_view word,
                                                  std::int64_t most) const {
    return text::whole_number(of(resource, word), most);
}

std::string gpu_labels::name_of(const std::string& resource, std::string_view word) const {
    const std::string name = stem_of(resource) + "." + std::string{word};
    const cloud_label* const of_the_cloud = own(name).empty() ? of_cloud(resource, word) : nullptr;
    return of_the_cloud == nullptr ? name : of_the_cloud->name;
}

bool gpu_labels::says_shared(const std::string& resource) const {
    const std::string& strategy = of(resource, "sharing-strategy");
    return of(resource, "product").ends_with(shared_ending) || resource.ends_with(renamed_ending) ||
           strategy == "mps" || strategy == "time-slicing";
}

bool gpu_labels::says_how_shared(const std::string& resource) const {
    return is_of_gke() || !of(resource, "sharing-strategy").empty() || !of(resource, "replicas").empty() ||
           of(resource, "product").ends_with(shared_ending);
}

} // namespace vgpualloc::dialects::nvidia
