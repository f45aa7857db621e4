#include "vgpusim/discipline/try_once.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace {

using vgpualloc::ticks;
using vgpusim::discipline;
using vgpusim::try_once;

TEST(try_once, tries_a_pod_when_it_arrives) {
    try_once rules;
    std::vector<discipline::attempt> attempts;
    rules.on_arrival(3, ticks{17}, attempts);
    rules.on_arrival(1, ticks{17}, attempts);
    ASSERT_EQ(attempts.size(), 2U); // appended, not replaced
    EXPECT_EQ(attempts[0].pod, 3U);
    EXPECT_EQ(attempts[0].time, ticks{17});
    EXPECT_EQ(attempts[1].pod, 1U);
}

TEST(try_once, gives_a_rejected_pod_up_and_never_tries_again) {
    try_once rules;
    std::vector<discipline::attempt> attempts;
    EXPECT_TRUE(rules.on_rejection(0, {}, ticks{1}, attempts));
    rules.on_finish(2, ticks{5}, attempts);
    EXPECT_TRUE(attempts.empty());
}

} // namespace
