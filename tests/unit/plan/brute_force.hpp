// What a change of layout costs, by trying, and whether its steps can be carried out: for tests, with no code of plan/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "unit/catalog/models.hpp"
#include "vgpualloc/catalog/mig_layouts.hpp"
#include "vgpualloc/plan/mig_transition.hpp"

namespace vgpualloc::test {

/// The places of a model and which sets of them the catalog calls legal.
class legal_sets {
public:
    explicit legal_sets(const mig_model& model) : slots_{slots_of(model, mig_profile_set::all)} {
        std::vector<std::uint64_t> open{0};
        while (!open.empty()) { // every legal set is a legal set and one instance more
            const std::uint64_t set = open.back();
            open.pop_back();
            if (!sets_.insert(set).second) continue;
            for (std::size_t place = 0; place < slots_.size(); ++place) {
                if (!has(set, place) && may_join(model, layout(set), slots_[place])) open.push_back(with(set, place));
            }
        }
    }

    [[nodiscard]] static bool has(std::uint64_t set, std::size_t place) { return ((set >> place) & 1U) != 0; }
    [[nodiscard]] static std::uint64_t with(std::uint64_t set, std::size_t place) {
        return set | (std::uint64_t{1} << place);
    }
    [[nodiscard]] static std::uint64_t without(std::uint64_t set, std::size_t place) {
        return set & ~(std::uint64_t{1} << place);
    }

    [[nodiscard]] const std::set<std::uint64_t>& all() const { return sets_; }
    [[nodiscard]] bool contain(std::uint64_t set) const { return sets_.contains(set); }
    [[nodiscard]] std::size_t places() const { return slots_.size(); }
    [[nodiscard]] const mig_slot& slot(std::size_t place) const { return slots_[place]; }
    [[nodiscard]] std::size_t place_of(const mig_slot& slot) const {
        return static_cast<std::size_t>(std::ranges::find(slots_, slot) - slots_.begin());
    }
    [[nodiscard]] std::uint64_t places_of(std::size_t profile) const {
        std::uint64_t set = 0;
        for (std::size_t place = 0; place < slots_.size(); ++place) {
            if (slots_[place].profile == profile) set = with(set, place);
        }
        return set;
    }
    [[nodiscard]] mig_layout layout(std::uint64_t set) const {
        mig_layout result;
        for (std::size_t place = 0; place < slots_.size(); ++place) {
            if (has(set, place)) result.push_back(slots_[place]);
        }
        return result;
    }

private:
    std::vector<mig_slot> slots_;
    std::set<std::uint64_t> sets_;
};

/// Dijkstra's algorithm over live states in which every pod has a name, so that no two are alike; any instance may be
/// created and any without a pod destroyed.
class pods_by_name {
public:
    pods_by_name(const legal_sets& sets, const plan::mig_transitions& costs) : sets_{&sets}, costs_{&costs} {}

    [[nodiscard]] std::optional<std::int64_t> cheapest(const plan::mig_live_state& live, std::uint64_t wanted,
                                                       const plan::mig_transition_options& options) const {
        state start{.instances = live.instances, .pods = {}, .moves_left = options.moves_max};
        std::vector<bool> may_move;
        std::vector<std::size_t> profiles;
        for (std::size_t place = 0; place < sets_->places(); ++place) {
            if (!legal_sets::has(live.busy, place)) continue;
            start.pods.push_back(static_cast<std::int8_t>(place));
            profiles.push_back(sets_->slot(place).profile);
            may_move.push_back(!legal_sets::has(live.pinned, place));
        }
        using entry = std::pair<std::int64_t, state>;
        std::priority_queue<entry, std::vector<entry>, std::greater<>> open;
        std::map<state, std::int64_t> best{{start, 0}};
        open.push({0, start});
        while (!open.empty()) {
            const auto [cost, at] = open.top();
            open.pop();
            if (best.at(at) < cost) continue;
            const std::uint64_t busy = busy_of(at);
            if ((at.instances & wanted & ~busy) != 0 && std::ranges::count(at.pods, waiting) == 0) return cost;
            const auto reach = [&](const state& next, std::int64_t length) {
                const auto [known, added] = best.try_emplace(next, cost + length);
                if (!added && known->second <= cost + length) return;
                known->second = cost + length;
                open.push({cost + length, next});
            };
            for (std::size_t place = 0; place < sets_->places(); ++place) {
                state next = at;
                if (!legal_sets::has(at.instances, place)) {
                    next.instances = legal_sets::with(at.instances, place);
                    if (sets_->contain(next.instances)) reach(next, costs_->costs().create.count());
                } else if (!legal_sets::has(busy, place)) {
                    next.instances = legal_sets::without(at.instances, place);
                    reach(next, costs_->costs().destroy.count());
                    for (std::size_t pod = 0; pod < at.pods.size(); ++pod) {
                        if (profiles[pod] != sets_->slot(place).profile) continue;
                        state moved = at;
                        moved.pods[pod] = static_cast<std::int8_t>(place);
                        const std::int64_t takes = costs_->move_cost(profiles[pod]).count();
                        if (at.pods[pod] == waiting) {
                            reach(moved, takes - takes / 2);
                        } else if (may_move[pod] && at.moves_left > 0) {
                            --moved.moves_left;
                            reach(moved, takes);
                        }
                    }
                }
            }
            for (std::size_t pod = 0; options.may_wait && at.moves_left > 0 && pod < at.pods.size(); ++pod) {
                if (at.pods[pod] == waiting || !may_move[pod]) continue;
                state saved = at;
                saved.pods[pod] = waiting;
                --saved.moves_left;
                reach(saved, costs_->move_cost(profiles[pod]).count() / 2);
            }
        }
        return std::nullopt;
    }

private:
    static constexpr std::int8_t waiting = -1;
    struct state {
        std::uint64_t instances = 0;
        std::vector<std::int8_t> pods; ///< places
        std::int64_t moves_left = 0;

        auto operator<=>(const state&) const = default;
    };
    [[nodiscard]] static std::uint64_t busy_of(const state& at) {
        std::uint64_t busy = 0;
        for (const std::int8_t place : at.pods) {
            if (place != waiting) busy = legal_sets::with(busy, static_cast<std::size_t>(place));
        }
        return busy;
    }

    const legal_sets* sets_;
    const plan::mig_transitions* costs_;
};

/// Carries out the steps one by one as a driver would, and checks what the plan says of itself.
inline void replay(const legal_sets& sets, plan::mig_transitions& planner, const plan::mig_live_state& live,
                   std::uint64_t wanted, const plan::mig_transition_options& options,
                   const plan::mig_transition& transition) {
    const mig_model& model = planner.states().model();
    std::uint64_t instances = live.instances;
    std::uint64_t busy = live.busy;
    std::vector<std::size_t> waiting; // profiles
    ticks total;
    std::int64_t moves = 0;
    for (const plan::mig_step& step : transition.steps) {
        const std::size_t place = sets.place_of({step.profile, step.start});
        ASSERT_LT(place, sets.places());
        ASSERT_EQ(step.profile_id, model.profiles[step.profile].profile_id);
        ASSERT_EQ(step.size, model.profiles[step.profile].size);
        const bool exists = legal_sets::has(instances, place);
        const bool has_pod = legal_sets::has(busy, place);
        switch (step.kind) {
        case plan::mig_step_kind::create:
            instances = legal_sets::with(instances, place);
            ASSERT_FALSE(exists);
            ASSERT_TRUE(sets.contain(instances)) << "the driver would refuse it";
            break;
        case plan::mig_step_kind::destroy:
            ASSERT_TRUE(exists && !has_pod) << "a pod has it";
            instances = legal_sets::without(instances, place);
            break;
        case plan::mig_step_kind::move: {
            const std::size_t from = sets.place_of({step.profile, step.from.value()});
            ASSERT_TRUE(exists && !has_pod && legal_sets::has(busy, from) && !legal_sets::has(live.pinned, from));
            busy = legal_sets::with(legal_sets::without(busy, from), place);
            ++moves;
            break;
        }
        case plan::mig_step_kind::save:
            ASSERT_TRUE(options.may_wait && has_pod && !legal_sets::has(live.pinned, place));
            busy = legal_sets::without(busy, place);
            waiting.push_back(step.profile);
            ++moves;
            break;
        case plan::mig_step_kind::restore: {
            const auto pod = std::ranges::find(waiting, step.profile);
            ASSERT_TRUE(exists && !has_pod && pod != waiting.end());
            waiting.erase(pod);
            busy = legal_sets::with(busy, place);
            break;
        }
        }
        total += step.takes;
    }
    ASSERT_TRUE(waiting.empty());
    ASSERT_EQ(total, transition.cost);
    ASSERT_EQ(moves, transition.moves);
    ASSERT_LE(moves, options.moves_max);
    ASSERT_EQ(transition.after, (plan::mig_live_state{instances, busy, live.pinned}));
    ASSERT_TRUE(legal_sets::has(instances & ~busy & wanted, transition.place)) << "free, and of what was wanted";
}

/// Whether the plan for this live state costs what trying finds, and can be carried out.
inline void expect_cheapest(const legal_sets& sets, plan::mig_transitions& planner, const plan::mig_live_state& live,
                            std::uint64_t wanted, const plan::mig_transition_options& options,
                            std::optional<std::int64_t> cheapest) {
    const auto transition = planner.plan(live, wanted, options);
    ASSERT_TRUE(transition.has_value()) << transition.error().message();
    ASSERT_EQ(transition->has_value(), cheapest.has_value());
    if (!cheapest) return;
    ASSERT_EQ((*transition)->cost.count(), *cheapest);
    replay(sets, planner, live, wanted, options, **transition);
}

/// Calls use(part) for every part of a set.
template <class Use>
void for_each_part(std::uint64_t set, Use&& use) {
    for (std::uint64_t part = 0;; part = (part - set) & set) {
        use(part);
        if (part == set) return;
    }
}

} // namespace vgpualloc::test
