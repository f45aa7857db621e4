// The log is cut where it was read: places of bookings are used again, and nothing grows.
#include "changes.hpp"

#include <set>

#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum ledger_event_kind;

/// A node of one device, for pods that ask for a little of it.
ledger one_node() {
    cluster owned = cluster_of_kinds();
    owned.nodes = {node_with("n", {"u0"})};
    return ledger{std::move(owned)};
}

booking_id place(ledger& book, std::uint32_t pod) {
    const auto booked = book.reserve(book_on(pod, node_index{0}, {share_of_device(0, part(10))}));
    EXPECT_TRUE(booked.has_value());
    return booked.value_or(booking_id{});
}

void cut(ledger& book) { book.checkpoint(book.next_event()); }

/// How many bookings can be made before the table grows.
std::size_t free_places(ledger& book) {
    const std::size_t size = book.bookings().size();
    std::uint32_t pods = 0;
    while (book.bookings().size() == size) {
        EXPECT_TRUE(book.adopt(book_on(5000 + pods, node_index{2})));
        ++pods;
    }
    for (std::uint32_t pod = 0; pod < pods; ++pod) EXPECT_TRUE(book.release(pod_id{5000 + pod}));
    return pods - 1;
}

TEST(ledger_event, every_kind_is_of_a_pod_a_node_or_a_trial) {
    for (const auto kind : {reserve, commit, rollback, release, adopt})
        EXPECT_TRUE(is_of_booking(kind) && !is_of_node(kind));
    for (const auto kind : {node_added, node_changed, node_removed, service_changed}) {
        EXPECT_TRUE(is_of_node(kind) && !is_of_booking(kind));
    }
    for (const auto kind : {trial_begun, trial_kept, trial_undone})
        EXPECT_FALSE(is_of_node(kind) || is_of_booking(kind));
    EXPECT_TRUE(books(reserve) && books(adopt) && gives_back(rollback) && gives_back(release));
    EXPECT_FALSE(books(commit) || gives_back(commit) || books(release) || gives_back(reserve));
}

TEST(ledger_log, a_checkpoint_drops_what_was_read_and_keeps_the_numbers) {
    ledger book = one_node();
    for (std::uint32_t pod = 0; pod < 9; ++pod) static_cast<void>(place(book, pod));
    ASSERT_TRUE(book.commit(pod_id{7}));
    book.checkpoint(4);
    EXPECT_EQ(book.first_event(), 4U);
    EXPECT_EQ(book.next_event(), 10U);
    EXPECT_EQ(book.events().size(), 6U);
    EXPECT_EQ(book.event(9).kind, commit);
    EXPECT_EQ(book.bookings()[book.event(4).subject].owner, pod_id{4});
    book.checkpoint(2);
    EXPECT_EQ(book.first_event(), 4U) << "it was read further before";
    book.checkpoint(100);
    EXPECT_EQ(book.first_event(), 10U) << "there is no more";
    EXPECT_TRUE(book.events().empty());
    EXPECT_EQ(book.live_count(), 9U);
    static_cast<void>(place(book, 9));
    EXPECT_EQ(book.event(10).kind, reserve);
    book.check();
}

TEST(ledger_log, changes_of_nodes_are_cut_with_their_events) {
    ledger book = one_node();
    for (const auto service : {service_state::draining, service_state::failed, service_state::in_service}) {
        ASSERT_TRUE(book.set_service(node_index{0}, device_index{0}, service).value());
    }
    book.checkpoint(2);
    ASSERT_EQ(book.events().size(), 1U);
    EXPECT_EQ(book.change(book.events()[0]).service, service_state::in_service);
    EXPECT_EQ(book.log().changes.size(), 1U);
    EXPECT_EQ(book.log().first_change, 2U);
    cut(book);
    EXPECT_TRUE(book.log().changes.empty());
    ASSERT_TRUE(book.set_schedulable(node_index{0}, false).value());
    EXPECT_EQ(book.change(book.events()[0]).described->host.unschedulable, true);
}

TEST(ledger_log, the_place_of_a_booking_is_used_again_with_another_generation) {
    ledger book = one_node();
    const booking_id first = place(book, 1);
    ASSERT_TRUE(book.rollback(pod_id{1}));
    const booking_id second = place(book, 1);
    EXPECT_NE(second.slot, first.slot) << "the log still names the first";
    EXPECT_EQ(book.find_booking(first)->owner, pod_id{1});
    cut(book);
    EXPECT_NE(book.find_booking(first), nullptr) << "until another booking takes its place";
    const booking_id third = place(book, 3);
    EXPECT_EQ(third.slot, first.slot);
    EXPECT_NE(third.generation, first.generation);
    EXPECT_EQ(book.find_booking(first), nullptr);
    EXPECT_EQ(book.find_booking(third)->owner, pod_id{3});
    EXPECT_EQ(book.find_booking(second), book.find_booking(pod_id{1})) << "a live booking is not touched";
    EXPECT_EQ(book.find_booking(booking_id{.slot = 99}), nullptr);
}

TEST(ledger_log, only_what_ended_before_the_cut_gives_its_place_back) {
    ledger book = one_node();
    const booking_id early = place(book, 1);
    ASSERT_TRUE(book.rollback(pod_id{1}));
    static_cast<void>(place(book, 2));
    const std::uint64_t read = book.next_event();
    ASSERT_TRUE(book.rollback(pod_id{2}));
    book.checkpoint(read);
    EXPECT_EQ(place(book, 3).slot, early.slot);
    EXPECT_EQ(place(book, 4).slot, 2U) << "the second one's end is still to be read";
}

TEST(ledger_log, nothing_grows_over_a_long_life) {
    ledger book = one_node();
    constexpr std::uint32_t pods_at_once = 8;
    std::size_t bookings = 0;
    std::size_t events = 0;
    for (std::uint32_t step = 0; step < 100'000; ++step) {
        const pod_id pod{step % pods_at_once, step / pods_at_once};
        ASSERT_TRUE(book.reserve({.owner = pod,
                                  .cpu = milli_cpu{1},
                                  .memory = bytes{1},
                                  .where = {.node = node_index{0}, .shares = {share_of_device(0, part(1))}}}));
        ASSERT_TRUE(book.commit(pod));
        if (step % 10 == 0) {
            ASSERT_TRUE(book.set_schedulable(node_index{0}, step % 20 == 0).has_value());
        }
        if (step + 1 >= pods_at_once) {
            const std::uint32_t oldest = step + 1 - pods_at_once;
            ASSERT_TRUE(book.release(pod_id{oldest % pods_at_once, oldest / pods_at_once}));
        }
        if (step % 16 == 0) cut(book);
        if (step == 1000) bookings = book.bookings().size();
        events = std::max(events, book.events().size());
    }
    EXPECT_EQ(book.bookings().size(), bookings);
    EXPECT_LE(bookings, 2 * pods_at_once + 16);
    EXPECT_LE(events, 64U);
    book.check();
}

/// Every place is either of a live pod or free, whatever was done and undone: none is lost, and none is given twice.
TEST(ledger_log, places_are_neither_lost_nor_given_twice) {
    const auto& changes = all_changes();
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(seed);
        rng random{seed};
        ledger book = changing_ledger();
        const auto change_a_little = [&] {
            for (int i = 0; i < 4; ++i) changes[static_cast<std::size_t>(random.below(changes.size()))].apply(book);
        };
        for (int round = 0; round < 4; ++round) {
            trial outer{book};
            change_a_little();
            {
                trial inner{book};
                change_a_little();
                if (random.below(2) == 0) inner.keep();
            }
            change_a_little();
            if (random.below(2) == 0) outer.keep();
        }
        const ledger_image before = image_of(book);
        cut(book);
        EXPECT_EQ(image_of(book), before);
        std::set<std::uint32_t> slots;
        for (std::size_t i = 0; i < book.nodes().nodes.size(); ++i) {
            for (const std::uint32_t slot : book.live_on(node_index{i})) EXPECT_TRUE(slots.insert(slot).second);
        }
        EXPECT_EQ(slots.size(), book.live_count());
        if (!book.is_present(node_index{2})) static_cast<void>(book.add_node(node_with("n2", {})));
        if (!book.is_present(node_index{2})) continue;
        const std::size_t size = book.bookings().size();
        const std::size_t live = book.live_count();
        EXPECT_EQ(free_places(book) + live, size);
        book.check();
        if (HasFailure()) return;
    }
}

/// The device order changes and a pod comes or ends, all in one trial that is undone: the pod's own booking keeps its
/// place, and what the trial booked gives its places back once.
TEST(ledger_log, an_undone_change_of_a_node_gives_back_what_it_made) {
    for (const bool releases : {false, true}) {
        ledger book = changing_ledger();
        cut(book);
        {
            const trial what_if{book};
            ASSERT_TRUE(book.commit(pod_id{4}));
            ASSERT_TRUE(run_on(book, 20, node_index{0}, 1));
            describe_n0(book, {"u2", "u0", "u1"});
            if (releases) {
                ASSERT_TRUE(book.release(pod_id{1}));
            } else {
                ASSERT_TRUE(run_on(book, 21, node_index{0}, 1));
            }
        }
        cut(book);
        const ledger_image before = image_of(book);
        const std::size_t size = book.bookings().size();
        const std::size_t live = book.live_count();
        EXPECT_EQ(free_places(book) + live, size) << releases;
        EXPECT_EQ(image_of(book), before) << releases;
        book.check();
    }
}

} // namespace
} // namespace vgpualloc
