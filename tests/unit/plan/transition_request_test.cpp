// Changes of a GPU's layout asked for in words, and carried out step by step.
#include "vgpualloc/plan/transition_request.hpp"

#include <array>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "brute_force.hpp"

namespace vgpualloc {
namespace {

using plan::layout_plan;
using plan::mig_live_state;
using plan::mig_transitions;
using plan::read_live_state;
using plan::transition_request;
using plan::transition_state;

struct words : testing::Test {
    [[nodiscard]] std::string refusal(const transition_state& state) const {
        const auto live = read_live_state(planner.states(), state, {.instances = "--state", .busy = "--busy"});
        return live ? "" : live.error().message();
    }
    [[nodiscard]] mig_live_state live(const transition_state& state) const {
        return read_live_state(planner.states(), state).value();
    }
    [[nodiscard]] expected<std::optional<layout_plan>> planned(const transition_state& state,
                                                               const transition_request& request) {
        return plan_layout(planner, live(state), request);
    }

    mig_transitions planner = mig_transitions::make(test::model("A100-40GB")).value();
};

TEST_F(words, profiles_go_by_name_or_id) {
    EXPECT_EQ(live({.instances = {"3g.20gb@4", "1g.5gb@0"}, .busy = {"1g.5gb@0"}}),
              live({.instances = {"9@4", "19@0"}, .busy = {"19@0"}}));
}

TEST_F(words, a_state_that_cannot_be_is_refused_with_the_rule) {
    EXPECT_EQ(refusal({.instances = {"3g.20gb"}}), "--state: got '3g.20gb', expected PROFILE@START, like 3g.20gb@4");
    EXPECT_EQ(refusal({.instances = {"3g.20gb@1"}}), "--state: got '3g.20gb@1', expected a start of it: 0, 4");
    EXPECT_EQ(refusal({.instances = {"1g.5gb@0", "1g.5gb@0"}}),
              "--state: got '1g.5gb@0', expected every instance once");
    EXPECT_EQ(refusal({.instances = {"3g.20gb@0", "1g.5gb@2"}}),
              "--state: got '1g.5gb@2', expected memory slices that 3g.20gb@0 does not have");
    EXPECT_EQ(refusal({.instances = {"1g.5gb@0"}, .busy = {"1g.5gb@1"}}),
              "--busy: got '1g.5gb@1', expected an instance of --state");
}

TEST_F(words, steps_lead_to_what_the_plan_says) {
    const std::array<std::pair<transition_state, transition_request>, 3> rows{
        std::pair{
            transition_state{.instances = {"1g.5gb@0", "1g.5gb@4", "2g.10gb@2"}, .busy = {"1g.5gb@0", "1g.5gb@4"}},
            transition_request{.want = "3g.20gb", .moving = {.moves_max = 2}}},
        std::pair{
            transition_state{.instances = {"1g.5gb@0", "1g.5gb@4"}, .busy = {"1g.5gb@0", "1g.5gb@4"}},
            transition_request{.want = "4g.20gb", .moving = {.moves_max = 2, .may_wait = true, .fewest_moves = true}}},
        std::pair{transition_state{.instances = {"3g.20gb@0", "3g.20gb@4"}},
                  transition_request{.group = {"1g.5gb=7"}}}};
    for (const auto& [state, request] : rows) {
        const auto plan = planned(state, request);
        ASSERT_TRUE(plan && *plan) << request.want;
        mig_live_state now = live(state);
        for (const plan::mig_step& step : (*plan)->steps) now = after_step(planner.states(), step, now);
        EXPECT_EQ(now.instances, (*plan)->after.instances) << request.want;
        EXPECT_EQ(now.busy, (*plan)->after.busy) << request.want;
        if (!request.want.empty()) {
            ASSERT_TRUE((*plan)->place);
            const auto instance = plan::mig_places{1} << *(*plan)->place;
            EXPECT_TRUE((now.instances & instance) != 0 && (now.busy & instance) == 0) << request.want;
        }
    }
}

TEST_F(words, what_is_wanted_names_its_own_text_when_it_is_wrong) {
    const auto message = [&](const transition_request& request) { return planned({}, request).error().message(); };
    EXPECT_THAT(message({.want = "9g.1gb"}), testing::StartsWith("want: profile: got '9g.1gb', expected one of "));
    EXPECT_EQ(message({.group = {"1g.5gb"}}), "group: got '1g.5gb', expected PROFILE=COUNT, like 1g.5gb=7");
}

} // namespace
} // namespace vgpualloc
