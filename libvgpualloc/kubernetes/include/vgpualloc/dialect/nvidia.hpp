// The nvidia dialect: whole GPUs and MIG instances as NVIDIA's own device plugin offers them. Nodes say how many there
// are in allocatable, GPU feature discovery labels say what they are, and the kubelet chooses which of them a pod gets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/dialect/dialect.hpp"

namespace vgpualloc::dialects::nvidia {

/// What pods ask for whole GPUs with. HAMi's pods name it too, so dialect hami reads it where some node registers GPUs
/// with HAMi.
inline constexpr const char* gpu_resource = "nvidia.com/gpu";
/// Families: whole GPUs, and GPUs of which nvidia.com/gpu counts parts, have that of the other dialects of NVIDIA's
/// GPUs; GPUs whose MIG instances are counted by profile (strategy mixed) are a family of their own, and so is every
/// other resource.
inline constexpr std::string_view gpu_family = "NVIDIA";
inline constexpr std::string_view mig_family = "nvidia.com/mig";

struct resource_replicas {
    std::string resource{}; ///< as it is called before renameByDefault changes it
    std::int64_t replicas = 1;

    bool operator==(const resource_replicas&) const = default;
};

/// How the device plugin's configuration has GPUs or MIG instances shared (sharing.timeSlicing or sharing.mps).
struct configured_sharing {
    std::vector<resource_replicas> resources{}; ///< each once
    bool by_mps = false;

    bool operator==(const configured_sharing&) const = default;
};

struct options {
    bool reads_gpu = false; ///< this dialect reads gpu_resource in pods, whatever else they name
    /// It reads gpu_resource in pods that name none of hami_amounts, because no node registers GPUs with HAMi.
    bool reads_whole_gpus = false;
    std::vector<std::string> hami_amounts{}; ///< resources with which pods ask HAMi for parts of GPUs
    /// Some node offers gpu_resource in units that several may be had of on one GPU, so that what a container asks for
    /// is one entry for each unit.
    bool counts_units = false;
    /// How the device plugin gives out replicas and MIG instances (flags.plugin.sharedDevicesAllocationPolicy).
    unit_order allocation = unit_order::distributed;
    /// It turns away containers that ask for several replicas of time-sliced devices
    /// (sharing.timeSlicing.failRequestsGreaterThanOne).
    bool one_replica_only = false;
    /// Of nodes whose labels do not say how their GPUs are shared.
    configured_sharing sharing{};
    /// Where models are looked up; not null. The one that is built in has no owner.
    std::shared_ptr<const mig_catalog> catalog{std::shared_ptr<void>{}, &built_in_mig_catalog()};
};

/// Whether a unit of nvidia.com/gpu is less than a GPU on this node, and this dialect the one that reads it: a replica,
/// or a MIG instance. `configured`: of nodes whose labels do not say how their GPUs are shared.
[[nodiscard]] bool offers_gpus_in_units(const kubernetes::node& node, const configured_sharing& configured);

/// The dialect with these options. What its functions do beside what dialect.hpp says of them:
///
/// - read_node: the physical GPUs behind nvidia.com/gpu, nvidia.com/gpu.shared and nvidia.com/mig-<profile>, as labels
/// of
///   GPU feature discovery say what their units are: whole GPUs (mode exclusive), replicas of time-slicing or MPS (a
///   GPU with so many slots, where the units are a multiple of nvidia.com/gpu.replicas), or MIG instances (mode mig
///   with one geometry group, dealt to GPUs by deal_instances()). Where those labels are missing, labels of GKE,
///   Karpenter and EKS say it (nvidia_labels.hpp), and how units are shared the plugin's configuration. None for
///   nvidia.com/gpu where HAMi, Volcano or CCE say what the node's GPUs are. Where the plugin registers no unit and a
///   label counts GPUs, these are there and not healthy. What the node has as capacity and not as allocatable is not
///   healthy; instances that are missing are those of whole GPUs, the last first, and then single ones, which are left
///   out. Uuids are
///   "<node>/<word>/<position>", with the resource without its domain as word, and "mig" for instances by profile.
///   Memory is that of the label of whole GPUs, or of the catalog, or 1 MiB, which nobody asks for. A warning says what
///   of the labels and amounts does not go together.
/// - requests, read_pod: whether, and how many units of one of these resources containers name, as kube-scheduler
///   counts them: an entry for each container and sidecar, and one for what init containers that end need beyond that;
///   of units that may share a GPU, an entry for each unit (device_request::units).
/// - trait_of, for_traits: whether a node registers GPUs with HAMi, or offers them in units (offers_gpus_in_units());
///   where none does the former, this dialect reads gpu_resource.
/// - read_assignment, write_assignment: nothing, as no annotation says which device it is (assigned_by_kubelet).
[[nodiscard]] std::shared_ptr<const dialect> make(options configured);

/// What the device plugin's configuration says. This dialect reads nvidia.com/gpu where the device configuration has
/// HAMi's pods ask by another name.
[[nodiscard]] options options_of(const dialect_config& config);

inline constexpr dialect_entry list_entry = make_dialect_entry<make, options_of>(
    "nvidia", "NVIDIA's own device plugin: whole GPUs (nvidia.com/gpu) and MIG instances (nvidia.com/mig-1g.5gb)");

} // namespace vgpualloc::dialects::nvidia
