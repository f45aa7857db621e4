#include "vgpusim/workload/trace_jobs.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/dialect/openb.hpp"
#include "vgpualloc/mode/all.hpp"

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using vgpualloc::ticks;
using vgputraces::trace_job;

vgpualloc::cluster nodes_of(const std::vector<int>& sizes) {
    vgpualloc::cluster nodes;
    for (const int size : sizes) {
        vgpualloc::openb::add_node(nodes, "n" + std::to_string(nodes.nodes.size()), vgpualloc::milli_cpu{64000},
                                   vgpualloc::mib{262144}, size, "G", *vgpualloc::find_mode("hami_core").value());
    }
    return nodes;
}

trace_job job_of(std::int64_t devices, std::string queue = "", std::int64_t arrival = 0) {
    return {.name = "j" + std::to_string(devices),
            .row = 0,
            .arrival = ticks{arrival},
            .duration = ticks{10},
            .estimate = ticks{20},
            .devices = devices,
            .cpu = {},
            .memory = {},
            .queue = std::move(queue)};
}

/// Devices that each pod of the job asks for.
std::vector<std::int64_t> devices_of(const vgpusim::simulation_input& input, std::size_t job) {
    std::vector<std::int64_t> counts;
    for (std::uint32_t i = 0; i < input.jobs[job].pods; ++i) {
        const auto& pod = input.pods[input.members[input.jobs[job].first + i]];
        const auto& containers = input.requests[pod.request].containers;
        counts.push_back(containers.empty() ? 0 : containers.front().count);
        EXPECT_EQ(input.requested[pod.request].memory, counts.back() * 1000);
        EXPECT_EQ(input.name_of(pod), input.names[job]);
    }
    return counts;
}

TEST(trace_jobs, are_one_pod_where_a_node_is_large_enough_and_else_a_gang_of_whole_nodes) {
    const auto input = vgpusim::build_trace_workload(nodes_of({2, 8, 4, 8}),
                                                     {job_of(0), job_of(8), job_of(9), job_of(16), job_of(100)});
    ASSERT_TRUE(input.has_value()) << input.error().message();
    EXPECT_THAT(devices_of(*input, 0), ElementsAre(0));
    EXPECT_THAT(devices_of(*input, 1), ElementsAre(8));
    EXPECT_THAT(devices_of(*input, 2), ElementsAre(8, 1));
    EXPECT_THAT(devices_of(*input, 3), ElementsAre(8, 8));
    EXPECT_THAT(devices_of(*input, 4), SizeIs(13)); // more than there are: nobody can place it
    for (const auto& job : input->jobs) EXPECT_EQ(job.minimum, job.pods);
    EXPECT_EQ(input->jobs[2].estimate, ticks{20});
    EXPECT_TRUE(input->rows_are_jobs);
    EXPECT_THAT(input->node_list_order, ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(input->nodes.nodes[3].name, "n3");
    EXPECT_THAT(input->requests, SizeIs(4)); // of 0, 8, 1 and 4 devices
}

TEST(trace_jobs, share_what_they_ask_of_the_host_by_devices) {
    trace_job job = job_of(5);
    job.cpu = vgpualloc::milli_cpu{1001};
    job.memory = vgpualloc::bytes{std::int64_t{1} << 58U};
    const auto input = vgpusim::build_trace_workload(nodes_of({4}), {job}).value();
    ASSERT_THAT(input.requests, SizeIs(2));
    EXPECT_EQ(input.requests[0].cpu, vgpualloc::milli_cpu{801}); // rounded up: 4 of 5 of 1001
    EXPECT_EQ(input.requests[1].cpu, vgpualloc::milli_cpu{201});
    EXPECT_EQ(input.requests[0].memory, vgpualloc::bytes{230'584'300'921'369'396});
}

TEST(trace_jobs, wait_in_the_queues_that_they_name) {
    const auto input =
        vgpusim::build_trace_workload(nodes_of({8}), {job_of(1, "b"), job_of(2, ""), job_of(3, "a"), job_of(4, "b")})
            .value();
    std::vector<std::string> names;
    for (const auto& queue : input.queues) names.push_back(queue.name);
    EXPECT_THAT(names, ElementsAre("b", "default", "a"));
    EXPECT_EQ(input.jobs[3].queue, 0);
    EXPECT_EQ(input.jobs[2].queue, 2);
    EXPECT_THAT(vgpusim::build_trace_workload(nodes_of({8}), {job_of(1), job_of(2)})->queues, IsEmpty());
}

TEST(trace_jobs, of_a_queue_named_default_are_with_those_that_name_none) {
    const auto input =
        vgpusim::build_trace_workload(nodes_of({8}), {job_of(1, "default"), job_of(2, ""), job_of(3, "a")}).value();
    EXPECT_THAT(input.queues, SizeIs(2));
    EXPECT_EQ(input.jobs[0].queue, input.jobs[1].queue);
}

TEST(trace_jobs, are_typical_until_they_are_95_percent) {
    std::vector<trace_job> jobs(95, job_of(2));
    jobs.insert(jobs.begin(), 5, job_of(1));
    const auto one_kind = vgpusim::build_trace_workload(nodes_of({8}), jobs).value();
    ASSERT_THAT(one_kind.typical.typical, SizeIs(1));
    EXPECT_EQ(one_kind.typical.typical.front().containers.front().count, 2);
    EXPECT_DOUBLE_EQ(one_kind.typical.typical.front().frequency, 1.0);
    jobs.push_back(job_of(1));
    const auto two_kinds = vgpusim::build_trace_workload(nodes_of({8}), jobs).value();
    ASSERT_THAT(two_kinds.typical.typical, SizeIs(2));
    EXPECT_EQ(two_kinds.typical.typical.back().weight, 6);
}

TEST(trace_jobs, stay_where_they_are_without_devices) {
    const auto input = vgpusim::build_trace_workload(nodes_of({0}), {job_of(3), job_of(5000)}).value();
    EXPECT_THAT(devices_of(input, 0), ElementsAre(3));
    EXPECT_THAT(devices_of(input, 1), SizeIs(5)); // a request names at most 1024 devices
}

TEST(trace_jobs, that_would_be_too_many_pods_are_refused) {
    const auto input =
        vgpusim::build_trace_workload(nodes_of({1}), std::vector<trace_job>(6, job_of(vgputraces::job_devices_max)));
    ASSERT_FALSE(input.has_value());
    EXPECT_THAT(input.error().message(), HasSubstr("job j10000000: got '10000000 devices'"));
    EXPECT_THAT(input.error().message(), HasSubstr("more than 50000000 pods"));
}

TEST(trace_jobs, are_the_pods_of_the_rule_that_is_for_them) {
    vgpusim::trace_workload_options options;
    vgpusim::mapping_rule shares;
    shares.devices_min = shares.devices_max = 2;
    shares.once_per_device = true;
    vgpualloc::pod_request half{.cpu = {}, .memory = {}, .containers = {}};
    half.containers.push_back({.count = 1, .memory = {}, .memory_percent = 50, .cores = {}});
    shares.request = {.name = "half",
                      .place = "",
                      .templates = {{.suffix = "", .pods = 3, .request = half}},
                      .pods = 3,
                      .minimum = 2};
    options.mapping.push_back(shares);
    const auto input = vgpusim::build_trace_workload(nodes_of({8}), {job_of(1), job_of(2)}, options).value();
    EXPECT_EQ(input.jobs[0].pods, 1U);
    EXPECT_EQ(input.jobs[1].pods, 6U);
    EXPECT_EQ(input.jobs[1].minimum, 4U);
    ASSERT_THAT(input.requests, SizeIs(2));
    EXPECT_EQ(input.requested.milli(input.requested[1].larger()), 500);
    EXPECT_EQ(input.pods.back().request, 1U);
    EXPECT_EQ(input.pods.back().duration, ticks{10});
}

TEST(trace_jobs, have_the_quotas_of_the_queues_that_are_listed) {
    vgpusim::trace_workload_options options;
    options.queues = {{.name = "a", .guaranteed = {.devices = 3, .memory_mib = {}, .cores_percent = {}}, .limit = {}},
                      {.name = "default", .guaranteed = {}, .limit = {}}};
    const auto input = vgpusim::build_trace_workload(nodes_of({8}), {job_of(1, ""), job_of(2, "a")}, options).value();
    EXPECT_EQ(input.queues[input.jobs[1].queue].guaranteed.devices, 3);
    EXPECT_EQ(input.jobs[0].queue, 1U);
    const auto unknown = vgpusim::build_trace_workload(nodes_of({8}), {job_of(1, "b")}, options);
    ASSERT_FALSE(unknown.has_value());
    EXPECT_EQ(unknown.error().message(), "job j1: queue: got 'b', expected one of a, default");
}

TEST(trace_jobs, can_offer_another_load) {
    const std::vector<trace_job> jobs{job_of(4, "", 0), job_of(4, "", 100)};
    const auto input = vgpusim::build_trace_workload(nodes_of({8}), jobs, {.offered_load = 2.0, .mapping = {}}).value();
    EXPECT_EQ(input.pods.back().arrival, ticks{5}); // 80 device-ticks on 8 devices, twice
}

} // namespace
