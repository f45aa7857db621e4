// Whether quirks of upstream explain that native decides otherwise: compat with a few of them switched off does too.
// This is a tool for tests and for reading recordings: it replays a case once for every set of quirks that it tries, so
// it stays here and out of the allocation library.
#pragma once

#include <cstddef>
#include <vector>

#include "outcome.hpp"
#include "vgpualloc/compat/volcano/quirks.hpp"

namespace vgpuconformance {

/// One event of a case that native decided otherwise than recorded.
struct unlike_event {
    std::size_t event = 0;
    outcome decided;
    std::vector<volcano::quirk> explained_by; ///< filled in; empty = nothing explains it
};

inline constexpr std::size_t explaining_quirks_max = 3;

/// Finds for every event the smallest set of quirks, of equally small ones the first in their order, with which
/// switched off compat decides as native did. Decisions within a session build on each other, so that more and more
/// quirks add up; an event that no small set explains is looked at again on the recorded footing, where only its own
/// quirks count.
void explain(const recorded_case& recorded, std::vector<unlike_event>& unlike);

} // namespace vgpuconformance
