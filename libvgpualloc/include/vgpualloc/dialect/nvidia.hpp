// The nvidia dialect: whole GPUs and MIG instances as NVIDIA's own device plugin offers them. Nodes say how many there
// are in allocatable, GPU feature discovery labels say what they are, and the kubelet chooses which of them a pod gets.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/dialect/dialect.hpp"

namespace vgpualloc::dialects::nvidia {

/// What pods ask for whole GPUs with. HAMi's pods name it too, so dialect hami reads it where both are configured.
inline constexpr const char* gpu_resource = "nvidia.com/gpu";
/// Families: whole GPUs have that of the other dialects of NVIDIA's GPUs, every other resource is a family of its own.
inline constexpr std::string_view gpu_family = "NVIDIA";
/// The sharing modes of these devices (mode/all.hpp): of those that a container has for itself, and of those whose
/// labels say that containers take turns.
inline constexpr const char* mode_name = "exclusive";
inline constexpr const char* time_slicing_mode_name = "time_slicing";

struct options {
    bool reads_gpu = false; ///< this dialect reads gpu_resource in pods, because no other one does
    /// Where the memory of GPUs is looked up that no label says; not null. The one that is built in has no owner.
    std::shared_ptr<const mig_catalog> catalog{std::shared_ptr<void>{}, &built_in_mig_catalog()};
};

/// The dialect with these options. What its functions do beside what dialect.hpp says of them:
///
/// - read_node: one device for each unit of nvidia.com/gpu, nvidia.com/gpu.shared and nvidia.com/mig-<profile> that the
///   node has allocatable, and a device that is not healthy for each that it has only as capacity. None for
///   nvidia.com/gpu where HAMi, Volcano or CCE say what the node's GPUs are. Their uuids are
///   "<node>/<word>/<position>", with the resource without its domain as word. Model and memory are those of labels
///   nvidia.com/gpu.product and .memory, and of an instance nvidia.com/mig-<profile>.product and .memory; a
///   GPU without it has what the catalog knows of its model, any other device 1 MiB, which nobody asks for. Where
///   labels nvidia.com/gpu.sharing-strategy and .replicas say time-slicing, and the units are a multiple of the
///   replicas, a device is a GPU with so many slots. Other time-slicing, MPS and the strategy `single` of MIG are
///   warnings, as a unit of nvidia.com/gpu is then no GPU of its own.
/// - requests, read_pod: whether, and how many units of one of these resources containers name, as kube-scheduler
///   counts them: an entry for each container and sidecar, and one for what init containers that end need beyond that.
/// - read_assignment, write_assignment: nothing, as no annotation says which device it is (assigned_by_kubelet).
[[nodiscard]] std::shared_ptr<const dialect> make(options configured);

/// This dialect reads nvidia.com/gpu where the device configuration has HAMi's pods ask by another name.
[[nodiscard]] options options_of(const dialect_config& config);

inline constexpr dialect_entry list_entry = make_dialect_entry<make, options_of>(
    "nvidia", "NVIDIA's own device plugin: whole GPUs (nvidia.com/gpu) and MIG instances (nvidia.com/mig-1g.5gb)");

} // namespace vgpualloc::dialects::nvidia
