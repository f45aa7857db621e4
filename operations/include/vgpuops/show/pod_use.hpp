// What pods have of the GPUs of a cluster, and what those that wait would have, in milli-GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::show {

/// What every bound pod has, by pod_id; nothing of those on nodes that were taken out. What is used of a device is
/// divided among its pods by what each would use of it alone, so that the sum over pods is what is used of all devices.
[[nodiscard]] std::vector<std::int64_t> used_by_pods(const kube::snapshot& state);

/// What one pod of a request would use on the devices of the cluster on which that is least. Only nodes count that the
/// pod's rules admit, if they were ready and not cordoned; if none of them has such a device, also those whose taints
/// it does not tolerate; then all nodes. Where no device could serve it, every unit of the request counts as a GPU.
[[nodiscard]] std::int64_t asked_by(const kube::snapshot& state, const vgpualloc::pod_request& request);

/// Whether what is idle of the right kind would do for one pod of a request if it were in one place. Only devices in
/// service count, on nodes that are ready, not cordoned and admitted by the pod's rules. A device counts by how much of
/// the pod it could serve: two of ten replicas of one GPU, and two whole GPUs, are each enough for a pod that asks for
/// two units.
[[nodiscard]] bool is_enough_in_sum(const kube::snapshot& state, const vgpualloc::pod_request& request);

} // namespace vgpuops::show
