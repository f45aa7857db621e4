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

} // namespace vgpuops::show
