#include "vgpufacade/stepper.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_run.hpp"

namespace {

using facade_test::small_run;
using vgpufacade::stepper;

vgpufacade::prepared_simulation prepared(const small_run& run) {
    return vgpufacade::prepared_simulation::prepare(run.source, run.options).value();
}

std::string pods_of(const vgpufacade::simulation_outcome& outcome) { return outcome.files().front().second; }

TEST(stepper, decides_as_the_run_does_where_the_policy_decides) {
    small_run run;
    run.options.config.departures = true;
    auto steps = stepper::begin(prepared(run));
    ASSERT_TRUE(steps) << steps.error().message();
    std::size_t decisions = 0;
    while (const auto job = steps->next()) {
        EXPECT_EQ(job->pods, 1U);
        EXPECT_EQ(job->time, steps->input().pods[job->first_pod].arrival);
        steps->decide();
        ++decisions;
    }
    EXPECT_EQ(decisions, 5U);
    const auto outcome = std::move(*steps).end();
    ASSERT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(pods_of(*outcome), pods_of(*run.outcome()));
}

TEST(stepper, lets_the_caller_decide) {
    small_run run;
    auto steps = stepper::begin(prepared(run));
    ASSERT_TRUE(steps);
    std::vector<std::string> placed;
    const vgpualloc::node_index first{0U};
    const std::optional<vgpualloc::node_index> nodes[] = {first};
    while (const auto job = steps->next()) {
        if (!steps->place_on(nodes)) {
            steps->leave();
            continue;
        }
        placed.push_back(steps->input().name_of(steps->input().pods[job->first_pod]));
    }
    EXPECT_FALSE(placed.empty());
    EXPECT_LT(placed.size(), 5U) << "one node is too small for all";
    const auto outcome = std::move(*steps).end();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->record().rows.placed, static_cast<std::int64_t>(placed.size()));
}

TEST(stepper, leaves_what_nobody_decides) {
    auto steps = stepper::begin(prepared(small_run{}));
    ASSERT_TRUE(steps);
    const auto outcome = std::move(*steps).end();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->record().rows.failed, 5);
}

TEST(stepper, refuses_what_it_has_no_steps_for) {
    small_run run;
    run.options.config.discipline = "fifo";
    EXPECT_EQ(stepper::begin(prepared(run)).error().field, "discipline");
    small_run compared;
    compared.options.baseline = compared.options.config;
    EXPECT_EQ(stepper::begin(prepared(compared)).error().field, "baseline");
}

} // namespace
