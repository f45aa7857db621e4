// What policies learn of a snapshot.
#include "vgpualloc/explain/snapshot_learning.hpp"

#include <string>

#include <gtest/gtest.h>

#include "../kube/snapshots.hpp"
#include "vgpualloc/policy/bid_price.hpp"

using namespace kube_test;
using vgpualloc::policies::bid_price;
namespace explaining = vgpualloc::explaining;

namespace {

const std::string pods_of_two_kinds = gpu_node("n0", card("A") + card("B")) +
                                      pod("r", vgpu(1, 10'240), "n0", "volcano.sh/vgpu-ids-new: 'A,NVIDIA,10240,0:'") +
                                      pod("s", vgpu(1, 10'240), "n0", "volcano.sh/vgpu-ids-new: 'B,NVIDIA,10240,0:'") +
                                      pod("p", vgpu(2, 40'960)) + pod("q", vgpu(1, 10'240)) + pod("bad", vgpu(1, -5));

} // namespace

TEST(snapshot_learning, the_pods_that_are_there_have_arrived) {
    const auto state = snapshot_of(pods_of_two_kinds);
    bid_price scorer{vgpualloc::policy_parameters{}};
    explaining::learn_of_pods(state, {.node = &scorer, .device = &scorer});
    const auto learned = scorer.learned();
    ASSERT_EQ(learned->slots.size(), 2U) << "what cannot be read has not arrived";
    EXPECT_EQ(words_of(learned->slots[0].of), "0.25 of a GPU");
    EXPECT_NEAR(learned->slots[0].of.share, 3.0 / 4.0, 1e-3);
    EXPECT_EQ(words_of(learned->slots[1].of), "2 whole GPUs");
    EXPECT_EQ(learned->turnover, 0.0) << "nobody has left";
    for (int i = 0; i < 4; ++i) {
        scorer.note_arrival(state.pending[0].request, *state.book);
    }
    EXPECT_NEAR(scorer.learned()->slots[1].of.share, 5.0 / 8.0, 1e-3) << "8 arrivals, of which 5 are of two GPUs";
}

TEST(snapshot_learning, two_policies_hear_of_each_pod_once) {
    const auto state = snapshot_of(pods_of_two_kinds);
    bid_price nodes{vgpualloc::policy_parameters{}};
    bid_price devices{vgpualloc::policy_parameters{}};
    explaining::learn_of_pods(state, {.node = &nodes, .device = &devices});
    ASSERT_EQ(nodes.learned()->slots.size(), 2U);
    EXPECT_EQ(nodes.learned()->slots, devices.learned()->slots);
}
