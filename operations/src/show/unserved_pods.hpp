// Pods that wait and that no scheduler of the cluster would place, whatever is free.
#pragma once

#include <optional>

#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"

namespace vgpuops::show {

/// Why no scheduler would place the pod: its request cannot be read, it names a resource by a wrong name, or
/// spec.schedulerName is not the scheduler that alone serves its dialect.
[[nodiscard]] std::optional<error> why_unserved(const kube::snapshot& state, const kube::snapshot_pod& pod);

/// Gives the pods that wait why_unserved() as their failure.
void refuse_unserved(kube::snapshot& state);

} // namespace vgpuops::show
