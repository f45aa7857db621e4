#include "vgpusim/discipline/conservative.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../job_lists.hpp"

namespace {

using testing::ElementsAre;
using vgpusim_test::ruled;
using vgpusim_test::seconds;
using vgpusim_test::workload_of;

TEST(conservative, one_that_lacks_what_is_not_planned_leaves_its_devices_to_others) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 1000, .gpus = 1, .cpu_milli = 6000},
                                   {.arrival = 1, .duration = 1000, .gpus = 1, .cpu_milli = 4000},
                                   {.arrival = 2, .duration = 100, .gpus = 1}},
                                  1, 2);
    EXPECT_THAT(ruled(jobs, "conservative").starts(), ElementsAre(0, 1000, 2));
}

TEST(conservative, a_gang_starts_with_its_minimum) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 10, .gpus = 1, .pods = 4, .minimum = 2}}, 1, 2);
    EXPECT_THAT(ruled(jobs, "conservative").starts(), ElementsAre(0, 0, 10, 10));
}

TEST(conservative, plans_anew_when_somebody_outlives_the_estimate) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 100, .gpus = 3, .estimate = 60},
                                   {.arrival = 1, .duration = 50, .gpus = 4},
                                   {.arrival = 2, .duration = 60, .gpus = 1},
                                   {.arrival = 70, .duration = 5, .gpus = 4}},
                                  1, 4);
    EXPECT_THAT(ruled(jobs, "conservative").starts(), ElementsAre(0, 100, 150, 210));
}

TEST(conservative, a_device_that_drains_is_not_counted_twice) {
    auto jobs =
        workload_of({{.arrival = 0, .duration = 1000, .gpus = 1}, {.arrival = 10, .duration = 50, .gpus = 3}}, 1, 4);
    jobs.cluster_events = {{.time = seconds(5),
                            .what = vgpusim::cluster_change::drains,
                            .node = vgpualloc::node_index{0U},
                            .device = vgpualloc::device_index{0U}}};
    EXPECT_THAT(ruled(jobs, "conservative").starts(), ElementsAre(0, 10));
}

TEST(conservative, refuses_nodes_of_which_some_devices_serve_a_pod_and_others_do_not) {
    auto jobs = workload_of({{.arrival = 0, .duration = 10, .gpus = 1}}, 1, 2);
    EXPECT_TRUE(vgpusim::conservative::check(jobs, jobs.nodes));
    jobs.nodes.kinds.push_back(jobs.nodes.kinds.front());
    jobs.nodes.kinds.back().mode = vgpualloc::find_mode("mps").value();
    jobs.requests[0].containers[0].mode = "hami_core";
    jobs.nodes.nodes[0].devices[1].kind = 1;
    const auto refused = vgpusim::conservative::check(jobs, jobs.nodes);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().field, "discipline");
}

} // namespace
