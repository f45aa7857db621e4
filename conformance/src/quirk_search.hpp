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
    explanation why = explanation::none;      ///< filled in
    std::vector<volcano::quirk> explained_by; ///< filled in; empty unless `why` is explanation::quirks
};

inline constexpr std::size_t explaining_quirks_max = 3;

/// What a side decides in the first `count` events of a case.
template <class Side>
[[nodiscard]] std::vector<outcome> outcomes_of(Side&& side, const std::vector<recorded_event>& events,
                                               std::size_t count) {
    std::vector<outcome> outcomes;
    for (std::size_t i = 0; i < count; ++i) outcomes.push_back(side.step(events[i]));
    return outcomes;
}

/// Finds for every event the smallest set of quirks, of equally small ones the first in their order, with which
/// switched off compat decides as native did. Decisions within a session build on each other, so that more and more
/// quirks add up; an event that no small set explains is still explained if compat without any quirk decides as native
/// did (`without_quirks`, by event). Events are those that compat with all its quirks decides as recorded; of others
/// there is nothing to explain, as the recording is not upstream's.
void explain(const recorded_case& recorded, const std::vector<outcome>& without_quirks,
             std::vector<unlike_event>& unlike);

} // namespace vgpuconformance
