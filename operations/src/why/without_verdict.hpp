// Pods and owners that nothing keeps waiting.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/why/pod.hpp"

namespace vgpuops::why {

/// The answer about the one pod of that name that has ended or is bound to a node that is not there, or about the one
/// owner of that name that has no pods; none: the name is of no such one, or of several. Owners that are held back are
/// not looked for.
[[nodiscard]] std::optional<pod_answer> about_one_without_verdict(const kube::snapshot& state,
                                                                  const std::vector<kube::manifest>& objects,
                                                                  const std::string& name);

} // namespace vgpuops::why
