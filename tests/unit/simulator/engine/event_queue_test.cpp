#include "vgpusim/engine/event_queue.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

using vgpualloc::ticks;
using vgpusim::event;
using vgpusim::event_class;
using vgpusim::event_queue;

using what_when = std::pair<std::int64_t, event_class>;

/// Everything in the queue, in the order in which it comes out.
std::vector<event> drained(event_queue& queue) {
    std::vector<event> all;
    while (!queue.empty()) all.push_back(queue.pop());
    return all;
}

TEST(event_queue, starts_empty) { EXPECT_TRUE(event_queue{}.empty()); }

TEST(event_queue, at_one_instant_finishes_come_first_and_samples_last) {
    const std::array expected{event_class::finish, event_class::cluster, event_class::arrival, event_class::sample};
    auto classes = expected;
    do {
        event_queue queue;
        for (const event_class kind : classes) queue.push(ticks{7}, kind, 0);
        const auto out = drained(queue);
        ASSERT_EQ(out.size(), expected.size());
        for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i].what, expected[i]);
    } while (std::ranges::next_permutation(classes).found);
}

TEST(event_queue, order_does_not_depend_on_insertion) {
    std::array events{what_when{2, event_class::finish},  what_when{1, event_class::sample},
                      what_when{2, event_class::arrival}, what_when{-3, event_class::cluster},
                      what_when{1, event_class::cluster}, what_when{9, event_class::finish}};
    auto expected = events;
    std::ranges::sort(expected);
    std::ranges::sort(events);
    std::size_t orders = 0;
    do {
        event_queue queue;
        for (const auto& [time, what] : events) queue.push(ticks{time}, what, 0);
        const auto out = drained(queue);
        ASSERT_EQ(out.size(), expected.size());
        for (std::size_t i = 0; i < out.size(); ++i) {
            ASSERT_EQ(what_when(out[i].time.count(), out[i].what), expected[i]);
        }
        ++orders;
    } while (std::ranges::next_permutation(events).found);
    EXPECT_EQ(orders, 720U);
}

TEST(event_queue, equal_time_and_class_come_out_as_they_went_in) {
    event_queue queue;
    for (std::uint32_t pod = 0; pod < 100; ++pod) queue.push(ticks{5}, event_class::arrival, 99 - pod);
    std::uint32_t expected = 99;
    for (const event& drawn : drained(queue)) EXPECT_EQ(drawn.subject, expected--);
}

TEST(event_queue, pushing_between_pops_keeps_the_order) {
    event_queue queue;
    queue.push(ticks{1}, event_class::arrival, 1);
    queue.push(ticks{3}, event_class::arrival, 3);
    EXPECT_EQ(queue.pop().subject, 1U);
    queue.push(ticks{2}, event_class::finish, 2);
    queue.push(ticks{3}, event_class::finish, 4);
    EXPECT_EQ(queue.pop().subject, 2U);
    EXPECT_EQ(queue.pop().subject, 4U);
    EXPECT_EQ(queue.pop().subject, 3U);
    EXPECT_TRUE(queue.empty());
}

TEST(event_queue, before_is_a_strict_total_order) {
    std::vector<event> all;
    std::uint64_t sequence = 0;
    for (const std::int64_t time : {0, 1}) {
        for (const event_class what : {event_class::finish, event_class::arrival, event_class::sample}) {
            for (int i = 0; i < 2; ++i) all.push_back({.time = ticks{time}, .what = what, .sequence = sequence++});
        }
    }
    for (const event& a : all) {
        for (const event& b : all) {
            EXPECT_EQ(a.before(b) + b.before(a), a.sequence == b.sequence ? 0 : 1);
            EXPECT_EQ(a.before(b), std::tuple(a.time, a.what, a.sequence) < std::tuple(b.time, b.what, b.sequence));
        }
    }
}

} // namespace
