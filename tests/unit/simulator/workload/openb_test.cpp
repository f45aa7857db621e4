#include "vgpusim/workload/openb.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../workloads.hpp"
#include "vgpualloc/compat/fgd/go_random.hpp"

namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;
using vgpusim::simulation_input;
using vgpusim_test::at;
using vgpusim_test::built;
using vgpusim_test::cpu_node;
using vgpusim_test::cpu_only;
using vgpusim_test::gpu_node;
using vgpusim_test::share;
using vgpusim_test::shared_mode;
using vgpusim_test::whole;

std::vector<std::string> names(const simulation_input& input) {
    std::vector<std::string> all;
    for (const auto& pod : input.pods) all.push_back(input.name_of(pod));
    return all;
}

std::int64_t requested_milli(const simulation_input& input) {
    std::int64_t sum = 0;
    for (const auto& pod : input.pods) sum += input.requested[pod.request].larger();
    return sum;
}

std::vector<vgputraces::openb_pod> shares(int count, std::int64_t milli) {
    std::vector<vgputraces::openb_pod> pods;
    for (int i = 0; i < count; ++i) pods.push_back(share("p" + std::to_string(10 + i), milli));
    return pods;
}

TEST(workload, untuned_it_holds_every_pod_once) {
    const auto input = built({gpu_node("n", 4)}, {share("c", 100), whole("a", 2), cpu_only("b")});
    EXPECT_THAT(names(input), UnorderedElementsAre("a", "b", "c"));
    EXPECT_EQ(requested_milli(input), 2100);
    for (std::size_t i = 0; i < input.pods.size(); ++i) {
        EXPECT_EQ(input.pods[i].arrival, static_cast<std::int64_t>(i) * vgpualloc::ticks_per_second);
    }
}

TEST(workload, the_order_of_the_lists_does_not_matter) {
    auto pods = shares(20, 100);
    std::vector nodes{gpu_node("a", 1), gpu_node("b", 2), cpu_node("c")};
    const auto before = built(nodes, pods, 1.5);
    std::ranges::reverse(pods);
    std::ranges::reverse(nodes);
    const auto after = built(nodes, pods, 1.5);
    EXPECT_EQ(names(before), names(after));
    for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(before.nodes.nodes[i].name, after.nodes.nodes[i].name);
}

TEST(workload, seeds_give_other_orders) {
    EXPECT_NE(names(built({gpu_node("n", 4)}, shares(20, 100), 0.0, false, 42)),
              names(built({gpu_node("n", 4)}, shares(20, 100), 0.0, false, 43)));
}

TEST(workload, draws_are_consumed_in_the_reference_order) {
    // One draw thrown away, the shuffle, one pick per tuned copy and one that ends it, ten thrown away, node ranks.
    const auto input = built({gpu_node("a", 1), gpu_node("b", 1), gpu_node("c", 1)}, shares(4, 500), 1.0);
    vgpualloc::compat::go_random random{42};
    static_cast<void>(random.word());
    std::vector<std::string> expected{"p10", "p11", "p12", "p13"};
    const auto by_name = expected;
    random.shuffle(expected);
    for (int copy = 0; copy < 2; ++copy) {
        expected.push_back(by_name[static_cast<std::size_t>(random.intn(4))] + "-tuned-" + std::to_string(copy));
    }
    static_cast<void>(random.intn(4));
    EXPECT_EQ(names(input), expected);
    for (int i = 0; i < 10; ++i) static_cast<void>(random.word());
    const auto rank = random.perm(3);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(input.nodes.nodes[rank[i]].name, std::string(1, static_cast<char>('a' + i)));
    }
}

TEST(workload, tuned_up_it_stays_within_the_target_and_numbers_its_copies) {
    const auto input = built({gpu_node("n", 4)}, shares(10, 300), 1.3);
    EXPECT_EQ(requested_milli(input), 5100); // 17 x 300; one more would exceed 5200
    const auto all = names(input);
    ASSERT_EQ(all.size(), 17U);
    for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(all[i].find("-tuned-"), std::string::npos);
    for (std::size_t i = 10; i < all.size(); ++i) EXPECT_TRUE(all[i].ends_with("-tuned-" + std::to_string(i - 10)));
}

TEST(workload, tuning_up_stops_by_the_amount_of_one_gpu_as_the_reference_does) {
    // 2000 of 3000: a copy adds 2000, but is tested with 1000, so one copy overshoots the target.
    const auto input = built({gpu_node("n", 3)}, {whole("p", 2)}, 1.0);
    EXPECT_THAT(names(input), ElementsAre("p", "p-tuned-0"));
    EXPECT_EQ(requested_milli(input), 4000);
}

TEST(workload, tuned_down_it_removes_until_the_target_is_not_exceeded) {
    const auto input = built({gpu_node("n", 1)}, shares(10, 300), 0.5);
    EXPECT_EQ(requested_milli(input), 300);
    const auto original = names(built({gpu_node("n", 1)}, shares(10, 300)));
    const auto kept = names(input);
    EXPECT_NE(std::ranges::find(original, kept.front()), original.end());
}

TEST(workload, tuning_down_keeps_the_order_of_the_rest) {
    const auto original = names(built({gpu_node("n", 2)}, shares(12, 300)));
    const auto kept = names(built({gpu_node("n", 2)}, shares(12, 300), 0.9));
    ASSERT_EQ(kept.size(), 6U);
    auto from = original.begin();
    for (const std::string& name : kept) {
        from = std::find(from, original.end(), name);
        ASSERT_NE(from, original.end()) << name;
    }
}

TEST(workload, a_list_that_asks_for_exactly_the_target_is_left_alone) {
    EXPECT_EQ(built({gpu_node("n", 1)}, shares(4, 250), 1.0).pods.size(), 4U);
}

TEST(workload, a_list_without_gpus_cannot_be_tuned) {
    const auto input = vgpusim::build_openb_workload(
        {gpu_node("n", 1)}, {cpu_only("p")}, {.tune = 1.0, .seed = 1, .departures = false, .mode = shared_mode()});
    ASSERT_FALSE(input.has_value());
    EXPECT_EQ(input.error().field, "tune");
}

TEST(workload, a_cluster_without_gpus_drops_every_pod_that_asks_for_one) {
    const auto input = built({cpu_node("n")}, {share("p", 100), cpu_only("q")}, 1.0);
    EXPECT_EQ(requested_milli(input), 0);
}

TEST(workload, distinct_requests_are_kept_once) {
    const auto input = built({gpu_node("n", 4)}, shares(50, 10));
    EXPECT_EQ(input.requests.size(), 1U);
    EXPECT_EQ(input.requested.size(), 1U);
}

TEST(workload, node_list_order_finds_each_line_of_the_list) {
    const std::vector nodes{gpu_node("c", 1), gpu_node("a", 2), cpu_node("b"), gpu_node("d", 3)};
    const auto input = built(nodes, shares(1, 1));
    ASSERT_EQ(input.node_list_order.size(), nodes.size());
    for (std::size_t line = 0; line < nodes.size(); ++line) {
        const auto& node = input.nodes.nodes[input.node_list_order[line]];
        EXPECT_EQ(node.name, nodes[line].name);
        EXPECT_EQ(std::ssize(node.devices), nodes[line].gpu_count);
    }
}

TEST(workload, with_departures_the_trace_says_when) {
    const auto input = built({gpu_node("n", 4)},
                             {at(share("b", 1), 20, 25), at(share("a", 1), 20), at(share("c", 1), 10, 10)}, 0.0, true);
    EXPECT_THAT(names(input), ElementsAre("c", "a", "b"));
    EXPECT_EQ(input.pods[0].arrival.count(), 10'000'000);
    EXPECT_EQ(input.pods[0].duration->count(), 0);
    EXPECT_FALSE(input.pods[1].duration);
    EXPECT_EQ(input.pods[2].duration->count(), 5'000'000);
}

TEST(workload, with_departures_copies_come_after_originals_of_the_same_time) {
    const auto input = built({gpu_node("n", 2)}, {at(share("a", 500), 5), at(share("b", 500), 5)}, 1.0, true);
    const auto all = names(input);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0], "a");
    EXPECT_EQ(all[1], "b");
    EXPECT_TRUE(all[2].ends_with("-tuned-0"));
    EXPECT_TRUE(all[3].ends_with("-tuned-1"));
}

TEST(workload, departures_need_creation_times) {
    const auto input =
        vgpusim::build_openb_workload({gpu_node("n", 1)}, {at(share("a", 1), 1), share("b", 1)},
                                      {.tune = 0.0, .seed = 1, .departures = true, .mode = shared_mode()});
    ASSERT_FALSE(input.has_value());
    EXPECT_EQ(input.error().where, "pod b");
    EXPECT_EQ(input.error().field, "creation_time");
}

TEST(typical_pods, come_most_frequent_first_and_then_largest_first) {
    std::vector pods{share("a", 100), share("b", 200), share("c", 100), whole("d", 1), cpu_only("e")};
    const auto typical = vgpusim::typical_pods(pods).typical;
    ASSERT_EQ(typical.size(), 4U); // 95 % of 5 pods takes all of them
    EXPECT_EQ(typical[0].containers[0].memory.count(), 100);
    EXPECT_DOUBLE_EQ(typical[0].frequency, 0.4);
    EXPECT_EQ(typical[1].containers[0].memory.count(), 1000);
    EXPECT_EQ(typical[2].containers[0].memory.count(), 200);
    EXPECT_TRUE(typical[3].containers.empty());
}

TEST(typical_pods, cover_95_percent_and_are_rescaled_to_it) {
    auto pods = shares(96, 100);
    for (int i = 0; i < 4; ++i) pods.push_back(share("rare" + std::to_string(i), 200 + i));
    const auto typical = vgpusim::typical_pods(pods).typical;
    ASSERT_EQ(typical.size(), 1U);
    EXPECT_DOUBLE_EQ(typical[0].frequency, 1.0);
}

TEST(typical_pods, stop_at_exactly_95_percent) {
    auto pods = shares(95, 100);
    for (int i = 0; i < 5; ++i) pods.push_back(share("rare" + std::to_string(i), 200));
    EXPECT_EQ(vgpusim::typical_pods(pods).typical.size(), 1U);
    pods.erase(pods.begin());
    EXPECT_EQ(vgpusim::typical_pods(pods).typical.size(), 2U);
}

TEST(typical_pods, memory_does_not_tell_them_apart_and_models_do) {
    std::vector pods{share("a", 100), share("b", 100), share("c", 100)};
    pods[1].memory = vgpualloc::mib{9};
    EXPECT_EQ(vgpusim::typical_pods(pods).typical.size(), 1U);
    pods[2].gpu_spec = "V100|T4";
    const auto typical = vgpusim::typical_pods(pods).typical;
    ASSERT_EQ(typical.size(), 2U);
    EXPECT_THAT(typical[1].containers[0].models, ElementsAre("V100", "T4"));
}

TEST(typical_pods, are_those_of_the_untuned_list) {
    const auto tuned = built({gpu_node("n", 8)}, {share("a", 100), whole("b", 1)}, 1.0).typical.typical;
    ASSERT_EQ(tuned.size(), 2U);
    EXPECT_DOUBLE_EQ(tuned[0].frequency, 0.5);
    EXPECT_DOUBLE_EQ(tuned[1].frequency, 0.5);
}

} // namespace
