#include "vgpusim/workload/cluster_events.hpp"

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../workloads.hpp"
#include "vgpusim/engine/cluster_service.hpp"

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using vgpualloc::device_index;
using vgpualloc::node_index;
using vgpualloc::ticks;
using vgpusim::cluster_change;
using vgpusim::simulation_input;

/// Two nodes of two GPUs, and a pod that comes at second 0 and one at second 1,000.
simulation_input two_nodes() {
    using namespace vgpusim_test;
    auto input =
        built({gpu_node("a", 2), gpu_node("b", 2)},
              {vgpusim_test::at(share("p", 100), 0, 1), vgpusim_test::at(share("q", 100), 1000, 1001)}, 0.0, true);
    return input;
}

node_index index_of(const simulation_input& input, const std::string& name) {
    const auto& nodes = input.nodes.nodes;
    return node_index{std::ranges::find(nodes, name, &vgpualloc::node::name) - nodes.begin()};
}

vgpualloc::expected<void> add(simulation_input& input, const std::string& rows) {
    const auto read = vgputraces::read_cluster_events("time,what,node,device\n" + rows, "e.csv");
    EXPECT_TRUE(read) << read.error().message();
    return vgpusim::add_cluster_events(input, *read, "e.csv");
}

TEST(events_of_a_cluster, a_crash_finds_its_pod_by_name) {
    auto input = two_nodes();
    const auto rows = vgputraces::read_cluster_events("time,what,pod\n9,crashes,q\n4,crashes,p\n", "e.csv");
    ASSERT_TRUE(vgpusim::add_cluster_events(input, *rows, "e.csv"));
    ASSERT_EQ(input.crashes.size(), 2U);
    EXPECT_EQ(input.name_of(input.pods[input.crashes[0].pod]), "p");
    EXPECT_EQ(input.name_of(input.pods[input.crashes[1].pod]), "q");
    EXPECT_TRUE(input.cluster_events.empty());
    const auto unknown = vgputraces::read_cluster_events("time,what,pod\n9,crashes,r\n", "e.csv");
    EXPECT_THAT(vgpusim::add_cluster_events(input, *unknown, "e.csv").error().message(),
                HasSubstr("e.csv:2: pod: got 'r', expected a pod of the pod list"));
}

TEST(events_of_a_cluster, a_node_that_joins_is_away_from_the_beginning) {
    auto input = two_nodes();
    ASSERT_TRUE(add(input, "5,joins,b,\n3,fails,a,1\n4,repaired,a,1\n7,drained,b,\n8,fails,b,\n9,leaves,b,\n"));
    std::vector<std::tuple<std::int64_t, cluster_change, node_index, bool>> events;
    const std::int64_t second = vgpualloc::ticks_per_second.count();
    for (const auto& event : input.cluster_events) {
        events.emplace_back(event.time.count() / second, event.what, event.node, event.device == device_index{1U});
    }
    const auto a = index_of(input, "a");
    const auto b = index_of(input, "b");
    EXPECT_THAT(
        events,
        ElementsAre(std::tuple{0, cluster_change::stops, b, false}, std::tuple{3, cluster_change::stops, a, true},
                    std::tuple{4, cluster_change::resumes, a, true}, std::tuple{5, cluster_change::resumes, b, false},
                    std::tuple{7, cluster_change::drains, b, false}, std::tuple{8, cluster_change::stops, b, false},
                    std::tuple{9, cluster_change::resumes, b, false}, std::tuple{9, cluster_change::resumes, b, false},
                    std::tuple{9, cluster_change::stops, b, false}));
}

TEST(events_of_a_cluster, an_error_names_what_is_not_there_and_what_cannot_follow) {
    const auto refusal = [](const std::string& rows) {
        auto input = two_nodes();
        const auto added = add(input, rows);
        return added ? std::string{"none"} : added.error().message();
    };
    EXPECT_THAT(refusal("1,fails,c,\n"), HasSubstr("e.csv:2: node: got 'c', expected a node of the node list"));
    EXPECT_THAT(refusal("1,fails,a,2\n"),
                HasSubstr("e.csv:2: device: got '2', expected a uuid of node a, or an index below 2"));
    EXPECT_THAT(refusal("1,fails,a,-1\n"), HasSubstr("e.csv:2: device: got '-1'"));
    EXPECT_THAT(refusal("1,repaired,a,\n"),
                HasSubstr("e.csv:2: what: got 'repaired', expected one of fails, drained, leaves: node a works"));
    EXPECT_THAT(refusal("2,fails,a,\n1,fails,a,\n"), HasSubstr("e.csv:2: what: got 'fails'"));
    EXPECT_THAT(refusal("1,drained,a,0\n2,repaired,a,0\n"), HasSubstr("device 0 of node a is drained"));
    EXPECT_THAT(refusal("1,leaves,a,\n2,repaired,a,\n"), HasSubstr("expected one of joins: node a is away"));
}

vgputraces::failure_model failing(double mtbf_s, double mttr_s) {
    vgputraces::failure_model model;
    model.devices = vgputraces::failure_rates{.mtbf_s = mtbf_s, .mttr_s = mttr_s};
    return model;
}

TEST(failures_of_a_cluster, alternate_by_target_and_end_with_the_last_arrival) {
    auto input = two_nodes();
    ASSERT_TRUE(vgpusim::add_failures(input, failing(50, 10), 7));
    std::map<std::pair<std::size_t, std::size_t>, bool> broken;
    ticks before{0};
    ASSERT_GT(input.cluster_events.size(), 20U);
    for (const auto& event : input.cluster_events) {
        EXPECT_LE(before, event.time);
        before = event.time;
        ASSERT_TRUE(event.device);
        bool& is_broken = broken[{event.node.at(), event.device->at()}];
        EXPECT_EQ(event.what, is_broken ? cluster_change::resumes : cluster_change::stops);
        EXPECT_TRUE(is_broken || event.time < ticks{1'000'000'000}) << "nothing fails after the last arrival";
        is_broken = !is_broken;
    }
    for (const auto& [target, is_broken] : broken) EXPECT_FALSE(is_broken);
    EXPECT_EQ(broken.size(), 4U);
}

TEST(failures_of_a_cluster, times_have_their_means_and_depend_on_the_seed_alone) {
    const auto drawn = [](std::uint64_t seed) {
        auto input = two_nodes();
        auto model = failing(100, 20);
        model.horizon = ticks{vgpualloc::ticks_per_second.count() * 10'000'000};
        EXPECT_TRUE(vgpusim::add_failures(input, model, seed));
        std::vector<std::int64_t> times;
        for (const auto& event : input.cluster_events) times.push_back(event.time.count());
        return times;
    };
    const auto times = drawn(1);
    EXPECT_EQ(times, drawn(1));
    EXPECT_NE(times, drawn(2));
    // 4 devices, two events in 120 s: 666,667 events with a deviation of about a tenth of a percent.
    EXPECT_NEAR(static_cast<double>(times.size()), 666'667.0, 5'000.0);
}

TEST(failures_of_a_cluster, what_events_name_is_left_to_them) {
    auto input = two_nodes();
    ASSERT_TRUE(add(input, "500,fails,a,0\n"));
    ASSERT_TRUE(vgpusim::add_failures(input, failing(10, 10), 3));
    const auto a = index_of(input, "a");
    int of_named = 0;
    int of_other = 0;
    for (const auto& event : input.cluster_events) {
        if (event.node != a) continue;
        ++(event.device == device_index{0U} ? of_named : of_other);
    }
    EXPECT_EQ(of_named, 1);
    EXPECT_GT(of_other, 10);
    auto many = two_nodes();
    const auto refused = vgpusim::add_failures(many, failing(1e-6, 1e-6), 3);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("failures"));
}

TEST(cluster_events, a_node_stays_drained_over_a_failure_and_is_neither_when_it_joins_again) {
    auto drained = two_nodes();
    EXPECT_TRUE(add(drained, "1,drained,a,\n2,fails,a,\n3,repaired,a,\n4,undrained,a,\n"));
    EXPECT_EQ(drained.cluster_events.size(), 4U);
    auto away = two_nodes();
    EXPECT_TRUE(add(away, "1,drained,a,\n2,fails,a,\n3,leaves,a,\n4,joins,a,\n"));
    vgpualloc::ledger book{away.nodes};
    vgpusim::cluster_service service{book};
    for (const auto& event : away.cluster_events) service.apply(event);
    EXPECT_TRUE(book.nodes().nodes[index_of(away, "a").at()].host.is_open());
}

} // namespace
