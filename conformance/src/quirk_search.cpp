// Searching the sets of quirks.
#include "quirk_search.hpp"

#include <algorithm>
#include <span>

#include "compat.hpp"
#include "native.hpp"

namespace vgpuconformance {

namespace {

using volcano::quirk;
using volcano::quirk_set;

/// The quirks that have something to change for a family of recordings.
std::span<const quirk> quirks_of(const std::string& family) {
    static constexpr quirk mig[] = {quirk::q1,  quirk::q1a, quirk::q1b, quirk::q1c, quirk::q1d, quirk::q1e, quirk::q2,
                                    quirk::q3,  quirk::q5,  quirk::q6,  quirk::q7,  quirk::q7b, quirk::q8,  quirk::q10,
                                    quirk::q12, quirk::q22, quirk::q24, quirk::q27, quirk::q30, quirk::q31};
    static constexpr quirk hami_core[] = {quirk::q2,  quirk::q3,  quirk::q5,  quirk::q6,  quirk::q7,
                                          quirk::q7b, quirk::q10, quirk::q12, quirk::q20, quirk::q22,
                                          quirk::q24, quirk::q30, quirk::q31};
    static constexpr quirk gpushare[] = {quirk::q13, quirk::q25};
    static constexpr quirk ascend[] = {quirk::q2b, quirk::q4,  quirk::q5,  quirk::q7b, quirk::q8,
                                       quirk::q11, quirk::q13, quirk::q15, quirk::q31, quirk::q32};
    static constexpr quirk npu_310p[] = {quirk::q3,  quirk::q13, quirk::q16, quirk::q17, quirk::q18,
                                         quirk::q19, quirk::q26, quirk::q28, quirk::q29, quirk::q31};
    if (family == "gpushare") return gpushare;
    if (family == "ascend-hami") return ascend;
    if (family == "ascend-mindcluster-310p") return npu_310p;
    return family == "mig" || family == "mixed" ? std::span<const quirk>{mig} : std::span<const quirk>{hami_core};
}

/// Every set of `size` of `all`, in lexical order; visit(set) returns false to stop.
template <class Visit>
bool for_each_set(std::span<const quirk> all, std::size_t size, std::vector<quirk>& chosen, Visit&& visit) {
    if (chosen.size() == size) return visit(chosen);
    for (std::size_t i = 0; i < all.size(); ++i) {
        chosen.push_back(all[i]);
        const bool go_on = for_each_set(all.subspan(i + 1), size, chosen, visit);
        chosen.pop_back();
        if (!go_on) return false;
    }
    return true;
}

bool explained(const unlike_event& event) { return event.why != explanation::none; }

/// Tries the sets of quirks, small ones first, until every event of the list is explained.
void search(const recorded_case& recorded, std::vector<unlike_event*>& open) {
    const auto all = quirks_of(recorded.family);
    std::vector<quirk> chosen;
    for (std::size_t size = 1; size <= explaining_quirks_max; ++size) {
        for_each_set(all, size, chosen, [&](const std::vector<quirk>& off) {
            if (open.empty()) return false;
            quirk_set quirks = quirk_set::all();
            for (const quirk switched_off : off) quirks = quirks.without(switched_off);
            const auto decided = outcomes_of(compat_side{recorded, quirks}, recorded.events, open.back()->event + 1);
            for (unlike_event* const event : open) {
                if (decided[event->event] != event->decided) continue;
                event->why = explanation::quirks;
                event->explained_by = off;
            }
            std::erase_if(open, [](const unlike_event* event) { return explained(*event); });
            return true;
        });
    }
}

} // namespace

void explain(const recorded_case& recorded, const std::vector<outcome>& without_quirks,
             std::vector<unlike_event>& unlike) {
    std::vector<unlike_event*> open;
    for (unlike_event& event : unlike) open.push_back(&event);
    search(recorded, open);
    std::erase_if(open, [&](const unlike_event* event) { return without_quirks[event->event] != event->decided; });
    if (open.empty()) return;
    // Where native decides as recorded once its session is as recorded, only earlier events of the session differ.
    const auto followed =
        outcomes_of(native_side{recorded, footing::recorded}, recorded.events, open.back()->event + 1);
    for (unlike_event* const event : open) {
        const bool as_recorded =
            followed[event->event] == outcome_of(recorded.events[event->event].result, recorded.family);
        event->why = as_recorded ? explanation::follow_up : explanation::more_than_three;
    }
}

} // namespace vgpuconformance
