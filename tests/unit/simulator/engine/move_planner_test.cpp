#include "vgpusim/engine/move_planner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../replayed.hpp"
#include "vgpusim/discipline/try_once.hpp"

namespace {

using testing::SizeIs;
using vgpualloc::pod_id;
using vgpusim_test::at;
using vgpusim_test::built;
using vgpusim_test::gpu_node;
using vgpusim_test::replayed;
using vgpusim_test::share;
using vgpusim_test::whole;

/// Two GPUs, of which the first has a half and the second 0.4 that is left of two pods.
struct two_half_gpus {
    two_half_gpus()
        : run{built({gpu_node("n", 2)},
                    {at(share("p0", 500), 0), at(share("p1", 600), 1, 5), at(share("p2", 400), 2),
                     at(whole("p3", 1), 10)},
                    0.0, true),
              rules} {}
    [[nodiscard]] vgpusim::room_wanted question() {
        return {.book = &run.book, .request = &request_of(3), .tokens = 5.0, .movable = [this](pod_id pod) {
                    return &request_of(static_cast<std::uint32_t>(pod.at()));
                }};
    }
    [[nodiscard]] const vgpualloc::pod_request& request_of(std::uint32_t pod) const {
        return run.input.requests[run.input.pods[pod].request];
    }

    vgpusim::try_once rules;
    replayed run;
    std::unique_ptr<vgpualloc::policy> ranking = vgpusim_test::policy_for(run.input, "best_fit");
    std::unique_ptr<vgpusim::move_planner> planner = vgpusim::planner_for(*ranking, 3);
};

TEST(move_planner, one_half_goes_to_the_other_so_that_a_whole_gpu_is_free) {
    two_half_gpus state;
    const auto planned = state.planner->plan(state.question());
    ASSERT_TRUE(planned.has_value());
    ASSERT_THAT(planned->moves, SizeIs(1));
    EXPECT_EQ(planned->where.shares[0].device, planned->moves.front().from.shares[0].device);
    EXPECT_NE(planned->moves.front().to.shares[0].device, planned->where.shares[0].device);
}

TEST(move_planner, without_tokens_or_pods_that_may_move_there_is_no_plan) {
    two_half_gpus state;
    auto question = state.question();
    question.tokens = 0.5;
    EXPECT_FALSE(state.planner->plan(question).has_value());
    EXPECT_FALSE(state.planner->tidy(question).has_value());
    question = state.question();
    question.movable = [](pod_id) { return nullptr; };
    EXPECT_FALSE(state.planner->plan(question).has_value());
}

TEST(move_planner, tidying_empties_a_gpu) {
    two_half_gpus state;
    auto question = state.question();
    question.request = nullptr;
    const auto planned = state.planner->tidy(question);
    ASSERT_TRUE(planned.has_value());
    EXPECT_THAT(planned->moves, SizeIs(1));
}

} // namespace
