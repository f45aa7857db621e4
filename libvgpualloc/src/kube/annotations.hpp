// The annotations that carry a decision from a scheduler to the device plugin.
#pragma once

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/model/placement.hpp"

namespace vgpusim {

/// What the component that serves the pod's dialect would write on the pod for `made`, a placement on a node of the
/// snapshot; "<time>" stands for the time. None for a pod that has no device. Error mismatch if a device is registered
/// in another dialect than the pod's: that component does not know it.
[[nodiscard]] vgpualloc::expected<vgpualloc::kubernetes::text_map>
annotations_of(const snapshot& in, const snapshot_pod& pod, const vgpualloc::placement& made);

} // namespace vgpusim
