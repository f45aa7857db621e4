// Whether quirks of upstream explain that native decides otherwise: compat with a few of them switched off does too.
#pragma once

#include <string>
#include <vector>

#include "native.hpp"
#include "outcome.hpp"
#include "vgpualloc/compat/volcano/quirks.hpp"

namespace vgpusim::conformance {

/// The model of Volcano with some quirks switched off, on the same footing as native_side: sessions start from what the
/// recording left. On the recorded footing a session then books what was recorded; what was allocated and discarded
/// there is allocated and discarded by the model itself, as it may leave something behind.
class compat_side {
public:
    compat_side(const json& recorded_case, volcano::quirk_set quirks, footing within_sessions = footing::own);
    ~compat_side();
    compat_side(const compat_side&) = delete;
    compat_side& operator=(const compat_side&) = delete;

    [[nodiscard]] outcome step(const json& event);

private:
    [[nodiscard]] outcome add(const json& event);
    [[nodiscard]] outcome attempt(volcano::pod pod, bool roll_back);

    std::string family_;
    footing footing_;
    std::unique_ptr<volcano::scheduler> model_;
};

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
void explain(const json& recorded_case, std::vector<unlike_event>& unlike);

} // namespace vgpusim::conformance
