// The fewest moves that make room on one GPU, by trying every sequence of them: for tests.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "unit/plan/brute_force.hpp"

namespace vgpualloc::test {

/// Every arrangement of named pods that few enough moves lead to.
class arrangements_by_trying {
public:
    arrangements_by_trying(const legal_sets& sets, const plan::mig_live_state& live,
                           const plan::mig_transition_options& options)
        : sets_{&sets}, options_{options} {
        for (std::size_t place = 0; place < sets.places(); ++place) {
            if (legal_sets::has(live.busy, place)) pods_.push_back({place, !legal_sets::has(live.pinned, place)});
        }
        std::vector<std::size_t> places;
        for (const held_pod& held : pods_) places.push_back(held.place);
        if (options_.may_wait) {
            assign(places, 0, 0, 0);
        } else {
            go_on(places, live.busy, 0);
        }
    }

    /// The fewest moves after which an instance of the profile can be added, or none with so few.
    [[nodiscard]] std::optional<std::int64_t> fewest(std::size_t profile) const {
        std::optional<std::int64_t> result;
        for (const auto& [layout, moves] : best_) {
            for (std::size_t place = 0; place < sets_->places(); ++place) {
                const std::uint64_t after = legal_sets::with(layout, place);
                if (sets_->slot(place).profile != profile || after == layout || !sets_->contain(after)) continue;
                result = std::min(result.value_or(moves), moves);
            }
        }
        return result;
    }

private:
    struct held_pod {
        std::size_t place = 0;
        bool may_move = true;
    };

    void keep(std::uint64_t layout, std::int64_t moves) {
        const auto [known, added] = best_.try_emplace(layout, moves);
        if (!added) known->second = std::min(known->second, moves);
    }
    void go_on(std::vector<std::size_t>& places, std::uint64_t layout, std::int64_t moves) {
        keep(layout, moves);
        if (moves == options_.moves_max) return;
        for (std::size_t pod = 0; pod < pods_.size(); ++pod) {
            if (!pods_[pod].may_move) continue;
            for (std::size_t place = 0; place < sets_->places(); ++place) {
                const std::uint64_t both = legal_sets::with(layout, place);
                const std::size_t old = places[pod];
                if (sets_->slot(place).profile != sets_->slot(old).profile || both == layout) continue;
                if (!sets_->contain(both)) continue; // the new instance has to exist beside the old one
                places[pod] = place;
                go_on(places, legal_sets::without(both, old), moves + 1);
                places[pod] = old;
            }
        }
    }
    void assign(const std::vector<std::size_t>& places, std::size_t pod, std::uint64_t layout, std::int64_t moves) {
        if (moves > options_.moves_max || !sets_->contain(layout)) return;
        if (pod == places.size()) return keep(layout, moves);
        for (std::size_t place = 0; place < sets_->places(); ++place) {
            if (sets_->slot(place).profile != sets_->slot(places[pod]).profile) continue;
            if (legal_sets::has(layout, place)) continue;
            const bool moved = place != places[pod];
            if (moved && !pods_[pod].may_move) continue;
            assign(places, pod + 1, legal_sets::with(layout, place), moves + (moved ? 1 : 0));
        }
    }

    const legal_sets* sets_;
    std::vector<held_pod> pods_;
    plan::mig_transition_options options_;
    std::map<std::uint64_t, std::int64_t> best_; ///< moves by layout
};

/// Whether the plan for this live state has as many moves as trying finds, and can be carried out.
inline void expect_fewest(const legal_sets& sets, plan::mig_transitions& planner, const plan::mig_live_state& live,
                          std::size_t profile, const plan::mig_transition_options& options,
                          std::optional<std::int64_t> fewest) {
    const auto transition = planner.plan(live, sets.places_of(profile), options);
    ASSERT_TRUE(transition.has_value()) << transition.error().message();
    ASSERT_EQ(transition->has_value(), fewest.has_value());
    if (!fewest) return;
    ASSERT_EQ((*transition)->moves, *fewest);
    replay(sets, planner, live, sets.places_of(profile), options, **transition);
}

/// Every legal set of a model with all of it busy, every profile: plans with the fewest moves against trying.
inline void expect_fewest_of_all(const mig_model& model, const plan::mig_transition_options& options) {
    const legal_sets sets{model};
    auto planner = plan::mig_transitions::make(model).value();
    const auto& states = planner.states();
    std::vector<std::uint64_t> ordered{sets.all().begin(), sets.all().end()}; // the planner keeps tables by multiset
    std::ranges::stable_sort(ordered, {},
                             [&](std::uint64_t layout) { return states.multiset_of(states.find(layout).value()); });
    for (const std::uint64_t layout : ordered) {
        const arrangements_by_trying tried{sets, {layout, layout, 0}, options};
        for (std::size_t profile = 0; profile < model.profiles.size(); ++profile) {
            expect_fewest(sets, planner, {layout, layout, 0}, profile, options, tried.fewest(profile));
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

} // namespace vgpualloc::test
