// What of a cluster's objects Kubernetes decides by and an explanation did not look at.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "vgpualloc/explain/answers.hpp"

namespace vgpualloc::explaining {

/// One sentence for each thing that is there and was not looked at, in a fixed order; none for what is not there.
/// `explained` has its nodes. `by_its_scheduler`: who asks schedules the pod, whatever spec.schedulerName says.
[[nodiscard]] std::vector<std::string> not_considered(const kube::snapshot& state, const explanation& explained,
                                                      bool by_its_scheduler = false);

/// The same of an answer about several pods that exist, so that quotas and limit ranges have admitted them. What is of
/// pods names them.
[[nodiscard]] std::vector<std::string> not_considered(const kube::snapshot& state,
                                                      std::span<const kube::snapshot_pod* const> pods);

} // namespace vgpualloc::explaining
