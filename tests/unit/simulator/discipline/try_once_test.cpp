#include "vgpusim/discipline/try_once.hpp"

#include <gtest/gtest.h>

#include "../replayed.hpp"

namespace {

using vgpusim_test::at;
using vgpusim_test::built;
using vgpusim_test::gpu_node;
using vgpusim_test::replayed;
using vgpusim_test::whole;

TEST(try_once, gives_a_pod_up_that_does_not_fit_when_it_arrives) {
    vgpusim::try_once rules;
    EXPECT_FALSE(rules.keeps_waiting());
    const replayed run{built({gpu_node("n", 1)},
                             {at(whole("p0", 1), 0, 10), at(whole("p1", 1), 2, 7), at(whole("p2", 1), 11, 12)}, 0.0,
                             true),
                       rules};
    EXPECT_EQ(run.placed(), (std::vector<bool>{true, false, true})) << "nothing is tried again when p0 has ended";
    EXPECT_EQ(run.result.failed, 1);
    EXPECT_EQ(run.result.decisions, 3);
}

} // namespace
