#include "vgpusim/discipline/autoscaler.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../replayed.hpp"
#include "vgpusim/discipline/all.hpp"

namespace {

using testing::ElementsAre;
using vgpualloc::node_index;
using vgpusim::autoscaling;
using vgpusim_test::at;
using vgpusim_test::gpu_node;
using vgpusim_test::seconds;
using vgpusim_test::whole;

/// The first node is there, of the others those of `nodes` are added after 30 s.
vgpusim::simulation_input scaled(const std::vector<vgputraces::openb_node>& list,
                                 std::vector<vgputraces::openb_pod> pods, std::vector<node_index> nodes) {
    auto input = vgpusim_test::built(list, std::move(pods), 0.0, true);
    for (std::size_t i = 0; i < input.nodes.nodes.size(); ++i) {
        if (input.nodes.nodes[i].name == "here") continue;
        input.cluster_events.push_back(
            {.time = {}, .what = vgpusim::cluster_change::stops, .node = node_index{i}, .device = {}});
    }
    input.autoscaler = autoscaling{.delay = seconds(30), .nodes = std::move(nodes)};
    return input;
}

node_index called(const vgpusim::simulation_input& input, const std::string& name) {
    return node_index{std::ranges::find(input.nodes.nodes, name, &vgpualloc::node::name) - input.nodes.nodes.begin()};
}

/// Per pod when it starts, in seconds; -1 = never.
std::vector<std::int64_t> starts_of(vgpusim::simulation_input input, const char* discipline) {
    vgpusim::autoscaler rules{vgpusim::find_discipline(discipline).value()->make(), *input.autoscaler};
    const vgpusim_test::replayed run{std::move(input), rules};
    std::vector<std::int64_t> starts;
    for (const auto& times : run.result.times) {
        starts.push_back(times.starts > 0 ? times.start.count() / 1'000'000 : -1);
    }
    return starts;
}

TEST(autoscaler, a_pod_that_waits_gets_a_node_after_the_delay_and_one_that_fits_none) {
    for (const char* discipline : {"fifo", "easy", "conservative", "gang", "priority"}) {
        auto input = scaled({gpu_node("here", 1), gpu_node("more", 2)},
                            {at(whole("a", 1), 0, 100), at(whole("b", 1), 10, 110), at(whole("c", 1), 20, 120)}, {});
        input.autoscaler->nodes = {called(input, "more")};
        EXPECT_THAT(starts_of(input, discipline), ElementsAre(0, 40, 40))
            << discipline << ": c fits beside b, no further node";
        input.autoscaler->nodes.clear();
        EXPECT_THAT(starts_of(input, discipline), ElementsAre(0, 100, 200)) << discipline << ": none is added";
    }
}

TEST(autoscaler, as_many_nodes_are_added_as_are_needed_and_only_ones_that_help) {
    auto input = scaled({gpu_node("here", 1), gpu_node("small", 1), gpu_node("large", 2), gpu_node("other", 2)},
                        {at(whole("a", 1), 0, 1000), at(whole("b", 2), 10, 1010), at(whole("c", 2), 10, 1010)}, {});
    input.autoscaler->nodes = {called(input, "small"), called(input, "large"), called(input, "other")};
    auto rules =
        std::make_unique<vgpusim::autoscaler>(vgpusim::find_discipline("fifo").value()->make(), *input.autoscaler);
    const vgpusim_test::replayed run{input, *rules};
    std::vector<std::string> nodes;
    for (const auto& pod : run.result.pods) {
        nodes.push_back(run.book.nodes().nodes[run.book.bookings()[pod.booking].where.node.at()].name);
    }
    EXPECT_THAT(nodes, testing::UnorderedElementsAre("here", "large", "other"));
    EXPECT_TRUE(run.book.nodes().nodes[called(input, "small").at()].host.unschedulable)
        << "it would have helped nobody";
}

TEST(autoscaler, a_queue_without_quota_adds_nothing) {
    auto input =
        scaled({gpu_node("here", 1), gpu_node("more", 1)}, {at(whole("a", 1), 0, 100), at(whole("b", 1), 10, 110)}, {});
    input.autoscaler->nodes = {called(input, "more")};
    input.queues = {{.name = "q", .guaranteed = {}, .limit = {.devices = 1}}};
    EXPECT_THAT(starts_of(input, "fifo"), ElementsAre(0, 100));
}

} // namespace
