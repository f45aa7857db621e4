// The hami dialect: NVIDIA GPUs as HAMi's scheduler, webhook and device plugin spell them
// (docs/dialects/hami.md). Memory is in MiB, cores in percent of a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/dialect/dialect.hpp"
#include "vgpualloc/dialect/nvidia.hpp"

namespace vgpualloc::dialects::hami {

inline constexpr std::string_view family = "NVIDIA";

/// Node annotation with the node's GPUs.
inline constexpr const char* register_annotation = "hami.io/node-nvidia-register";

/// The MIG profiles that a cluster allows on GPUs of some models.
struct mig_allowed {
    std::vector<std::string> models; ///< parts of a GPU's type, one must occur (case counts)
    std::vector<std::string> profiles;

    bool operator==(const mig_allowed&) const = default;
};

/// The names and defaults of HAMi's device configuration (section `nvidia`).
struct options {
    std::string count_name = "nvidia.com/gpu";
    std::string memory_name = "nvidia.com/gpumem";
    std::string memory_percentage_name = "nvidia.com/gpumem-percentage";
    std::string cores_name = "nvidia.com/gpucores";
    std::int64_t memory_factor = 1; ///< MiB per unit of memory_name, 1 to 2^20
    mib memory_default{};           ///< where neither memory nor percentage is given; 0 = all of the GPU
    core_percent cores_default{};
    std::int64_t count_default = 1; ///< where only memory, percentage or cores are given
    /// Pods are as written by people: what HAMi's webhook adds at admission (count_default, and cores 100 for a whole
    /// GPU) is added on reading. It adds nothing to a pod that has passed the webhook.
    bool admission = true;
    /// Some node of NVIDIA's own plugin offers count_name in units that several may be had of on one GPU, so that what
    /// a container asks for is an entry for each unit. Only with counted_by_kubernetes.
    bool counts_units = false;
    /// No node registers GPUs with HAMi: kube-scheduler counts those that pods ask for by count_name alone. (Where that
    /// is NVIDIA's own name for them, dialect nvidia reads such pods.)
    bool counted_by_kubernetes = false;
    /// Of the configuration of NVIDIA's own plugin: which of its nodes offer units.
    nvidia::configured_sharing plugin_sharing{};
    /// HAMi's device plugin registers what the first entry that names a GPU's type allows. Where a node does not say
    /// its profiles, the catalog's are cut down to the same; empty: they are not.
    std::vector<mig_allowed> mig_allowlist{};
    /// Where the models of GPUs in mode mig are looked up; not null. The one that is built in needs no owner.
    std::shared_ptr<const mig_catalog> catalog{std::shared_ptr<void>{}, &built_in_mig_catalog()};

    bool operator==(const options&) const = default;
};

/// The dialect with these options. What its functions do beside what dialect.hpp says of them:
///
/// - read_node: the GPUs in the order of register_annotation, which is JSON or, of older plugins,
///   text. GPUs of hami.io/device-cordon take no new pods, nor do those of a node that HAMi's scheduler has marked
///   "Deleted" in hami.io/node-handshake. A GPU that cannot be read is left out and a problem, as is
///   one of mode mig that neither says its profiles nor is allowed any.
/// - requests: whether a container's limits name one of the resources, or requests the count; init containers count.
///   With counted_by_kubernetes, not if all that a pod names is nvidia::gpu_resource.
/// - read_pod: a container that asks for 0 GPUs has no entry. Sidecars have an entry each; an init container that ends
///   before the others raises one of their entries where it asks for more. Memory wins over percentage, cores above 100
///   are 100. With counted_by_kubernetes, a pod that asks for whole GPUs asks for as many as kube-scheduler counts: an
///   entry for each container and sidecar, and one for what init containers need beyond. Errors: out_of_range for
///   amounts, unknown_name and unsupported for nvidia.com/vgpu-mode.
/// - trait_of, for_traits: whether a node registers GPUs with HAMi, or offers them in units
///   (nvidia::offers_gpus_in_units); where none does the former, Kubernetes counts.
/// - read_assignment: by annotations hami.io/vgpu-devices-allocated and hami.io/vgpu-mig-allocations. What init
///   containers have beyond the others counts until they have ended (pod::initialized).
/// - write_assignment: the time is in seconds of Unix time; every share is a slice, or a mig_instance of the GPU's
/// model
///   (model_of, with options::catalog).
[[nodiscard]] std::shared_ptr<const dialect> make(options configured);

/// Resources with which pods ask for parts of GPUs.
[[nodiscard]] std::vector<std::string> amount_names(const options& configured);

/// As HAMi's device configuration has it, with the catalog of the configuration.
[[nodiscard]] options options_of(const dialect_config& config);

inline constexpr dialect_entry list_entry = make_dialect_entry<make, options_of>(
    "hami", "NVIDIA GPUs as HAMi: nvidia.com/gpu, gpumem, gpumem-percentage, gpucores");

} // namespace vgpualloc::dialects::hami
