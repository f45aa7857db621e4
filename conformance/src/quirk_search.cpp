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
                                    quirk::q12, quirk::q22, quirk::q24, quirk::q27, quirk::q31};
    static constexpr quirk hami_core[] = {quirk::q2,  quirk::q3,  quirk::q5,  quirk::q6,  quirk::q7,  quirk::q7b,
                                          quirk::q10, quirk::q12, quirk::q20, quirk::q22, quirk::q24, quirk::q31};
    static constexpr quirk gpushare[] = {quirk::q13, quirk::q25};
    static constexpr quirk ascend[] = {quirk::q2b, quirk::q4,  quirk::q5,  quirk::q7b, quirk::q8,
                                       quirk::q11, quirk::q13, quirk::q15, quirk::q31};
    static constexpr quirk npu_310p[] = {quirk::q3,  quirk::q13, quirk::q16, quirk::q17,
                                         quirk::q18, quirk::q19, quirk::q26};
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

/// What a side decides in the first `count` events of a case.
template <class Side>
std::vector<outcome> outcomes_of(Side& side, const std::vector<recorded_event>& events, std::size_t count) {
    std::vector<outcome> outcomes;
    for (std::size_t i = 0; i < count; ++i) outcomes.push_back(side.step(events[i]));
    return outcomes;
}

std::size_t end_of_unexplained(const std::vector<unlike_event>& unlike) {
    std::size_t end = 0;
    for (const unlike_event& event : unlike) {
        if (event.explained_by.empty()) end = event.event + 1;
    }
    return end;
}

/// Tries the sets of quirks, small ones first, until every event of the list is explained.
void search(const recorded_case& recorded, std::vector<unlike_event>& unlike, footing on) {
    const auto all = quirks_of(recorded.family);
    std::vector<quirk> chosen;
    for (std::size_t size = 1; size <= explaining_quirks_max; ++size) {
        for_each_set(all, size, chosen, [&](const std::vector<quirk>& off) {
            const std::size_t end = end_of_unexplained(unlike);
            if (end == 0) return false;
            quirk_set quirks = quirk_set::all();
            for (const quirk switched_off : off) quirks = quirks.without(switched_off);
            compat_side side{recorded, quirks, on};
            const auto decided = outcomes_of(side, recorded.events, end);
            for (unlike_event& event : unlike) {
                if (event.explained_by.empty() && decided[event.event] == event.decided) event.explained_by = off;
            }
            return true;
        });
    }
}

void search_again(const recorded_case& recorded, std::vector<unlike_event>& unlike) {
    const std::size_t end = end_of_unexplained(unlike);
    // 310P sessions share the template cache with the scheduler's: an attempt cannot be taken back.
    if (end == 0 || recorded.family == "ascend-mindcluster-310p") return;
    native_side native{recorded, footing::recorded};
    compat_side compat{recorded, quirk_set::all(), footing::recorded};
    const auto by_native = outcomes_of(native, recorded.events, end);
    const auto by_compat = outcomes_of(compat, recorded.events, end);
    std::vector<unlike_event> again;
    for (const unlike_event& unexplained : unlike) {
        if (!unexplained.explained_by.empty()) continue;
        const outcome decided_then = outcome_of(recorded.events[unexplained.event].result, recorded.family);
        if (by_compat[unexplained.event] == decided_then) { // the footing is the recording's
            again.push_back({.event = unexplained.event, .decided = by_native[unexplained.event], .explained_by = {}});
        }
    }
    search(recorded, again, footing::recorded);
    for (const unlike_event& looked_at_again : again) {
        std::ranges::find(unlike, looked_at_again.event, &unlike_event::event)->explained_by =
            looked_at_again.explained_by;
    }
}

} // namespace

void explain(const recorded_case& recorded, std::vector<unlike_event>& unlike) {
    search(recorded, unlike, footing::own);
    search_again(recorded, unlike);
}

} // namespace vgpuconformance
