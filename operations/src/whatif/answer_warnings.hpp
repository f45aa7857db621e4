// Doubts about what a what-if was asked.
#pragma once

#include <vector>

#include "vgpuops/whatif/changes.hpp"

namespace vgpuops::whatif {

/// Added pods under the name of a pod of the cluster: they count beside it.
void warn_of_pods_there(const std::vector<kube::manifest>& objects, const std::vector<kube::manifest>& added,
                        std::vector<error>& warnings);

/// Modes of nodes that are lost, where no node is added that is like them. `after` has the changes; `found_kind` is
/// what the smallest number of nodes is looked for.
void warn_of_lost_modes(const changes& wanted, const std::string& found_kind, const kube::snapshot& after,
                        std::vector<error>& warnings);

} // namespace vgpuops::whatif
