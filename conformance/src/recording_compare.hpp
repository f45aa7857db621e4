// Where a decision of the model differs from a recorded one.
#pragma once

#include <optional>

#include "recording.hpp"
#include "vgpuconformance/conformance.hpp"

namespace vgpuconformance {

/// The first place in which two values say something else, in the order of the recording; case and event are left to
/// the caller. A member that says nothing is like one that is absent, and 1 is 1.0.
[[nodiscard]] std::optional<event_difference> first_difference(const document& recorded, const document& decided);

} // namespace vgpuconformance
