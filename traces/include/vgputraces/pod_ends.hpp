// When pods end that run as a run begins, where somebody knows it (docs/workload.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpuformats/list_content.hpp"
#include "vgputraces/core_names.hpp"

namespace vgputraces {

struct pod_end {
    std::string pod; ///< namespace/name
    std::uint32_t line = 0;
    std::optional<ticks> end; ///< after the run has begun; absent: it stays

    bool operator==(const pod_end&) const = default;
};

/// Reads CSV or JSONL with the columns pod and end (seconds from 0 to 10^12; empty: the pod stays), in the order of the
/// text. Errors have `name`, line and column: as of read_arrivals(), and the same pod in two rows.
[[nodiscard]] expected<std::vector<pod_end>> read_pod_ends(const vgpuformats::list_content& content,
                                                           const std::string& name);

} // namespace vgputraces
