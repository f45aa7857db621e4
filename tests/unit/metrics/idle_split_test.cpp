// What is idle, by why more pods cannot use it.
#include "vgpualloc/metrics/idle_split.hpp"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/support.hpp"
#include "vgpualloc/core/rng.hpp"

namespace vgpualloc {
namespace {

using test::add_node;
using test::gpu;
using test::many;
using test::part;
using test::want;
using testing::ElementsAre;

std::int64_t sum(const idle_parts& parts) { return std::accumulate(parts.begin(), parts.end(), std::int64_t{0}); }

void run(ledger& book, std::uint32_t pod, node_index where, std::initializer_list<device_share> shares,
         std::int64_t cpu = 1000) {
    ASSERT_TRUE(book.reserve(test::book_on(pod, where, shares, cpu)) && book.commit(pod_id{pod}));
}

TEST(idle_split, a_gpu_of_the_wrong_kind_is_not_scattered) {
    cluster owned;
    add_node(owned, {gpu("A", 1, "exclusive")});
    add_node(owned, {gpu("B", 1, "exclusive")});
    const ledger book{std::move(owned)};
    idle_splitter idle{book};
    EXPECT_EQ(idle.idle(), 2000);
    auto only_a = test::pod({want(1, 0)});
    only_a.containers[0].models = {"A"};
    auto only_b = only_a;
    only_b.containers[0].models = {"B"};
    EXPECT_THAT(idle.of(only_a), ElementsAre(1000, 0, 0, 1000, 0));
    EXPECT_THAT(idle.mean_over({{.request = only_a, .pods = 3}, {.request = only_b, .pods = 1}}),
                ElementsAre(1000, 0, 0, 1000, 0));
}

TEST(idle_split, each_bit_counts_once_under_its_first_cause) {
    cluster owned;
    const auto busy = add_node(owned, many(2), milli_cpu{3500}); // CPU for three pods
    const auto full = add_node(owned, many(2));
    const auto cordoned = add_node(owned, {gpu()});
    owned.nodes[cordoned.at()].host.unschedulable = true;
    add_node(owned, {gpu("other", 1, "exclusive")});
    ledger book{std::move(owned)};
    run(book, 0, busy, {test::share_of_device(0, part(1000))}, 500);
    run(book, 1, full, {test::share_of_device(0, part(7000))}, 1000);
    run(book, 2, full, {test::share_of_device(1, part(8000))}, 1000);
    book.set_service(full, device_index{1}, service_state::failed);
    auto request = test::pod({want(1, 4000)});
    request.containers[0].models = {"A"};
    idle_splitter idle{book};
    // busy: 9000 and 10,000 free hold two pods each, and three have CPU; full: 3000 free on the first device.
    EXPECT_THAT(idle.of(request), ElementsAre(1200, 400, 100 + 200 + 300, 1000, 200 + 1000));
    EXPECT_EQ(sum(idle.of(request)), idle.idle());
}

TEST(idle_split, a_device_that_the_request_refuses_by_uuid_is_of_the_wrong_kind) {
    cluster owned;
    const auto first = add_node(owned, many(2));
    add_node(owned, many(2), milli_cpu{500}); // no CPU for a pod
    for (std::size_t n = 0; n < 2; ++n) {
        for (std::size_t d = 0; d < 2; ++d) {
            owned.nodes[n].devices[d].uuid = std::to_string(n) + "-" + std::to_string(d);
        }
    }
    ledger book{std::move(owned)};
    run(book, 0, first, {test::share_of_device(0, part(7000))});
    idle_splitter idle{book};
    auto wants = test::pod({want(1, 4000)});
    wants.containers[0].uuids_allowed = {"0-0"}; // of which 3000 of 10,000 are free
    EXPECT_THAT(idle.of(wants), ElementsAre(0, 0, 300, 3000, 0));
    wants.containers[0].memory = mib{2000};
    EXPECT_THAT(idle.of(wants), ElementsAre(200, 0, 100, 3000, 0));
    wants.containers[0].uuids_allowed = {"0-0", "1-1"};
    EXPECT_THAT(idle.of(wants), ElementsAre(200, 1000, 100, 2000, 0));
    wants.containers[0].uuids_allowed.clear();
    wants.containers[0].uuids_denied = {"0-1", "1-0", "1-1"};
    EXPECT_THAT(idle.of(wants), ElementsAre(200, 0, 100, 3000, 0));
    EXPECT_THAT(idle.mean_over({{.request = wants, .pods = 2}}), ElementsAre(200, 0, 100, 3000, 0));
}

TEST(idle_split, several_devices_have_to_be_on_one_node) {
    cluster owned;
    for (int i = 0; i < 3; ++i) add_node(owned, many(2, gpu("A", 1, "exclusive")));
    ledger book{std::move(owned)};
    run(book, 0, node_index{0U}, {test::share_of_device(0, whole_device{})});
    idle_splitter idle{book};
    EXPECT_THAT(idle.of(test::pod({want(2, 0)})), ElementsAre(4000, 0, 1000, 0, 0));
    EXPECT_THAT(idle.of(test::pod({want(3, 0)})), ElementsAre(0, 0, 5000, 0, 0));
}

TEST(idle_split, without_pods_that_ask_for_devices_all_that_is_in_service_is_of_use) {
    cluster owned;
    add_node(owned, many(2));
    ledger book{std::move(owned)};
    book.set_service(node_index{0U}, device_index{1}, service_state::draining);
    idle_splitter idle{book};
    EXPECT_THAT(idle.mean_over({}), ElementsAre(1000, 0, 0, 0, 1000));
    EXPECT_THAT(idle.mean_over({{.request = test::pod({}), .pods = 4}}), ElementsAre(1000, 0, 0, 0, 1000));
}

/// On random clusters the parts add up, and `of_use` is what best fit then takes, counted pod by pod.
TEST(idle_split, of_use_is_what_placing_such_pods_takes) {
    rng stream{20261127};
    for (int round = 0; round < 60; ++round) {
        cluster owned;
        const std::size_t nodes = 1 + stream.below(4);
        for (std::size_t n = 0; n < nodes; ++n) {
            add_node(owned, many(1 + stream.below(4)), milli_cpu{static_cast<std::int64_t>(1000 + stream.below(9000))});
        }
        ledger book{std::move(owned)};
        const auto scorer = test::make("best_fit");
        allocator decider{book, {.node = scorer.get(), .device = scorer.get()}};
        std::uint32_t next = 0;
        const auto place = [&](const pod_request& request) {
            const auto where = decider.decide(*decider.intern(request));
            if (!where) return false;
            EXPECT_TRUE(
                book.reserve({.owner = pod_id{next}, .cpu = request.cpu, .memory = request.memory, .where = *where}) &&
                book.commit(pod_id{next}));
            ++next;
            return true;
        };
        for (std::uint64_t i = stream.below(12); i > 0; --i) {
            static_cast<void>(place(test::pod({want(1, static_cast<std::int64_t>(500 + stream.below(9000)))},
                                              static_cast<std::int64_t>(stream.below(2000)))));
        }
        const auto request = test::pod({want(1, static_cast<std::int64_t>(1000 + stream.below(9000)))},
                                       static_cast<std::int64_t>(100 + stream.below(3000)));
        idle_splitter before{book};
        const idle_parts parts = before.of(request);
        EXPECT_EQ(sum(parts), before.idle()) << round;
        while (place(request)) {
        }
        EXPECT_EQ(before.idle() - idle_splitter{book}.idle(), parts[0]) << round;
        EXPECT_EQ(idle_splitter{book}.of(request)[0], 0) << round;
    }
}

TEST(idle_split, rounded_parts_add_up_to_the_rounded_sum) {
    const idle_parts parts{2017, 125, 656, 8705, 4000}; // 15.503
    EXPECT_THAT(rounded_to(parts, 100), ElementsAre(2000, 100, 700, 8700, 4000));
    EXPECT_THAT(rounded_to({50, 50, 50, 50, 0}, 100), ElementsAre(100, 100, 0, 0, 0));
    EXPECT_THAT(rounded_to({}, 100), ElementsAre(0, 0, 0, 0, 0));
}

} // namespace
} // namespace vgpualloc
