#include "vgpusim/discipline/freed_nodes.hpp"

#include <gtest/gtest.h>

#include "../job_lists.hpp"

namespace {

using vgpualloc::node_index;
using vgpualloc::pod_id;
using vgpusim::freed_nodes;

/// Two nodes of two GPUs each, all taken by one pod per GPU, and requests for one and for two GPUs.
struct full_nodes {
    full_nodes() {
        for (std::uint32_t pod = 0; pod < 4; ++pod) EXPECT_TRUE(alloc.place(book, pod_id{pod}, *alloc.intern(one)));
    }
    node_index end(std::uint32_t pod) {
        const node_index where = book.booking_of(pod_id{pod}).where.node;
        freed.on_end(where, book);
        book.release(pod_id{pod});
        return where;
    }
    node_index start(std::uint32_t pod) {
        const auto placement = alloc.place(book, pod_id{pod}, *alloc.intern(one));
        EXPECT_TRUE(placement.has_value());
        freed.on_start(placement->node, book);
        return placement->node;
    }
    [[nodiscard]] bool may_fit(const freed_nodes::asker& asking, std::size_t& read) {
        return freed.may_fit(asking, read, book);
    }

    vgpusim::simulation_input input =
        vgpusim_test::workload_of({{.gpus = 1, .cpu_milli = 1000}, {.gpus = 2}, {.gpus = 1, .cpu_milli = 7500}}, 2, 2);
    const vgpualloc::pod_request& one = input.requests[0];
    const vgpualloc::pod_request& two = input.requests[1];
    const vgpualloc::pod_request& much_of_the_host = input.requests[2];
    vgpualloc::ledger book{input.nodes};
    std::unique_ptr<vgpualloc::policy> policy = vgpusim_test::policy_for(input, "binpack");
    vgpualloc::allocator alloc{book, {.node = policy.get(), .device = policy.get()}};
    freed_nodes freed;
};

TEST(freed_nodes, a_request_may_fit_where_a_pod_has_ended_if_host_and_devices_do) {
    full_nodes nodes;
    const auto one = nodes.freed.enter(nodes.one);
    const auto two = nodes.freed.enter(nodes.two);
    const auto much = nodes.freed.enter(nodes.much_of_the_host);
    std::size_t read_one = 0;
    EXPECT_FALSE(nodes.may_fit(one, read_one)) << "nothing has ended";
    nodes.end(0);
    std::size_t read_two = 0;
    std::size_t read_much = 0;
    EXPECT_TRUE(nodes.may_fit(one, read_one));
    EXPECT_EQ(read_one, 0U) << "it is looked at again";
    EXPECT_FALSE(nodes.may_fit(two, read_two));
    EXPECT_EQ(read_two, 1U);
    EXPECT_FALSE(nodes.may_fit(much, read_much)) << "1,000 of 8,000 milli-CPU are taken by the neighbour";
    nodes.end(1);
    EXPECT_TRUE(nodes.may_fit(two, read_two));
    EXPECT_TRUE(nodes.may_fit(much, read_much));
    EXPECT_EQ(nodes.freed.size(), 2U);
}

TEST(freed_nodes, who_has_taken_a_node_meanwhile_is_seen) {
    full_nodes nodes;
    const auto one = nodes.freed.enter(nodes.one);
    const node_index where = nodes.end(0);
    std::size_t read = 0;
    EXPECT_TRUE(nodes.may_fit(one, read));
    EXPECT_EQ(nodes.start(4), where);
    EXPECT_FALSE(nodes.may_fit(one, read));
    EXPECT_EQ(read, 1U);
}

TEST(freed_nodes, a_node_that_freed_something_twice_is_looked_at_where_it_did_last) {
    full_nodes nodes;
    const auto two = nodes.freed.enter(nodes.two);
    const node_index first = nodes.end(0);
    const node_index other = nodes.end(3);
    EXPECT_NE(first, other);
    EXPECT_EQ(nodes.end(1), first);
    std::size_t read = 0;
    EXPECT_TRUE(nodes.may_fit(two, read));
    EXPECT_EQ(read, 2U);
}

} // namespace
