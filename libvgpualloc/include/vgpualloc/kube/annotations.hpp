// The annotations that carry a decision from a scheduler to the device plugin.
#pragma once

#include <string>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/model/placement.hpp"

namespace vgpualloc::kube {

/// What the component that serves the pod's dialect would write on the pod for `decided`, a placement on a node of the
/// snapshot. `time` is in the unit that the dialect documents. None for a pod that has no device. Error mismatch if a
/// device is registered in another dialect than the pod's: that component does not know it.
[[nodiscard]] expected<kubernetes::text_map> annotations_of(const snapshot& state, const snapshot_pod& pod,
                                                            const placement& decided, const std::string& time);

} // namespace vgpualloc::kube
