// Names of owners of pods.
#pragma once

#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"

namespace vgpuops::why {

/// Names of all that made pods with devices, with their namespaces, ascending and each once.
[[nodiscard]] std::vector<std::string> owners_of_pods(const kube::snapshot& state,
                                                      const std::vector<kube::manifest>& objects);

} // namespace vgpuops::why
