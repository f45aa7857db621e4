// The pool reference: nothing is lost to fragmentation, and what leaves gives back what it took.
#include "vgpusim/bound/pool.hpp"

#include <gtest/gtest.h>

#include "../workloads.hpp"

namespace {

using vgpusim_test::at;
using vgpusim_test::built;
using vgpusim_test::cpu_only;
using vgpusim_test::gpu_node;
using vgpusim_test::share;
using vgpusim_test::whole;

TEST(pool, devices_are_one) {
    // Three of 600 milli fit into two devices' worth, which no two devices can give.
    const auto input = built({gpu_node("n", 1), gpu_node("m", 1)},
                             {at(share("a", 600), 1), at(share("b", 600), 2), at(share("c", 600), 3),
                              at(share("d", 300), 4), at(share("e", 200), 5), at(cpu_only("f"), 6)},
                             0.0, true);
    const auto outcome = vgpusim::replay_pool(input);
    EXPECT_EQ(outcome.placed, (std::vector{true, true, true, false, true, true}));
    EXPECT_EQ(outcome.arrived.pods, 5);
    EXPECT_EQ(outcome.accepted.pods, 4);
    EXPECT_EQ(outcome.arrived.memory_units, 2300);
    EXPECT_EQ(outcome.accepted.memory_units, 2000);
}

TEST(pool, room_comes_back_at_the_instant_that_a_pod_leaves) {
    const auto input =
        built({gpu_node("n", 2)},
              {at(whole("a", 2), 1, 5), at(whole("b", 1), 4), at(whole("c", 1), 5), at(whole("d", 2), 6)}, 0.0, true);
    EXPECT_EQ(vgpusim::replay_pool(input).placed, (std::vector{true, false, true, false}));
}

TEST(pool, a_pod_that_no_kind_serves_is_lost) {
    auto picky = share("a", 500);
    picky.gpu_spec = "OTHER";
    const auto outcome = vgpusim::replay_pool(built({gpu_node("n", 2)}, {picky}));
    EXPECT_EQ(outcome.placed, std::vector{false});
    EXPECT_EQ(outcome.arrived.memory_units, 0);
}

} // namespace
