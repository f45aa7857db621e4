// Why a placement on a node cannot go on: what all ways of choosing devices answer.
#pragma once

#include <cstdint>

#include "vgpualloc/model/rejection.hpp"

namespace vgpualloc {

/// The reason why a container gets no further device: `already` are those it has, `reasons` the answers of those that
/// the pod has not taken. Without an answer they are all taken.
[[nodiscard]] inline rejection_code step_refusal(const rejection& reasons, std::int64_t already) {
    const rejection_code code = reasons.main_code();
    return already > 0 || code == rejection_code::no_nodes ? rejection_code::too_few_devices : code;
}

} // namespace vgpualloc
