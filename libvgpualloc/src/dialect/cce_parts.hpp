// The cce dialect: what its sources share.
#pragma once

#include <optional>

#include "vgpualloc/dialect/cce.hpp"

namespace vgpualloc::dialect::cce {

/// Whether the container's limits or requests name one of the resources.
[[nodiscard]] inline bool asks(const kubernetes::container& in, const options& with) {
    return in.limits.contains(with.memory_name) || in.limits.contains(with.cores_name) ||
           in.requests.contains(with.memory_name) || in.requests.contains(with.cores_name);
}

} // namespace vgpualloc::dialect::cce
