// Names of owners of pods.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/show/overview.hpp"

namespace vgpuops::why {

/// Names of all that made pods with devices, with their namespaces, ascending and each once.
[[nodiscard]] std::vector<std::string> owners_of_pods(const kube::snapshot& state,
                                                      const std::vector<kube::manifest>& objects);

/// The one owner of that name, with or without its namespace, that a quota or a queue keeps from making pods.
[[nodiscard]] std::optional<show::held_job>
held_owner(const kube::snapshot& state, const std::vector<kube::manifest>& objects, const std::string& name);

} // namespace vgpuops::why
