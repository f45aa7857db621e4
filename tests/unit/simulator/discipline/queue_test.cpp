#include "vgpusim/discipline/queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../job_lists.hpp"

namespace {

using testing::ElementsAre;
using vgpualloc::device_index;
using vgpualloc::node_index;
using vgpualloc::rejection_code;
using vgpusim::cluster_change;
using vgpusim_test::ruled;
using vgpusim_test::seconds;
using vgpusim_test::workload_of;

TEST(queue, fifo_lets_nobody_overtake_and_gang_whoever_fits) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 10, .gpus = 3},
                                   {.arrival = 1, .duration = 10, .gpus = 2},
                                   {.arrival = 2, .duration = 100, .gpus = 1}},
                                  1, 4);
    EXPECT_THAT(ruled(jobs, "fifo").starts(), ElementsAre(0, 10, 10));
    EXPECT_THAT(ruled(jobs, "gang").starts(), ElementsAre(0, 10, 2));
}

TEST(queue, easy_lets_overtake_who_ends_in_time_or_takes_what_the_first_one_does_not_need) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 10, .gpus = 2},
                                   {.arrival = 1, .duration = 10, .gpus = 3}, // promised second 10, leaving one GPU
                                   {.arrival = 2, .duration = 100, .gpus = 2},
                                   {.arrival = 3, .duration = 7, .gpus = 1},    // ends at 10
                                   {.arrival = 4, .duration = 100, .gpus = 1}}, // the GPU that is left
                                  1, 4);
    EXPECT_THAT(ruled(jobs, "easy").starts(), ElementsAre(0, 10, 20, 3, 4));
}

TEST(queue, easy_plans_with_estimates_and_the_first_one_starts_no_later_than_promised) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 5, .gpus = 3, .estimate = 50},
                                   {.arrival = 1, .duration = 10, .gpus = 4},
                                   {.arrival = 2, .duration = 49, .gpus = 1},
                                   {.arrival = 2, .duration = 48, .gpus = 1}},
                                  1, 4);
    // At second 5 the third job is still too long for the promise, which is second 5 itself now.
    EXPECT_THAT(ruled(jobs, "easy").starts(), ElementsAre(0, 50, 60, 2));
}

TEST(queue, easy_may_use_another_node_than_the_one_that_the_first_job_is_promised) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 10, .gpus = 2},
                                   {.arrival = 0, .duration = 30, .gpus = 1},
                                   {.arrival = 1, .duration = 10, .gpus = 2},
                                   {.arrival = 2, .duration = 100, .gpus = 1}},
                                  2, 2);
    EXPECT_THAT(ruled(jobs, "easy").starts(), ElementsAre(0, 0, 10, 2));
}

TEST(queue, easy_counts_parts_of_gpus_and_host_resources) {
    const auto parts = workload_of({{.arrival = 0, .duration = 10, .milli = 600},
                                    {.arrival = 1, .duration = 10},
                                    {.arrival = 2, .duration = 20, .milli = 300}, // would delay the second
                                    {.arrival = 3, .duration = 5, .milli = 300}},
                                   1, 1);
    EXPECT_THAT(ruled(parts, "easy").starts(), ElementsAre(0, 10, 20, 3));
    const auto cpus = workload_of({{.arrival = 0, .duration = 10, .gpus = 0, .cpu_milli = 6000},
                                   {.arrival = 1, .duration = 10, .gpus = 1, .cpu_milli = 4000},
                                   {.arrival = 2, .duration = 20, .gpus = 0, .cpu_milli = 2000},
                                   {.arrival = 3, .duration = 20, .gpus = 0, .cpu_milli = 2000}},
                                  1, 1);
    EXPECT_THAT(ruled(cpus, "easy").starts(), ElementsAre(0, 10, 2, 10));
}

TEST(queue, a_gang_starts_as_a_whole_or_waits_and_easy_promises_it_a_time) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 10, .gpus = 2},
                                   {.arrival = 0, .duration = 20, .gpus = 1},
                                   {.arrival = 1, .duration = 10, .gpus = 2, .pods = 2},
                                   {.arrival = 2, .duration = 18, .gpus = 1},
                                   {.arrival = 2, .duration = 19, .gpus = 1}},
                                  2, 2);
    for (const char* discipline : {"easy", "priority+easy"}) {
        const ruled run{jobs, discipline};
        EXPECT_THAT(run.starts(), ElementsAre(0, 0, 20, 20, 2, 30)) << discipline;
    }
    EXPECT_THAT(ruled(jobs, "fifo").starts(), ElementsAre(0, 0, 20, 20, 30, 30));
}

TEST(queue, a_gang_may_start_with_its_minimum_and_the_others_follow) {
    const auto jobs = workload_of(
        {{.arrival = 0, .duration = 10, .gpus = 2}, {.arrival = 1, .duration = 30, .gpus = 1, .pods = 4, .minimum = 2}},
        2, 2);
    const ruled run{jobs, "fifo"};
    EXPECT_THAT(run.starts(), ElementsAre(0, 1, 1, 10, 10));
    EXPECT_THAT(run.ends(), ElementsAre(10, 31, 31, 40, 40));
}

TEST(queue, a_job_that_an_empty_cluster_could_not_take_fails_and_holds_up_nobody) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 10, .gpus = 5},
                                   {.arrival = 1, .duration = 10, .gpus = 2, .pods = 3},
                                   {.arrival = 2, .duration = 10, .gpus = 4}},
                                  1, 4);
    for (const char* discipline : {"fifo", "easy", "conservative", "priority", "gang"}) {
        const ruled run{jobs, discipline};
        EXPECT_THAT(run.starts(), ElementsAre(-1, -1, -1, -1, 2)) << discipline;
        EXPECT_EQ(run.result().failed, 4);
        EXPECT_EQ(run.result().pods[0].reason, rejection_code::too_few_devices);
    }
}

TEST(queue, higher_priority_goes_first_and_stops_lower_which_runs_again_from_its_beginning) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 10, .gpus = 3, .priority = 1},
                                   {.arrival = 1, .duration = 10, .gpus = 1, .priority = 2},
                                   {.arrival = 4, .duration = 5, .gpus = 3, .priority = 5},
                                   {.arrival = 5, .duration = 5, .gpus = 4, .priority = 1}},
                                  1, 4);
    const ruled run{jobs, "priority"};
    EXPECT_THAT(run.starts(), ElementsAre(0, 1, 4, 19));
    EXPECT_THAT(run.ends(), ElementsAre(19, 11, 9, 24)) << "the first one waits for three GPUs until second 9";
    EXPECT_EQ(run.result().disturbed.preemptions, 1);
    EXPECT_EQ(run.result().times[0].starts, 2U);
    EXPECT_DOUBLE_EQ(run.result().disturbed.unit_seconds_redone.larger(), 3000.0 * 4.0);
    EXPECT_EQ(run.result().placed, 4);
    EXPECT_EQ(run.result().finished, 4);
}

TEST(queue, quotas_are_kept_and_hold_up_only_their_own_queue) {
    auto jobs = workload_of({{.arrival = 0, .duration = 10, .gpus = 2, .queue = 0},
                             {.arrival = 1, .duration = 10, .gpus = 1, .queue = 0},
                             {.arrival = 2, .duration = 10, .gpus = 1, .queue = 1}},
                            1, 4);
    jobs.queues = {{.name = "a", .guaranteed = {.devices = 2}, .limit = {.devices = 2}},
                   {.name = "b", .guaranteed = {.devices = 2}, .limit = {}}};
    for (const char* discipline : {"fifo", "easy", "gang", "priority"}) {
        EXPECT_THAT(ruled(jobs, discipline).starts(), ElementsAre(0, 10, 2)) << discipline;
    }
}

TEST(queue, what_a_failure_stops_waits_at_its_old_place_and_is_lost_only_on_request) {
    auto jobs = workload_of({{.arrival = 0, .duration = 10, .gpus = 1},
                             {.arrival = 0, .duration = 10, .gpus = 1},
                             {.arrival = 1, .duration = 10, .gpus = 1}},
                            1, 2);
    jobs.cluster_events = {
        {.time = seconds(4), .what = cluster_change::stops, .node = node_index{0}, .device = device_index{0}},
        {.time = seconds(30), .what = cluster_change::resumes, .node = node_index{0}, .device = device_index{0}}};
    const ruled again{jobs, "fifo"};
    EXPECT_THAT(again.ends(), ElementsAre(20, 10, 30)) << "the first one is before the third";
    EXPECT_EQ(again.result().disturbed.pods_stopped, 1);
    EXPECT_EQ(again.result().disturbed.pods_lost, 0);
    const ruled lost{jobs, "fifo", {.on_failure = vgpusim::after_failure::lose}};
    EXPECT_THAT(lost.ends(), ElementsAre(-1, 10, 20));
    EXPECT_EQ(lost.result().disturbed.pods_lost, 1);
}

TEST(queue, what_starts_again_elsewhere_has_migrated) {
    // Two nodes of one device: the failure of the first one sends its job to the second one, once that is free. Until
    // then jobs without devices come and go there, so many that a run which keeps the pods alone uses the place of the
    // first booking again.
    std::vector<vgpusim_test::test_job> lines(2, {.arrival = 0, .duration = 10, .gpus = 1});
    for (const std::int64_t second : {5, 7}) {
        lines.insert(lines.end(), 1000, {.arrival = second, .duration = 1, .gpus = 0, .estimate = 1, .cpu_milli = 1});
    }
    auto jobs = workload_of(lines, 2, 1);
    jobs.cluster_events = {{.time = seconds(4), .what = cluster_change::stops, .node = node_index{0}, .device = {}},
                           {.time = seconds(90), .what = cluster_change::resumes, .node = node_index{0}, .device = {}}};
    auto at_once = jobs;
    at_once.cluster_events[1].time = seconds(5);
    for (const auto kept : {vgpusim::kept_of_run::everything, vgpusim::kept_of_run::pods}) {
        const ruled away{jobs, "easy", {.kept = kept}};
        EXPECT_EQ(away.result().disturbed.migrations, 1);
        const ruled back{at_once, "easy", {.kept = kept}};
        EXPECT_EQ(back.result().disturbed.pods_stopped, 1);
        EXPECT_EQ(back.result().disturbed.migrations, 0) << "on the node that it was on";
    }
}

TEST(queue, a_drained_node_ends_what_it_has_and_takes_nothing) {
    auto jobs =
        workload_of({{.arrival = 0, .duration = 10, .gpus = 1}, {.arrival = 5, .duration = 10, .gpus = 1}}, 1, 2);
    jobs.cluster_events = {{.time = seconds(1), .what = cluster_change::drains, .node = node_index{0}, .device = {}},
                           {.time = seconds(50), .what = cluster_change::resumes, .node = node_index{0}, .device = {}}};
    for (const char* discipline : {"fifo", "easy", "conservative", "gang"}) {
        EXPECT_THAT(ruled(jobs, discipline).ends(), ElementsAre(10, 60)) << discipline;
    }
}

// It fits beside the head's devices only at first; later another node has room for it, as it was planned to have.
TEST(queue, easy_lets_one_that_would_delay_the_first_on_one_node_start_on_another) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 100, .gpus = 2}, // n0
                                   {.arrival = 0, .duration = 200, .gpus = 1}, // n1, with the next one
                                   {.arrival = 0, .duration = 50, .gpus = 2},
                                   {.arrival = 1, .duration = 10, .gpus = 3}, // the head: on n0, when the first ends
                                   {.arrival = 2, .duration = 1000, .gpus = 1}},
                                  2, 3);
    const ruled run{jobs, "easy", {}, "spread"};
    EXPECT_THAT(run.starts(), ElementsAre(0, 0, 0, 100, 50));
}

/// A cluster of one node of eight GPUs with two queues, of which the first may have four.
vgpusim::simulation_input limited(const std::vector<vgpusim_test::test_job>& jobs) {
    auto input = workload_of(jobs, 1, 8);
    input.queues = {{.name = "a", .guaranteed = {}, .limit = {.devices = 4}},
                    {.name = "b", .guaranteed = {}, .limit = {}}};
    return input;
}

TEST(queue, easy_leaves_the_first_one_the_quota_that_it_needs) {
    const auto jobs = limited({{.arrival = 0, .duration = 100, .gpus = 6, .queue = 1},
                               {.arrival = 1, .duration = 50, .gpus = 4},   // waits for devices
                               {.arrival = 2, .duration = 1000, .gpus = 2}, // would take half of its quota
                               {.arrival = 3, .duration = 90, .gpus = 2}}); // ends in time
    EXPECT_THAT(ruled(jobs, "easy").starts(), ElementsAre(0, 100, 150, 3));
}

TEST(queue, one_without_quota_holds_up_those_behind_it_in_its_queue) {
    const auto jobs = limited({{.arrival = 0, .duration = 100, .gpus = 2},
                               {.arrival = 1, .duration = 50, .gpus = 4},
                               {.arrival = 2, .duration = 1000, .gpus = 2},
                               {.arrival = 3, .duration = 10, .gpus = 1, .queue = 1}});
    for (const char* discipline : {"fifo", "easy", "priority+fifo", "priority+easy", "conservative"}) {
        EXPECT_THAT(ruled(jobs, discipline).starts(), ElementsAre(0, 100, 150, 3)) << discipline;
    }
    EXPECT_THAT(ruled(jobs, "gang").starts(), ElementsAre(0, 1002, 2, 3)) << "whoever fits";
}

// What a job that was tried in vain had reserved meanwhile was taken for lasting, so that the first one was promised
// no time at all, and everybody overtook it.
TEST(queue, easy_keeps_its_promise_after_jobs_that_would_have_broken_it) {
    const auto jobs = workload_of({{.arrival = 0, .duration = 100, .gpus = 4},
                                   {.arrival = 1, .duration = 50, .gpus = 6}, // the first one: at 100
                                   {.arrival = 2, .duration = 10, .gpus = 1},
                                   {.arrival = 2, .duration = 1000, .gpus = 1, .cpu_milli = 1}, // would delay it
                                   {.arrival = 5, .duration = 1000, .gpus = 1}},
                                  1, 6);
    EXPECT_THAT(ruled(jobs, "easy").starts(), ElementsAre(0, 100, 2, 150, 150));
}

TEST(queue, easy_counts_the_time_that_mig_instances_take) {
    auto jobs = workload_of({{.arrival = 0, .duration = 100, .gpus = 1},
                             {.arrival = 1, .duration = 50, .gpus = 2},
                             {.arrival = 2, .duration = 90, .gpus = 1}},
                            1, 2);
    EXPECT_THAT(ruled(jobs, "easy").starts(), ElementsAre(0, 100, 2));
    EXPECT_THAT(ruled(jobs, "easy", {.layout_change = vgpusim_test::seconds(20)}).starts(), ElementsAre(0, 100, 150))
        << "it might begin 20 s later";
}

TEST(queue, a_gang_that_some_order_of_packing_takes_is_not_given_up) {
    auto jobs = workload_of({{.arrival = 0, .duration = 10, .gpus = 3, .pods = 4}}, 2, 8);
    jobs.requests.push_back(vgpualloc::openb::make_request({}, {}, 5, vgpualloc::milli_gpu{1000}, ""));
    jobs.requested.add(vgpusim::requested_milli(5, vgpualloc::whole_gpu));
    jobs.pods[2].request = jobs.pods[3].request = 1; // 3, 3, 5, 5
    EXPECT_THAT(ruled(jobs, "fifo", {}, "spread").starts(), ElementsAre(0, 0, 0, 0));
}

TEST(queue, late_members_do_not_delay_a_first_one_that_was_stopped_before) {
    auto jobs = workload_of({{.arrival = 0, .duration = 50, .gpus = 4}, // on n0, which fails
                             {.arrival = 1, .duration = 99, .gpus = 2}, // on n1
                             {.arrival = 2, .duration = 198, .gpus = 2, .pods = 2, .minimum = 1}},
                            2, 4);
    jobs.cluster_events = {{.time = vgpusim_test::seconds(10),
                            .what = vgpusim::cluster_change::stops,
                            .node = vgpualloc::node_index{0U},
                            .device = std::nullopt}};
    EXPECT_THAT(ruled(jobs, "easy").ends(), ElementsAre(250, 100, 200, 448)) << "the stopped one starts at 200 again";
}

} // namespace
