// Searching the sets of quirks.
#include "quirks.hpp"

#include <algorithm>
#include <span>

#include "native.hpp"

namespace vgpusim::conformance {

namespace {

using volcano::quirk;
using volcano::quirk_set;

/// The quirks that have something to change for a family of recordings.
std::span<const quirk> quirks_of(const std::string& family) {
    static constexpr quirk mig[] = {quirk::q1, quirk::q1a, quirk::q1b, quirk::q1c, quirk::q1d, quirk::q1e,
                                    quirk::q2, quirk::q3,  quirk::q5,  quirk::q6,  quirk::q7,  quirk::q7b,
                                    quirk::q8, quirk::q10, quirk::q12, quirk::q22, quirk::q24};
    static constexpr quirk hami_core[] = {quirk::q2,  quirk::q3,  quirk::q5,  quirk::q6,  quirk::q7, quirk::q7b,
                                          quirk::q10, quirk::q12, quirk::q20, quirk::q22, quirk::q24};
    static constexpr quirk gpushare[] = {quirk::q13, quirk::q25};
    static constexpr quirk ascend[] = {quirk::q2b, quirk::q4,  quirk::q5,  quirk::q7b,
                                       quirk::q8,  quirk::q11, quirk::q13, quirk::q15};
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

volcano::plugin_options options_with(const json& recorded_case, quirk_set quirks) {
    volcano::plugin_options options = options_from(recorded_case);
    options.quirks = quirks;
    return options;
}

} // namespace

compat_side::compat_side(const json& recorded_case, quirk_set quirks, footing within_sessions)
    : family_{recorded_case.at("family").get<std::string>()}, footing_{within_sessions},
      model_{std::make_unique<volcano::scheduler>(config_from(recorded_case), options_with(recorded_case, quirks))} {
    for (const json& each : recorded_case.at("nodes")) model_->add_node(node_from(each), npu_info_from(each));
    model_->open_session();
}

compat_side::~compat_side() = default;

outcome compat_side::attempt(volcano::pod pod, bool roll_back) {
    const auto decided = model_->try_in_session(pod, roll_back);
    json out = attempt_json(*model_, decided);
    if (decided.allocated && decided.allocated->ok && !roll_back) {
        for (const auto& [key, value] : decided.allocated->annotations) pod.annotations[key] = value;
        out["cache_state"] = state_json(model_->cache_state_with(pod, *decided.chosen), *decided.chosen, false);
    }
    return outcome_of(out, "add", family_);
}

outcome compat_side::add(const json& event) {
    if (event.value("new_session", false)) model_->open_session();
    const auto pod = pod_from(event.at("pod"));
    const bool roll_back = event.value("rollback", false);
    const bool bound = was_bound(event);
    const auto where = event.at("out").value("chosen", std::int64_t{-1});
    outcome decided;
    if (footing_ == footing::own || !bound) {
        decided = attempt(pod, roll_back);
    } else {
        auto before = model_->copy_session();
        decided = attempt(pod, roll_back);
        model_->set_session(std::move(before));
        model_->take_in_session(bound_pod_from(event), static_cast<std::size_t>(where));
    }
    if (bound) model_->restore(bound_pod_from(event), static_cast<std::size_t>(where));
    return decided;
}

outcome compat_side::step(const json& event) {
    const auto op = event.at("op").get<std::string>();
    if (op == "add") return add(event);
    const auto where = event.at("out").value("chosen", std::int64_t{-1});
    if (op == "restore") model_->restore(pod_from(event.at("pod")), static_cast<std::size_t>(where));
    if (op == "delete") static_cast<void>(model_->remove(event.at("pod_uid").get<std::string>()));
    if (op == "node_update") model_->update_node(static_cast<std::size_t>(where));
    json out{{"chosen", where}};
    if (where >= 0) {
        const auto node = static_cast<std::size_t>(where);
        out["cache_state"] = state_json(model_->cache_state(node), node, false);
    }
    return outcome_of(out, op, family_);
}

namespace {

/// What a side decides in the first `count` events of a case.
template <class Side>
std::vector<outcome> outcomes_of(Side& side, const json& events, std::size_t count) {
    std::vector<outcome> made;
    for (std::size_t i = 0; i < count; ++i) made.push_back(side.step(events[i]));
    return made;
}

std::size_t end_of_unexplained(const std::vector<unlike_event>& unlike) {
    std::size_t end = 0;
    for (const unlike_event& each : unlike) {
        if (each.explained_by.empty()) end = each.event + 1;
    }
    return end;
}

/// Tries the sets of quirks, small ones first, until every event of the list is explained.
void search(const json& recorded_case, std::vector<unlike_event>& unlike, footing on) {
    const json& events = recorded_case.at("events");
    const auto all = quirks_of(recorded_case.at("family").get<std::string>());
    std::vector<quirk> chosen;
    for (std::size_t size = 1; size <= explaining_quirks_max; ++size) {
        for_each_set(all, size, chosen, [&](const std::vector<quirk>& off) {
            const std::size_t end = end_of_unexplained(unlike);
            if (end == 0) return false;
            quirk_set quirks = quirk_set::all();
            for (const quirk each : off) quirks = quirks.without(each);
            compat_side side{recorded_case, quirks, on};
            const auto decided = outcomes_of(side, events, end);
            for (unlike_event& each : unlike) {
                if (each.explained_by.empty() && decided[each.event] == each.decided) each.explained_by = off;
            }
            return true;
        });
    }
}

void search_again(const json& recorded_case, std::vector<unlike_event>& unlike) {
    const std::size_t end = end_of_unexplained(unlike);
    const auto family = recorded_case.at("family").get<std::string>();
    // 310P sessions share the template cache with the scheduler's: an attempt cannot be taken back.
    if (end == 0 || family == "ascend-mindcluster-310p") return;
    const json& events = recorded_case.at("events");
    native_side native{recorded_case, footing::recorded};
    compat_side compat{recorded_case, quirk_set::all(), footing::recorded};
    const auto by_native = outcomes_of(native, events, end);
    const auto by_compat = outcomes_of(compat, events, end);
    std::vector<unlike_event> again;
    for (unlike_event& each : unlike) {
        if (!each.explained_by.empty()) continue;
        const json& event = events[each.event];
        const auto recorded = outcome_of(event.at("out"), event.at("op").get<std::string>(), family);
        if (by_compat[each.event] == recorded) { // the footing is the recording's
            again.push_back({.event = each.event, .decided = by_native[each.event], .explained_by = {}});
        }
    }
    search(recorded_case, again, footing::recorded);
    for (const unlike_event& found : again) {
        std::ranges::find(unlike, found.event, &unlike_event::event)->explained_by = found.explained_by;
    }
}

} // namespace

void explain(const json& recorded_case, std::vector<unlike_event>& unlike) {
    search(recorded_case, unlike, footing::own);
    search_again(recorded_case, unlike);
}

} // namespace vgpusim::conformance
