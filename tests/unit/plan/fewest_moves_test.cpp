// Plans with the fewest moves on one GPU: against trying on an A30, and cases that can be checked by hand.
#include <string>

#include "moves_by_trying.hpp"

namespace vgpualloc {
namespace {

using plan::mig_live_state;
using plan::mig_transition;
using plan::mig_transition_options;
using plan::mig_transitions;
using test::model;

TEST(fewest_moves, of_an_a30_are_what_trying_finds) {
    test::expect_fewest_of_all(model("A30-24GB"), {.moves_max = 3, .fewest_moves = true});
    test::expect_fewest_of_all(model("A30-24GB"), {.moves_max = 2, .may_wait = true, .fewest_moves = true});
}

struct fewest_a100 : testing::Test {
    [[nodiscard]] std::uint64_t bit(std::string_view profile, std::int64_t start) const {
        return std::uint64_t{1} << planner.states().place_of({position(profile), mig_units{start}}).value();
    }
    [[nodiscard]] std::size_t position(std::string_view profile) const {
        const auto& gpu = planner.states().model();
        return static_cast<std::size_t>(*find_profile(gpu, profile) - gpu.profiles.data());
    }
    [[nodiscard]] std::optional<mig_transition> plan(const mig_live_state& live, std::string_view profile,
                                                     mig_transition_options options = {.moves_max = 3}) {
        options.fewest_moves = true;
        return planner.plan(live, planner.states().places_of(position(profile)), options).value();
    }
    /// What happens to pods, and where the instance is.
    [[nodiscard]] std::string words(const std::optional<mig_transition>& transition) const {
        if (!transition) return "none";
        const auto start = [](mig_units units) { return std::to_string(units.count()); };
        std::string text;
        for (const auto& step : transition->steps) {
            if (step.kind == plan::mig_step_kind::move) text += start(*step.from) + ">" + start(step.start) + " ";
            if (step.kind == plan::mig_step_kind::save) text += start(step.start) + ">host ";
            if (step.kind == plan::mig_step_kind::restore) text += "host>" + start(step.start) + " ";
        }
        return text + "@" + start(planner.states().places()[transition->place].slot.start);
    }
    /// Of pods in all of these instances.
    [[nodiscard]] static mig_live_state busy(std::uint64_t instances, std::uint64_t pinned = 0) {
        return {instances, instances, pinned};
    }

    mig_transitions planner = mig_transitions::make(model("A100-40GB")).value();
};

TEST_F(fewest_a100, nothing_moves_where_it_fits_already) {
    EXPECT_EQ(words(plan(busy(bit("1g.5gb", 0)), "3g.20gb")), "@4");
    EXPECT_EQ(words(plan({}, "1g.5gb")), "@6") << "the start that leaves most";
}

TEST_F(fewest_a100, fewer_moves_go_before_fewer_seconds) {
    auto slow = mig_transitions::make(model("A100-40GB"), {.destroy = ticks{60'000'000}}).value();
    const std::uint64_t idle = bit("1g.5gb", 0) | bit("1g.5gb", 1) | bit("1g.5gb", 2) | bit("1g.5gb", 3);
    const mig_live_state live{idle | bit("1g.5gb", 4), bit("1g.5gb", 4), 0};
    const auto wanted = slow.states().places_of(position("3g.20gb"));
    EXPECT_EQ(slow.plan(live, wanted, {.moves_max = 1}).value()->moves, 1);
    EXPECT_EQ(slow.plan(live, wanted, {.moves_max = 1, .fewest_moves = true}).value()->moves, 0);
}

TEST_F(fewest_a100, who_may_not_move_stays) {
    const std::uint64_t pods = bit("1g.5gb", 0) | bit("1g.5gb", 4);
    const auto moved = plan(busy(pods, bit("1g.5gb", 0)), "3g.20gb");
    ASSERT_TRUE(moved.has_value());
    EXPECT_EQ(moved->moves, 1);
    EXPECT_EQ(words(moved).substr(0, 2), "4>");
    EXPECT_EQ(words(plan(busy(pods, pods), "3g.20gb")), "none");
    EXPECT_EQ(words(plan(busy(pods), "3g.20gb", {.moves_max = 0})), "none");
}

TEST_F(fewest_a100, none_where_the_instances_and_the_wanted_one_cannot_exist_together) {
    const auto pods = busy(bit("2g.10gb", 0) | bit("3g.20gb", 4));
    EXPECT_EQ(words(plan(pods, "4g.20gb", {.moves_max = 16})), "none") << "ten memory slices";
    EXPECT_EQ(words(plan(pods, "4g.20gb", {.moves_max = 16, .may_wait = true})), "none");
}

/// A GPU has one +me instance at a time, so that its new one cannot exist beside the old one.
TEST_F(fewest_a100, a_pod_waits_where_its_two_instances_cannot_exist_at_once) {
    const auto pods = busy(bit("1g.5gb+me", 0) | bit("1g.5gb", 1));
    EXPECT_EQ(words(plan(pods, "4g.20gb", {.moves_max = 4})), "none");
    EXPECT_EQ(plan(pods, "4g.20gb", {.moves_max = 3, .may_wait = true})->moves, 2);
}

TEST_F(fewest_a100, without_waiting_others_move_instead) {
    const auto pods = busy(bit("1g.5gb+me", 0) | bit("1g.5gb", 4) | bit("1g.5gb", 5));
    EXPECT_EQ(words(plan(pods, "3g.20gb", {.moves_max = 3, .may_wait = true})), "0>host host>6 @0");
    const auto others = plan(pods, "3g.20gb");
    ASSERT_TRUE(others.has_value());
    EXPECT_EQ(others->moves, 2);
    EXPECT_EQ(others->place, planner.states().place_of({position("3g.20gb"), mig_units{4}}).value());
}

/// On a GPU of five units, a of one unit is at 0 and b of two at 2. The c wants 3 and 4, so b goes to 0 and a to 2:
/// each has what the other one wants.
TEST(fewest_moves, a_cycle_goes_through_a_spare_place) {
    const auto profile = [](std::string name, std::int64_t size, std::vector<mig_units> starts) {
        mig_profile result;
        result.name = std::move(name);
        result.size = mig_units{size};
        result.starts = std::move(starts);
        result.max_instances = 2; // both instances of a pod that is copied
        return result;
    };
    mig_model gpu;
    gpu.name = "five";
    gpu.units = mig_units{5};
    gpu.profiles = {profile("a", 1, {mig_units{0}, mig_units{2}, mig_units{4}}),
                    profile("b", 2, {mig_units{0}, mig_units{2}}), profile("c", 2, {mig_units{3}})};
    auto planner = mig_transitions::make(gpu).value();
    const std::uint64_t pods = (1U << 0U) | (1U << 4U); // a at 0, b at 2; places: a 0, 2, 4; b 0, 2; c 3
    const auto moves = [&](mig_transition_options options) {
        options.fewest_moves = true;
        const auto transition = planner.plan({pods, pods, 0}, planner.states().places_of(2), options).value();
        return transition ? std::optional{transition->moves} : std::nullopt;
    };
    EXPECT_EQ(moves({.moves_max = 16}), 3) << "a by 4";
    EXPECT_EQ(moves({.moves_max = 16, .may_wait = true}), 2);
    EXPECT_EQ(moves({.moves_max = 2}), std::nullopt);
}

/// Of plans with one move the cheapest goes to a start where no other instance is in the way; the downtime of a pod
/// that waits contains what is created and destroyed meanwhile.
TEST_F(fewest_a100, steps_of_a_driver) {
    const mig_live_state live{bit("1g.5gb+me", 0) | bit("2g.10gb", 2) | bit("1g.5gb", 6), bit("1g.5gb+me", 0), 0};
    const auto waiting = plan(live, "4g.20gb", {.moves_max = 3, .may_wait = true});
    ASSERT_TRUE(waiting.has_value());
    std::string text;
    for (const auto& step : waiting->steps)
        text += std::string{name_of(step.kind)} + std::to_string(step.start.count()) + " ";
    EXPECT_EQ(text, "destroy2 save0 destroy0 create4 restore4 create0 ");
    const auto& costs = planner.costs();
    EXPECT_EQ(waiting->downtime, planner.move_cost(position("1g.5gb+me")) + costs.destroy + costs.create);
    EXPECT_EQ(waiting->cost, waiting->downtime + costs.destroy + costs.create);
}

} // namespace
} // namespace vgpualloc
