// Changes of a GPU's layout: what they cost against brute force on an A30, and cases on an A100 that can be checked by
// hand.
#include "vgpualloc/plan/mig_transition.hpp"

#include <string>

#include "brute_force.hpp"

namespace vgpualloc {
namespace {

using plan::mig_live_state;
using plan::mig_places;
using plan::mig_step;
using plan::mig_step_kind;
using plan::mig_transition_options;
using plan::mig_transitions;
using test::expect_cheapest;
using test::legal_sets;
using test::model;
using test::pods_by_name;

/// Every part of every legal set of an A30's core profiles as busy ones.
TEST(mig_transition, of_an_a30_costs_what_trying_finds) {
    mig_model gpu = model("A30-24GB");
    std::erase_if(gpu.profiles, [](const mig_profile& profile) { return profile.kind != mig_profile_kind::core; });
    const legal_sets sets{gpu};
    auto planner = mig_transitions::make(gpu).value();
    const pods_by_name trying{sets, planner};
    for (const std::uint64_t instances : sets.all()) {
        test::for_each_part(instances, [&](std::uint64_t busy) {
            for (std::size_t profile = 0; profile < gpu.profiles.size(); ++profile) {
                for (const auto& options : {mig_transition_options{}, mig_transition_options{2, false}}) {
                    const mig_live_state live{instances, busy, busy & std::uint64_t{1}};
                    const auto cheapest = trying.cheapest(live, sets.places_of(profile), options);
                    expect_cheapest(sets, planner, live, sets.places_of(profile), options, cheapest);
                    if (testing::Test::HasFatalFailure()) return;
                }
            }
        });
        if (HasFatalFailure()) return;
    }
}

struct a100 : testing::Test {
    [[nodiscard]] mig_places at(std::string_view profile, std::int64_t start) const {
        return std::uint64_t{1} << planner.states().place_of({position(profile), mig_units{start}}).value();
    }
    [[nodiscard]] std::size_t position(std::string_view profile) const {
        const mig_model& gpu = planner.states().model();
        return static_cast<std::size_t>(*find_profile(gpu, profile) - gpu.profiles.data());
    }
    [[nodiscard]] mig_places any(std::string_view profile) const {
        return planner.states().places_of(position(profile));
    }
    [[nodiscard]] std::optional<plan::mig_transition> plan_for(const mig_live_state& live, mig_places wanted,
                                                               const mig_transition_options& options = {}) {
        return planner.plan(live, wanted, options).value();
    }
    /// Steps as text: "-1g.5gb@0 +3g.20gb@4 1g.5gb@0>6".
    [[nodiscard]] std::string words(const std::optional<plan::mig_transition>& transition) const {
        if (!transition) return "none";
        std::string text;
        for (const mig_step& step : transition->steps) {
            if (!text.empty()) text += ' ';
            if (step.kind == mig_step_kind::create) text += '+';
            if (step.kind == mig_step_kind::destroy) text += '-';
            if (step.kind == mig_step_kind::save) text += "save ";
            if (step.kind == mig_step_kind::restore) text += "restore ";
            text += planner.states().model().profiles[step.profile].name + "@";
            if (step.from) text += std::to_string(step.from->count()) + ">";
            text += std::to_string(step.start.count());
        }
        return text;
    }

    mig_transitions planner = mig_transitions::make(model("A100-40GB")).value();
};

TEST_F(a100, a_free_instance_needs_no_step) {
    const auto transition = plan_for({at("3g.20gb", 4), 0, 0}, any("3g.20gb"));
    EXPECT_EQ(words(transition), "");
    EXPECT_EQ(transition->cost, ticks{0});
    EXPECT_EQ(transition->place, planner.states().place_of({position("3g.20gb"), mig_units{4}}));
}

TEST_F(a100, an_instance_without_a_pod_blocks_its_slices_until_it_is_destroyed) {
    const mig_live_state live{at("4g.20gb", 0) | at("1g.5gb", 4) | at("1g.5gb", 6), at("4g.20gb", 0), 0};
    EXPECT_EQ(words(plan_for(live, any("3g.20gb"))), "-1g.5gb@4 -1g.5gb@6 +3g.20gb@4");
    EXPECT_EQ(words(plan_for(live, any("2g.10gb"))), "-1g.5gb@4 +2g.10gb@4");
    EXPECT_EQ(plan_for(live, any("3g.20gb"))->cost, ticks{2'000'000});
    EXPECT_EQ(words(plan_for(live, any("4g.20gb"))), "none") << "a pod has the only start";
}

TEST_F(a100, the_cheaper_start_wins) {
    const mig_live_state live{at("1g.5gb", 0) | at("1g.5gb", 1) | at("1g.5gb", 4), 0, 0};
    EXPECT_EQ(words(plan_for(live, any("3g.20gb"))), "-1g.5gb@4 +3g.20gb@4");
    EXPECT_EQ(words(plan_for(live, at("3g.20gb", 0))), "-1g.5gb@0 -1g.5gb@1 +3g.20gb@0") << "one start was wanted";
}

TEST_F(a100, of_starts_that_cost_the_same_the_one_that_leaves_most) {
    EXPECT_EQ(words(plan_for({}, any("1g.5gb"))), "+1g.5gb@6");
    EXPECT_EQ(words(plan_for({}, any("3g.20gb"))), "+3g.20gb@4");
}

TEST_F(a100, engines_bind_beside_slices) {
    const mig_live_state media{at("1g.5gb+me", 0), 0, 0};
    EXPECT_EQ(words(plan_for(media, at("1g.5gb+me", 3))), "-1g.5gb+me@0 +1g.5gb+me@3") << "one +me at a time";
}

TEST_F(a100, a_move_makes_room_where_destroying_does_not) {
    const mig_live_state live{at("1g.5gb", 0) | at("1g.5gb", 4), at("1g.5gb", 0) | at("1g.5gb", 4), 0};
    EXPECT_EQ(words(plan_for(live, any("3g.20gb"))), "none");
    const auto transition = plan_for(live, any("3g.20gb"), {.moves_max = 1});
    EXPECT_EQ(words(transition), "+1g.5gb@1 1g.5gb@4>1 -1g.5gb@4 +3g.20gb@4");
    EXPECT_EQ(transition->downtime, planner.move_cost(position("1g.5gb")));
    EXPECT_EQ(transition->moves, 1);
    mig_live_state held = live;
    held.pinned = live.busy;
    EXPECT_EQ(words(plan_for(held, any("3g.20gb"), {.moves_max = 3})), "none") << "nobody may move";
}

TEST_F(a100, a_pod_waits_where_both_its_places_cannot_exist_at_once) {
    // A 3g at 0 blocks the 4g; its other start is free only if the 2g at 4 goes to 0 or 2, which the 3g has.
    const mig_live_state live{at("3g.20gb", 0) | at("2g.10gb", 4), at("3g.20gb", 0) | at("2g.10gb", 4), 0};
    EXPECT_EQ(words(plan_for(live, at("2g.10gb", 0), {.moves_max = 3})), "none");
    const auto transition = plan_for(live, at("2g.10gb", 0), {.moves_max = 3, .may_wait = true});
    ASSERT_TRUE(transition.has_value());
    EXPECT_EQ(transition->moves, 2);
    EXPECT_GT(transition->downtime, planner.move_cost(position("3g.20gb")));
}

TEST_F(a100, a_move_costs_a_restart_and_its_memory_twice) {
    // 4,864 MiB at 10,000 MiB/s take 486,400 µs each way.
    EXPECT_EQ(planner.move_cost(position("1g.5gb")), ticks{2'000'000 + 2 * 486'400});
    const auto slow = mig_transitions::make(model("A100-40GB"), {.copy_mib_per_s = 4'864}).value();
    EXPECT_EQ(slow.move_cost(position("1g.5gb")), ticks{4'000'000});
    const auto unknown =
        mig_transitions::make(model("B300-269GB")).value(); // the catalog has no memory of its profiles
    EXPECT_GT(unknown.move_cost(0), ticks{2'000'000});
}

TEST_F(a100, costs_decide) {
    // Two pods' instances are in the way of one start, four free ones in that of the other.
    const mig_places low = at("1g.5gb", 0) | at("1g.5gb", 1) | at("1g.5gb", 2) | at("1g.5gb", 3);
    const mig_live_state live{low | at("1g.5gb", 4), at("1g.5gb", 4), 0};
    EXPECT_EQ(words(plan_for(live, any("3g.20gb"), {.moves_max = 1})),
              "-1g.5gb@0 -1g.5gb@1 -1g.5gb@2 -1g.5gb@3 +3g.20gb@0");
    planner = mig_transitions::make(model("A100-40GB"), {.destroy = ticks{60'000'000}}).value();
    EXPECT_EQ(words(plan_for(live, any("3g.20gb"), {.moves_max = 1})), "1g.5gb@4>0 -1g.5gb@4 +3g.20gb@4");
}

TEST_F(a100, what_cannot_be_is_refused_with_a_reason) {
    const mig_places three = at("3g.20gb", 0);
    EXPECT_EQ(planner.plan({three | at("4g.20gb", 0), 0, 0}, three).error().field, "instances");
    EXPECT_EQ(planner.plan({three, at("1g.5gb", 6), 0}, three).error().field, "busy");
    EXPECT_EQ(planner.plan({three, 0, three}, three).error().field, "pinned");
    EXPECT_EQ(planner.plan({three, 0, 0}, three, {.moves_max = -1}).error().code, error_code::out_of_range);
    EXPECT_EQ(planner.plan({three, 0, 0}, three, {.moves_max = 17}).error().value, "17");
    EXPECT_EQ(mig_transitions::make(model("A30-24GB"), {.create = ticks{0}}).error().field, "create");
    EXPECT_EQ(mig_transitions::make(model("A30-24GB"), {.copy_mib_per_s = 0}).error().field, "copy_mib_per_s");
    EXPECT_EQ(words(plan_for({}, 0)), "none") << "nothing wanted is never there";
}

TEST_F(a100, names_of_steps) {
    EXPECT_EQ(name_of(mig_step_kind::destroy), "destroy");
    EXPECT_EQ(name_of(mig_step_kind::create), "create");
    EXPECT_EQ(name_of(mig_step_kind::move), "move");
    EXPECT_EQ(name_of(mig_step_kind::save), "save");
    EXPECT_EQ(name_of(mig_step_kind::restore), "restore");
}

TEST_F(a100, tables_are_kept_and_moved_planners_answer_the_same) {
    const mig_live_state live{at("1g.5gb", 0), at("1g.5gb", 0), 0};
    const mig_places wanted = any("3g.20gb");
    const auto once = plan_for(live, wanted, {.moves_max = 2});
    const std::size_t entries = planner.entries();
    EXPECT_GT(entries, 0U);
    EXPECT_EQ(plan_for(live, wanted, {.moves_max = 2}), once);
    EXPECT_EQ(planner.entries(), entries);
    mig_transitions moved = std::move(planner);
    EXPECT_EQ(moved.plan(live, wanted, {.moves_max = 2}).value(), once);
    planner = std::move(moved);
    EXPECT_EQ(plan_for(live, wanted, {.moves_max = 2}), once);
}

} // namespace
} // namespace vgpualloc
