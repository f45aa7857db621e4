// What pods have of the GPUs of a cluster, and what those that wait would have, in milli-GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::show {

/// What every bound pod has, by pod_id; nothing of those on nodes that were taken out. What is used of a device is
/// divided among its pods by what each would use of it alone, so that the sum over pods is what is used of all devices.
[[nodiscard]] std::vector<std::int64_t> used_by_pods(const kube::snapshot& state);

/// What one pod of a request would use on the devices of the cluster on which that is least; of units that are asked
/// for by number alone (nvidia.com/gpu, which may be GPUs or replicas), on which it is most. Only nodes count that the
/// pod's rules admit, if they were ready and not cordoned, and that could serve it if they were empty; if there is
/// none, all that they admit, then also those whose taints it does not tolerate, then all nodes. Where no device could
/// serve it, every unit of the request counts as a GPU.
[[nodiscard]] std::int64_t asked_by(const kube::snapshot& state, const vgpualloc::pod_request& request);

/// Whether two containers ask for the same devices, in whatever number.
[[nodiscard]] bool are_alike(vgpualloc::device_request left, const vgpualloc::device_request& right);
/// The devices that a pod asks for, alike ones of all its containers together.
[[nodiscard]] std::vector<vgpualloc::device_request> asked_devices(const vgpualloc::pod_request& request);

/// How many more of such devices a node has for pods, whatever its host has left; none where it has no such devices, or
/// offers some of them in other amounts than units.
[[nodiscard]] std::optional<std::int64_t> free_units(const kube::snapshot& state, node_index where,
                                                     vgpualloc::device_request request);

/// What is idle of the kind that a pod asks for, all nodes together.
struct idle_in_sum {
    bool is_enough = false;              ///< for one such pod, if it were in one place
    std::optional<std::int64_t> units{}; ///< free; only where the pod asks for one kind, and that is offered in units
};

/// Only devices in service count, on nodes that are ready, not cordoned and admitted by the pod's rules. A device
/// counts by how much of the pod it could serve: two of ten replicas of one GPU, and two whole GPUs, are each enough
/// for a pod that asks for two units.
[[nodiscard]] idle_in_sum idle_for_one(const kube::snapshot& state, const vgpualloc::pod_request& request);

} // namespace vgpuops::show
