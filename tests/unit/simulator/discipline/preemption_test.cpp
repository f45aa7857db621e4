#include "vgpusim/discipline/preemption.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../job_lists.hpp"

namespace {

using testing::ElementsAre;
using vgpusim_test::ruled;
using vgpusim_test::workload_of;

TEST(start_by_preempting, stops_the_lowest_priority_and_as_few_jobs_as_it_must) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 100, .gpus = 2, .priority = 3}, // n0
                                   {.arrival = 1, .duration = 100, .gpus = 1, .priority = 1}, // n1, with the next one
                                   {.arrival = 2, .duration = 100, .gpus = 1, .priority = 2},
                                   {.arrival = 3, .duration = 10, .gpus = 1, .priority = 9}},
                                  2, 2);
    const ruled run{jobs, "priority"};
    EXPECT_THAT(run.ends(), ElementsAre(100, 113, 102, 13));
    EXPECT_EQ(run.result().disturbed.preemptions, 1);
}

TEST(start_by_preempting, stops_all_pods_of_a_gang) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 100, .gpus = 2, .priority = 1, .pods = 2},
                                   {.arrival = 3, .duration = 10, .gpus = 1, .priority = 9}},
                                  2, 2);
    const ruled run{jobs, "priority"};
    EXPECT_THAT(run.ends(), ElementsAre(113, 113, 13));
    EXPECT_EQ(run.result().disturbed.preemptions, 1);
    EXPECT_EQ(run.result().finished, 3);
}

TEST(start_by_preempting, stops_nobody_if_that_does_not_help_or_for_an_equal) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 100, .gpus = 1, .priority = 1},
                                   {.arrival = 0, .duration = 100, .gpus = 1, .priority = 9},
                                   {.arrival = 3, .duration = 10, .gpus = 2, .priority = 5},
                                   {.arrival = 4, .duration = 10, .gpus = 1, .priority = 1}},
                                  1, 2);
    const ruled run{jobs, "priority"};
    EXPECT_EQ(run.result().disturbed.preemptions, 0);
    EXPECT_THAT(run.starts(), ElementsAre(0, 0, 100, 110));
}

TEST(start_by_preempting, places_a_gang_for_which_several_nodes_have_to_give) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 100, .gpus = 2, .priority = 1},
                                   {.arrival = 0, .duration = 100, .gpus = 2, .priority = 2},
                                   {.arrival = 3, .duration = 10, .gpus = 2, .priority = 5, .pods = 2}},
                                  2, 2);
    const ruled run{jobs, "priority"};
    EXPECT_EQ(run.result().disturbed.preemptions, 2);
    EXPECT_THAT(run.starts(), ElementsAre(0, 0, 3, 3));
    EXPECT_THAT(run.ends(), ElementsAre(113, 113, 13, 13));
}

// Placed anew on an emptied cluster, spread would give the small pod the node that the large one needs: jobs of lower
// priority were stopped for nothing, started again, and so on for ever.
TEST(start_by_preempting, a_gang_of_unequal_pods_starts_where_there_was_room_for_it) {
    auto jobs = workload_of({{.arrival = 0, .duration = 100, .gpus = 3, .priority = 9}, // n0
                             {.arrival = 1, .duration = 100, .gpus = 4, .priority = 1}, // n1
                             {.arrival = 3, .duration = 10, .gpus = 1, .priority = 5, .pods = 2},
                             {.arrival = 200, .duration = 10, .gpus = 4}},
                            2, 4);
    jobs.pods[3].request = jobs.pods[1].request; // one of 1 GPU, one of 4
    const ruled run{jobs, "priority", {}, "spread"};
    EXPECT_THAT(run.starts(), ElementsAre(0, 1, 3, 3, 200));
    EXPECT_THAT(run.ends(), ElementsAre(100, 113, 13, 13, 210));
    EXPECT_EQ(run.result().disturbed.preemptions, 1);
}

// CCE: on a node whose GPUs are virtualized, lack of GPU resources preempts nobody.
TEST(start_by_preempting, stops_nobody_for_want_of_devices_that_cce_shares) {
    auto jobs = workload_of({{.arrival = 0, .duration = 100, .gpus = 1, .priority = 1, .cpu_milli = 6000},
                             {.arrival = 3, .duration = 10, .gpus = 1, .priority = 9},
                             {.arrival = 4, .duration = 10, .gpus = 0, .priority = 9, .cpu_milli = 4000}},
                            1, 1);
    jobs.nodes.kinds[0].mode = vgpualloc::find_mode("cce").value();
    jobs.nodes.kinds[0].memory = vgpualloc::mib{16384};
    for (auto& request : jobs.requests) {
        for (auto& container : request.containers) container.memory = vgpualloc::mib{16384};
    }
    const ruled run{jobs, "priority"};
    EXPECT_EQ(run.result().disturbed.preemptions, 1) << "for CPU only";
    EXPECT_EQ(run.starts()[2], 4);
}

} // namespace
