// Rearrangements of one GPU's instances by trying every sequence, and whether steps can be carried out: for tests.
#pragma once

#include <bit>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "unit/plan/brute_force.hpp"
#include "vgpualloc/plan/device_repack.hpp"

namespace vgpualloc::test {

/// Every arrangement of named pods that few enough moves lead to, with the fewest moves and then the least weight.
class arrangements_by_trying {
public:
    arrangements_by_trying(const legal_sets& sets, std::vector<plan::held_instance> pods,
                           const plan::repack_options& options)
        : sets_{&sets}, pods_{std::move(pods)}, options_{options} {
        std::vector<std::size_t> places;
        for (const auto& pod : pods_) places.push_back(pod.place);
        if (options_.may_wait) {
            assign(places, 0, 0, 0, 0);
        } else {
            go_on(places, layout_of(places), 0, 0);
        }
    }

    /// By layout with the wanted instance: moves and weight.
    [[nodiscard]] std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> targets(std::size_t profile) const {
        std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> result;
        for (const auto& [layout, cost] : best_) {
            for (std::size_t place = 0; place < sets_->places(); ++place) {
                const std::uint64_t after = legal_sets::with(layout, place);
                if (sets_->slot(place).profile != profile || after == layout || !sets_->contain(after)) continue;
                const auto [known, added] = result.try_emplace(after, cost);
                if (!added) known->second = std::min(known->second, cost);
            }
        }
        return result;
    }

    /// Moves, weight, places left (negative), layout: of the best target, in the order of repack_device.
    using rank = std::tuple<std::int64_t, std::int64_t, int, std::uint64_t>;
    [[nodiscard]] std::optional<rank> best(std::size_t profile) const {
        std::optional<rank> result;
        for (const auto& [after, cost] : targets(profile)) {
            int further = 0;
            for (std::size_t place = 0; place < sets_->places(); ++place) {
                const std::uint64_t more = legal_sets::with(after, place);
                further += more != after && sets_->contain(more) ? 1 : 0;
            }
            const rank candidate{cost.first, cost.second, -further, after};
            if (!result || candidate < *result) result = candidate;
        }
        return result;
    }

private:
    [[nodiscard]] static std::uint64_t layout_of(const std::vector<std::size_t>& places) {
        std::uint64_t layout = 0;
        for (const std::size_t place : places) layout = legal_sets::with(layout, place);
        return layout;
    }
    void keep(std::uint64_t layout, std::int64_t moves, std::int64_t weight) {
        const auto [known, added] = best_.try_emplace(layout, moves, weight);
        if (!added) known->second = std::min(known->second, std::pair{moves, weight});
    }
    void go_on(std::vector<std::size_t>& places, std::uint64_t layout, std::int64_t moves, std::int64_t weight) {
        keep(layout, moves, weight);
        if (moves == options_.moves_max) return;
        for (std::size_t pod = 0; pod < pods_.size(); ++pod) {
            if (!pods_[pod].may_move) continue;
            for (std::size_t place = 0; place < sets_->places(); ++place) {
                const std::uint64_t both = legal_sets::with(layout, place);
                const std::size_t old = places[pod];
                if (sets_->slot(place).profile != sets_->slot(old).profile || both == layout) continue;
                if (!sets_->contain(both)) continue; // the new instance has to exist beside the old one
                places[pod] = place;
                go_on(places, legal_sets::without(both, old), moves + 1, weight + pods_[pod].weight);
                places[pod] = old;
            }
        }
    }
    void assign(const std::vector<std::size_t>& places, std::size_t pod, std::uint64_t layout, std::int64_t moves,
                std::int64_t weight) {
        if (moves > options_.moves_max || !sets_->contain(layout)) return;
        if (pod == places.size()) return keep(layout, moves, weight);
        for (std::size_t place = 0; place < sets_->places(); ++place) {
            if (sets_->slot(place).profile != sets_->slot(places[pod]).profile) continue;
            if (legal_sets::has(layout, place)) continue;
            const bool moved = place != places[pod];
            if (moved && !pods_[pod].may_move) continue;
            assign(places, pod + 1, legal_sets::with(layout, place), moves + (moved ? 1 : 0),
                   weight + (moved ? pods_[pod].weight : 0));
        }
    }

    const legal_sets* sets_;
    std::vector<plan::held_instance> pods_;
    plan::repack_options options_;
    std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> best_; ///< by layout
};

/// Carries out the steps one by one and checks what the plan says of itself.
inline void replay(const legal_sets& sets, const std::vector<plan::held_instance>& pods, std::size_t profile,
                   const plan::repack_options& options, const plan::device_repack& repack) {
    std::vector<std::optional<std::size_t>> places;
    std::uint64_t layout = 0;
    for (const auto& pod : pods) {
        places.emplace_back(pod.place);
        layout = legal_sets::with(layout, pod.place);
    }
    std::int64_t moves = 0;
    std::int64_t weight = 0;
    for (const plan::instance_move& step : repack.steps) {
        ASSERT_LT(step.instance, pods.size());
        ASSERT_TRUE(pods[step.instance].may_move);
        ASSERT_TRUE(options.may_wait || (step.from && step.to));
        ASSERT_EQ(step.from, places[step.instance]) << "a pod that waits has no place";
        if (step.to) {
            ASSERT_FALSE(legal_sets::has(layout, *step.to));
            ASSERT_EQ(sets.slot(*step.to).profile, sets.slot(pods[step.instance].place).profile);
            layout = legal_sets::with(layout, *step.to);
            ASSERT_TRUE(sets.contain(layout)) << "both instances exist while the pod is copied";
        }
        if (step.from) {
            layout = legal_sets::without(layout, *step.from);
            ++moves;
            weight += pods[step.instance].weight;
        }
        places[step.instance] = step.to;
    }
    for (const auto& place : places) ASSERT_TRUE(place.has_value()) << "nobody waits in the end";
    ASSERT_EQ(moves, repack.moves);
    ASSERT_LE(moves, options.moves_max);
    ASSERT_EQ(weight, repack.weight);
    ASSERT_EQ(sets.slot(repack.place).profile, profile);
    ASSERT_FALSE(legal_sets::has(layout, repack.place));
    ASSERT_EQ(legal_sets::with(layout, repack.place), repack.layout);
    ASSERT_TRUE(sets.contain(repack.layout)) << "the request fits then";
}

/// The same with the instances that are created and destroyed for it, on a GPU that has others without a pod.
inline void replay_on(const legal_sets& sets, plan::mig_transitions& planner, const plan::mig_live_state& live,
                      const std::vector<plan::held_instance>& pods, std::size_t profile,
                      const plan::repack_options& options, const plan::device_repack& repack) {
    const auto steps = plan::steps_of(planner, live, pods, repack);
    ASSERT_EQ(steps.moves, repack.moves);
    ASSERT_EQ(steps.place, repack.place);
    replay(sets, planner, live, sets.places_of(profile), {options.moves_max, options.may_wait}, steps);
}

/// Every legal set of a model with all of it busy, every profile: repack_device against trying.
inline void expect_exact(const mig_model& model, const plan::repack_options& options) {
    const legal_sets sets{model};
    auto planner = plan::mig_transitions::make(model).value();
    const plan::gpu_layouts& states = planner.states();
    for (const std::uint64_t layout : sets.all()) {
        const auto pods = plan::held_by(states, layout);
        const arrangements_by_trying tried{sets, pods, options};
        for (std::size_t profile = 0; profile < model.profiles.size(); ++profile) {
            const auto best = tried.best(profile);
            const auto repack = plan::repack_device(states, pods, profile, options);
            ASSERT_TRUE(repack.has_value()) << repack.error().message();
            ASSERT_EQ(repack->has_value(), best.has_value());
            if (!best) continue;
            const plan::device_repack& steps = **repack;
            ASSERT_EQ((std::tuple{steps.moves, steps.weight, steps.layout}),
                      (std::tuple{std::get<0>(*best), std::get<1>(*best), std::get<3>(*best)}));
            replay(sets, pods, profile, options, steps);
            replay_on(sets, planner, {layout, layout, 0}, pods, profile, options, steps);
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

} // namespace vgpualloc::test
