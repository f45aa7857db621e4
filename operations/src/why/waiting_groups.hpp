// Groups of the pods of a snapshot that wait.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/why/waiting.hpp"

namespace vgpuops::why {

/// Without owners that make no pods; of pods whose full names `is_wanted` takes, empty: of all. The ledger is as
/// before. Error: stopped.
[[nodiscard]] expected<waiting_answer> groups_of_waiting(kube::snapshot& state,
                                                         const std::vector<kube::manifest>& objects,
                                                         const stop_signal& stop,
                                                         const std::function<bool(const std::string&)>& is_wanted = {});

} // namespace vgpuops::why
