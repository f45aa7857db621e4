#include "vgpusim/engine/gauges.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "../workloads.hpp"
#include "vgpualloc/alloc/allocator.hpp"

namespace {

using vgpualloc::node_index;
using vgpualloc::pod_id;
using vgpusim::gauges;

/// A cluster, its allocator and the gauges that follow it.
class gauges_test : public testing::Test {
protected:
    gauges_test() {
        for (std::size_t i = 0; i < input_.nodes.nodes.size(); ++i) gauges_.update(alloc_.view_of(node_index{i}));
    }

    [[nodiscard]] node_index place(std::size_t pod) {
        const auto request = alloc_.intern(input_.requests[input_.pods[pod].request]);
        const auto placed = alloc_.place(ledger_, pod_id{pod}, request.value());
        EXPECT_TRUE(placed.has_value());
        gauges_.update(alloc_.view_of(placed->node));
        return placed->node;
    }

    vgpusim::simulation_input input_ = vgpusim_test::built(
        {vgpusim_test::gpu_node("a", 2), vgpusim_test::cpu_node("b")},
        {vgpusim_test::share("p0", 300), vgpusim_test::whole("p1", 1), vgpusim_test::cpu_only("p2")});
    vgpualloc::ledger ledger_{input_.nodes};
    std::unique_ptr<vgpualloc::policy> policy_ = vgpusim_test::policy_for(input_, "best_fit");
    vgpualloc::allocator alloc_{ledger_, {.node = policy_.get(), .device = policy_.get()}};
    gauges gauges_{vgpusim_test::measure_for(input_), {input_.nodes, {}}, input_.nodes.nodes.size()};
};

TEST_F(gauges_test, an_empty_cluster_uses_nothing) {
    EXPECT_EQ(gauges_.allocated_milli, 0);
    EXPECT_EQ(gauges_.used_gpus, 0);
    EXPECT_EQ(gauges_.used_nodes, 0);
}

TEST_F(gauges_test, placed_and_released_again_leaves_no_trace) {
    const auto unusable = gauges_.unusable_micro;
    std::vector<node_index> where;
    std::int64_t requested = 0;
    for (std::size_t pod = 0; pod < input_.pods.size(); ++pod) {
        where.push_back(place(pod));
        requested += input_.requested[input_.pods[pod].request].memory;
        EXPECT_EQ(gauges_.allocated_milli, requested);
    }
    EXPECT_EQ(requested, 1300);
    EXPECT_EQ(gauges_.used_gpus, 2);
    EXPECT_NE(gauges_.unusable_micro, unusable);
    for (std::size_t pod = 0; pod < where.size(); ++pod) {
        ledger_.release(pod_id{pod});
        gauges_.update(alloc_.view_of(where[pod]));
    }
    EXPECT_EQ(gauges_.allocated_milli, 0);
    EXPECT_EQ(gauges_.used_gpus, 0);
    EXPECT_EQ(gauges_.used_nodes, 0);
    EXPECT_EQ(gauges_.unusable_micro, unusable);
}

TEST_F(gauges_test, updating_twice_counts_once) {
    const auto where = place(0);
    const auto before = gauges_.allocated_milli;
    gauges_.update(alloc_.view_of(where));
    gauges_.forget_ids();
    gauges_.update(alloc_.view_of(where));
    EXPECT_EQ(gauges_.allocated_milli, before);
    EXPECT_EQ(gauges_.used_nodes, 1);
}

TEST_F(gauges_test, unusable_is_the_buckets_but_the_satisfied_one) {
    static_cast<void>(place(0));
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < input_.nodes.nodes.size(); ++i) {
        sum += gauges::in_micro(gauges_.buckets(alloc_.view_of(node_index{i})).unusable());
    }
    EXPECT_EQ(gauges_.unusable_micro, sum);
}

TEST(gauges, in_micro_rounds_to_the_nearest) {
    EXPECT_EQ(gauges::in_micro(0.0), 0);
    EXPECT_EQ(gauges::in_micro(0.0000014), 1);
    EXPECT_EQ(gauges::in_micro(0.0000016), 2);
    EXPECT_EQ(gauges::in_micro(866232.5521), 866232552100);
}

} // namespace
