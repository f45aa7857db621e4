// Rearranging one GPU: against trying on an A30, and cases that can be checked by hand.
#include "vgpualloc/plan/device_repack.hpp"

#include <algorithm>
#include <string>

#include "repack_by_trying.hpp"

namespace vgpualloc {
namespace {

using plan::device_repack;
using plan::gpu_layouts;
using plan::held_instance;
using plan::instance_move;
using plan::repack_device;
using plan::repack_options;
using test::model;

TEST(device_repack, of_an_a30_is_what_trying_finds) {
    test::expect_exact(model("A30-24GB"), {.moves_max = 3});
    test::expect_exact(model("A30-24GB"), {.moves_max = 2, .may_wait = true});
}

struct repack_a100 : testing::Test {
    [[nodiscard]] std::size_t at(std::string_view profile, std::int64_t start) const {
        return states.place_of({position(profile), mig_units{start}}).value();
    }
    [[nodiscard]] std::size_t position(std::string_view profile) const {
        return static_cast<std::size_t>(*find_profile(states.model(), profile) - states.model().profiles.data());
    }
    [[nodiscard]] std::string words(const std::optional<device_repack>& repack) const {
        if (!repack) return "none";
        const auto place = [&](std::optional<std::size_t> where) {
            return where ? std::to_string(states.places()[*where].slot.start.count()) : std::string{"host"};
        };
        std::string text;
        for (const instance_move& step : repack->steps) {
            text += std::to_string(step.instance) + ":" + place(step.from) + ">" + place(step.to) + " ";
        }
        return text + "@" + place(repack->place);
    }
    [[nodiscard]] std::optional<device_repack> repack(const std::vector<held_instance>& held, std::string_view profile,
                                                      const repack_options& options = {}) const {
        return repack_device(states, held, position(profile), options).value();
    }

    gpu_layouts states = gpu_layouts::make(model("A100-40GB")).value();
};

TEST_F(repack_a100, nothing_moves_where_it_fits_already) {
    EXPECT_EQ(words(repack({{at("1g.5gb", 0)}}, "3g.20gb")), "@4");
    EXPECT_EQ(words(repack({}, "1g.5gb")), "@6") << "the start that leaves most";
}

TEST_F(repack_a100, the_lighter_of_two_moves) {
    const std::vector<held_instance> light_first{{at("1g.5gb", 0), true, 1}, {at("1g.5gb", 4), true, 5}};
    EXPECT_EQ(words(repack(light_first, "3g.20gb")), "0:0>5 @0");
    const std::vector<held_instance> light_last{{at("1g.5gb", 0), true, 5}, {at("1g.5gb", 4), true, 1}};
    EXPECT_EQ(words(repack(light_last, "3g.20gb")), "1:4>1 @4");
    EXPECT_EQ(repack(light_last, "3g.20gb")->weight, 1);
}

TEST_F(repack_a100, who_may_not_move_stays) {
    const std::vector<held_instance> held{{at("1g.5gb", 0), false}, {at("1g.5gb", 4), true, 9}};
    const auto moved = repack(held, "3g.20gb");
    ASSERT_TRUE(moved.has_value());
    EXPECT_EQ(moved->steps.size(), 1U);
    EXPECT_EQ(moved->steps.front().instance, 1U);
    const std::vector<held_instance> both{{at("1g.5gb", 0), false}, {at("1g.5gb", 4), false}};
    EXPECT_EQ(words(repack(both, "3g.20gb")), "none");
    EXPECT_EQ(words(repack(held, "3g.20gb", {.moves_max = 0})), "none");
}

TEST_F(repack_a100, none_where_the_instances_and_the_wanted_one_cannot_exist_together) {
    const std::vector<held_instance> held{{at("2g.10gb", 0)}, {at("3g.20gb", 4)}};
    EXPECT_EQ(words(repack(held, "4g.20gb", {.moves_max = 16})), "none") << "ten memory slices";
    EXPECT_EQ(words(repack(held, "4g.20gb", {.moves_max = 16, .may_wait = true})), "none");
}

/// A GPU has one +me instance at a time, so that its new one cannot exist beside the old one.
TEST_F(repack_a100, a_pod_waits_where_its_two_instances_cannot_exist_at_once) {
    const std::vector<held_instance> held{{at("1g.5gb+me", 0)}, {at("1g.5gb", 1)}};
    EXPECT_EQ(words(repack(held, "4g.20gb", {.moves_max = 4})), "none");
    EXPECT_EQ(words(repack(held, "4g.20gb", {.may_wait = true})), "1:1>5 0:0>host 0:host>4 @0");
}

TEST_F(repack_a100, without_waiting_others_move_instead) {
    const std::vector<held_instance> held{{at("1g.5gb+me", 0)}, {at("1g.5gb", 4)}, {at("1g.5gb", 5)}};
    EXPECT_EQ(words(repack(held, "3g.20gb", {.may_wait = true})), "0:0>host 0:host>6 @0");
    const auto others = repack(held, "3g.20gb");
    ASSERT_TRUE(others.has_value());
    EXPECT_EQ(others->moves, 2);
    EXPECT_EQ(others->place, at("3g.20gb", 4));
}

/// On a GPU of five units, a of one unit is at 0 and b of two at 2. The c wants 3 and 4, so b goes to 0 and a to 2:
/// each has what the other one wants.
TEST(device_repack, a_cycle_goes_through_a_spare_place) {
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
    const auto states = gpu_layouts::make(gpu).value();
    const std::vector<held_instance> held{{0}, {4}}; // a at 0, b at 2; places: a 0, 2, 4; b 0, 2; c 3
    const auto spare = repack_device(states, held, 2).value();
    ASSERT_TRUE(spare.has_value());
    EXPECT_EQ(spare->steps, (std::vector<instance_move>{{0, 0, 2}, {1, 4, 3}, {0, 2, 1}})) << "a by 4";
    EXPECT_EQ(spare->moves, 3);
    const auto waiting = repack_device(states, held, 2, {.may_wait = true}).value();
    ASSERT_TRUE(waiting.has_value());
    EXPECT_EQ(waiting->steps, (std::vector<instance_move>{{0, 0, std::nullopt}, {1, 4, 3}, {0, std::nullopt, 1}}));
    EXPECT_EQ(waiting->moves, 2);
    EXPECT_FALSE(repack_device(states, held, 2, {.moves_max = 2}).value().has_value());
}

TEST_F(repack_a100, instances_are_numbered_as_they_are_held) {
    const plan::mig_places layout = (std::uint64_t{1} << at("1g.5gb", 2)) | (std::uint64_t{1} << at("2g.10gb", 4));
    const auto held = held_by(states, layout);
    ASSERT_EQ(held.size(), 2U);
    EXPECT_EQ(held[0], (held_instance{at("1g.5gb", 2), true, 1}));
    EXPECT_EQ(held[1], (held_instance{at("2g.10gb", 4), true, 2}));
}

TEST_F(repack_a100, questions_that_make_no_sense) {
    const auto code = [&](const std::vector<held_instance>& held, std::size_t profile, std::int64_t moves = 3) {
        return repack_device(states, held, profile, {.moves_max = moves}).error();
    };
    EXPECT_EQ(code({{99}}, 0).field, "place");
    EXPECT_EQ(code({{0}, {0}}, 0).code, error_code::duplicate);
    EXPECT_EQ(code({{0, true, -1}}, 0).field, "weight");
    EXPECT_EQ(code({{at("3g.20gb", 0)}, {at("4g.20gb", 0)}}, 0).code, error_code::mismatch);
    EXPECT_EQ(code({}, 99).field, "profile");
    EXPECT_EQ(code({}, 0, 17).field, "moves");
}

/// Two instances without a pod are in the way of the new place of one and of what is wanted; the downtime of a pod that
/// waits contains what is created and destroyed meanwhile.
TEST_F(repack_a100, steps_of_a_driver) {
    const auto planner = plan::mig_transitions::make(model("A100-40GB")).value();
    const auto bit = [&](std::string_view profile, std::int64_t start) {
        return std::uint64_t{1} << at(profile, start);
    };
    const std::vector<held_instance> held{{at("1g.5gb+me", 0)}};
    const plan::mig_places busy = bit("1g.5gb+me", 0);
    const plan::mig_live_state live{busy | bit("2g.10gb", 2) | bit("1g.5gb", 6), busy, 0};
    const auto waiting = repack(held, "4g.20gb", {.may_wait = true});
    ASSERT_EQ(words(waiting), "0:0>host 0:host>6 @0");
    const auto steps = plan::steps_of(planner, live, held, *waiting);
    std::string text;
    for (const auto& step : steps.steps)
        text += std::string{name_of(step.kind)} + std::to_string(step.start.count()) + " ";
    EXPECT_EQ(text, "save0 destroy6 destroy0 create6 restore6 destroy2 create0 ");
    const auto& costs = planner.costs();
    EXPECT_EQ(steps.downtime, planner.move_cost(position("1g.5gb+me")) + costs.destroy * 2 + costs.create);
    EXPECT_EQ(steps.cost, steps.downtime + costs.destroy + costs.create);
}

} // namespace
} // namespace vgpualloc
