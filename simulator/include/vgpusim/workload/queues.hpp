// Queues and what is guaranteed to them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vgpusim/workload/core_names.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

/// The queue of jobs that name none, where there are queues.
inline constexpr const char* default_queue = "default";

/// Reads a list of queues, YAML or JSON: [{name, guaranteed: {devices, memory_mib, cores_percent}, limit: {…}}].
/// Amounts are whole numbers from 0 to 10^15; those that are not there are not limited. Errors, with file and line: no
/// queue, a name twice, a key that is not known, a limit below what is guaranteed.
[[nodiscard]] expected<std::vector<job_queue>> read_queues(std::string_view text, const std::string& name);

} // namespace vgpusim
