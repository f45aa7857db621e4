// The ledger, operation by operation. Random interleavings are in tests/property.
#include "support.hpp"
#include "vgpualloc/model/trial.hpp"

#include <algorithm>
#include <optional>

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;
using enum ledger_event_kind;

/// One node with two shared devices and a whole one; a second node without devices.
class ledger_fixture : public testing::Test {
protected:
    ledger_fixture() {
        where = add_node(owned, {gpu("A", 2), gpu("A", 2), gpu("B", 1, "exclusive")});
        bare = add_node(owned, {}, milli_cpu{2000});
        owned.nodes[bare.at()].pods_max = 2;
        book.emplace(owned);
    }

    [[nodiscard]] std::vector<device_state> devices() const {
        const auto states = book->devices(where);
        return {states.begin(), states.end()};
    }

    cluster owned;
    node_index where;
    node_index bare;
    std::optional<ledger> book;
};
using ledger_test = ledger_fixture;
using ledger_death_test = ledger_fixture;

TEST_F(ledger_test, a_copy_goes_its_own_way) {
    ASSERT_TRUE(book->reserve(book_on(5, where, {share_of_device(0, part(6000, 50))})));
    book->commit(pod_id{5U});
    {
        const trial undone{*book};
        ASSERT_TRUE(book->reserve(book_on(6, where, {share_of_device(1, part(6000, 50))})));
    }
    ledger same = book->copy();
    EXPECT_TRUE(same.is_committed(pod_id{5U}));
    EXPECT_EQ(same.events().size(), book->events().size());
    ASSERT_TRUE(same.release(pod_id{5U}));
    ASSERT_TRUE(same.reserve(book_on(7, bare, {})));
    same.commit(pod_id{7U});
    EXPECT_TRUE(book->is_live(pod_id{5U}));
    EXPECT_FALSE(book->is_live(pod_id{7U}));
    EXPECT_EQ(same.devices(where)[0], device_state{});
    EXPECT_EQ(devices()[0], (device_state{mib{6000}, core_percent{50}, 1, 0}));
    {
        const trial undone{same};
        ASSERT_TRUE(same.release(pod_id{7U}));
    }
    EXPECT_TRUE(same.is_live(pod_id{7U})) << "a copy has trials of its own";
}

TEST_F(ledger_test, a_reservation_is_seen_at_once) {
    ASSERT_TRUE(book->reserve(book_on(5, where, {share_of_device(0, part(6000, 50))})));
    EXPECT_TRUE(book->is_live(pod_id{5U}));
    EXPECT_FALSE(book->is_committed(pod_id{5U}));
    EXPECT_FALSE(book->is_live(pod_id{4U}));
    EXPECT_FALSE(book->is_live(pod_id{6U}));
    EXPECT_EQ(book->host(where), (host_use{milli_cpu{1000}, bytes{1000}, 1}));
    EXPECT_EQ(devices()[0], (device_state{mib{6000}, core_percent{50}, 1, 0}));
    const auto next = book->reserve(book_on(6, where, {share_of_device(0, part(6000))}));
    ASSERT_FALSE(next.has_value());
    EXPECT_EQ(next.error(), (rejection_detail{insufficient_device_memory, 6000, 4000}));
    book->commit(pod_id{5U});
    EXPECT_TRUE(book->is_committed(pod_id{5U}));
    EXPECT_EQ(book->live_count(), 1U);
    EXPECT_EQ(book->booking_of(pod_id{5U}).where.shares.size(), 1U);
}

TEST_F(ledger_test, refuses_with_the_first_check_and_its_numbers_and_changes_nothing) {
    struct row {
        const char* why;
        booking entry;
        rejection_detail refused;
    };
    ASSERT_TRUE(
        book->reserve(book_on(1, where, {share_of_device(0, part(6000, 80)), share_of_device(2, whole_device{})})));
    const auto on_bare = [&](std::int64_t cpu, std::int64_t memory) {
        booking result = book_on(9, bare, {}, cpu);
        result.memory = bytes{memory};
        return result;
    };
    const std::vector<row> rows{
        {"host CPU before memory", book_on(9, bare, {}, 2001), {insufficient_cpu, 2001, 2000}},
        {"host memory", on_bare(2000, 64001), {insufficient_memory, 64001, 64000}},
        {"a device that is not there", book_on(9, bare, {share_of_device(7, part(1))}), {too_few_devices, 8, 0}},
        {"device memory",
         book_on(9, where, {share_of_device(0, part(4001))}),
         {insufficient_device_memory, 4001, 4000}},
        {"device compute", book_on(9, where, {share_of_device(0, part(1, 21))}), {insufficient_device_cores, 21, 20}},
        {"a taken device", book_on(9, where, {share_of_device(2, whole_device{})}), {device_taken_whole, 1, 0}},
        {"a slice of a device that is not cut",
         book_on(9, where, {share_of_device(2, part(1))}),
         {mode_not_offered, 0, 0}},
        {"the second share fails: the first is taken back",
         book_on(9, where, {share_of_device(1, part(4000)), share_of_device(1, part(6001))}),
         {insufficient_device_memory, 6001, 6000}},
        {"slots run out within one pod",
         book_on(9, where, {share_of_device(1, part(1)), share_of_device(1, part(1)), share_of_device(1, part(1))}),
         {insufficient_device_slots, 1, 0}},
    };
    const auto before = devices();
    const host_use host = book->host(where);
    for (const row& example : rows) {
        const auto answer = book->reserve(example.entry);
        ASSERT_FALSE(answer.has_value()) << example.why;
        EXPECT_EQ(answer.error(), example.refused) << example.why;
        EXPECT_EQ(devices(), before) << example.why;
        EXPECT_EQ(book->host(where), host) << example.why;
    }
    EXPECT_EQ(book->events().size(), 1U);
    ASSERT_TRUE(book->reserve(book_on(2, bare)));
    ASSERT_TRUE(book->reserve(book_on(3, bare)));
    EXPECT_EQ(book->reserve(book_on(4, bare)).error(), (rejection_detail{too_many_pods, 1, 0}));
}

TEST_F(ledger_test, rollback_and_release_restore_the_former_state) {
    ASSERT_TRUE(book->reserve(book_on(1, where, {share_of_device(0, part(1000, 10))})));
    const auto before = devices();
    const host_use host = book->host(where);
    const std::initializer_list<device_share> shares{
        share_of_device(0, part(2000, 20)), share_of_device(2, whole_device{}), share_of_device(1, part(3000), 1)};
    ASSERT_TRUE(book->reserve(book_on(2, where, shares)));
    book->rollback(pod_id{2U});
    EXPECT_EQ(devices(), before);
    EXPECT_EQ(book->host(where), host);
    ASSERT_TRUE(book->reserve(book_on(2, where, shares))) << "a pod that was rolled back may be booked again";
    book->commit(pod_id{2U});
    book->release(pod_id{2U});
    EXPECT_EQ(devices(), before);
    EXPECT_EQ(book->host(where), host);
    EXPECT_EQ(book->live_count(), 1U);
    book->check();
    std::vector<ledger_event_kind> kinds;
    for (const ledger_event& event : book->events()) kinds.push_back(event.kind);
    EXPECT_EQ(kinds, (std::vector{reserve, reserve, rollback, reserve, commit, release}));
    EXPECT_EQ(book->bookings().size(), 3U) << "every booking is kept, the log names them by position";
}

TEST_F(ledger_test, is_rebuilt_from_its_log_and_from_live_bookings_in_any_order) {
    std::vector<booking> live;
    for (std::uint32_t i = 0; i < 4; ++i) {
        ASSERT_TRUE(book->reserve(book_on(i, where, {share_of_device(i % 2, part(1000 + i, 10))})));
        if (i != 3) book->commit(pod_id{i});
        live.push_back(book->booking_of(pod_id{i}));
    }
    const ledger replayed = ledger::rebuild(owned, book->log()).value();
    EXPECT_TRUE(replayed.same_use(*book));
    EXPECT_EQ(replayed.events().size(), book->events().size());
    book->commit(pod_id{3U});
    EXPECT_FALSE(replayed.same_use(*book)) << "one pod is only reserved there";
    do {
        EXPECT_TRUE(ledger::rebuild(owned, live).value().same_use(*book));
    } while (std::ranges::next_permutation(live, {}, &booking::owner).found);
}

TEST_F(ledger_test, same_use_sees_other_pods_placements_and_amounts) {
    const auto with = [&](std::vector<booking> live) { return ledger::rebuild(owned, live).value(); };
    const booking one = book_on(1, where, {share_of_device(0, part(10))});
    const ledger base = with({one});
    EXPECT_TRUE(base.same_use(with({one})));
    EXPECT_FALSE(base.same_use(with({})));
    EXPECT_FALSE(base.same_use(with({book_on(2, where, {share_of_device(0, part(10))})}))) << "another pod";
    EXPECT_FALSE(base.same_use(with({book_on(1, where, {share_of_device(1, part(10))})}))) << "another device";
    EXPECT_FALSE(base.same_use(with({book_on(1, where, {share_of_device(0, part(10), 1)})}))) << "another container";
    EXPECT_FALSE(base.same_use(with({book_on(1, where, {share_of_device(0, part(10))}, 999)}))) << "another CPU";
}

TEST_F(ledger_test, a_log_that_cannot_be_is_refused_with_its_event) {
    struct row {
        std::vector<ledger_event> events;
        std::string message;
    };
    booking elsewhere = book_on(3, node_index{2U});
    booking negative = book_on(3, where, {}, -1);
    booking nobody = book_on(3, where);
    nobody.owner = pod_id{};
    const std::vector<booking> bookings{book_on(0, where, {share_of_device(2, whole_device{})}),
                                        book_on(1, where, {share_of_device(2, whole_device{})}), elsewhere, negative,
                                        nobody};
    const std::string state = "the booking can be made, or taken back, as the event says";
    const std::string foreign = "the booking is not of this cluster";
    const auto of = [](ledger_event_kind kind, std::uint32_t slot) {
        return ledger_event{.kind = kind, .subject = slot};
    };
    const std::vector<row> rows{
        {{of(reserve, 5)}, "event 0: the event names no booking"},
        {{of(reserve, 2)}, "event 0: " + state},
        {{of(reserve, 3)}, "event 0: " + state},
        {{of(reserve, 4)}, "event 0: " + state},
        {{of(commit, 0)}, "event 0: " + state},
        {{of(reserve, 0), of(reserve, 0)}, "event 1: " + state},
        {{of(reserve, 0), of(release, 0)}, "event 1: " + state},
        {{of(reserve, 0), of(commit, 0), of(rollback, 0)}, "event 2: " + state},
        {{of(reserve, 0), of(commit, 0), of(commit, 0)}, "event 2: " + state},
        {{of(reserve, 0), of(reserve, 1)}, "event 1: " + state},
        {{of(node_changed, 0)}, "event 0: the event names no change"},
    };
    for (const row& example : rows) {
        const auto rebuilt = ledger::rebuild(owned, {.events = example.events, .bookings = bookings});
        ASSERT_FALSE(rebuilt.has_value()) << example.message;
        EXPECT_EQ(rebuilt.error().message(), example.message);
    }
    const auto live = [&](std::initializer_list<std::size_t> which) {
        std::vector<booking> chosen;
        for (const std::size_t i : which) chosen.push_back(bookings[i]);
        return ledger::rebuild(owned, chosen).error().message();
    };
    EXPECT_EQ(live({2}), "event 0: " + foreign);
    EXPECT_EQ(live({0, 0}), "event 1: the pod is booked twice");
}

TEST_F(ledger_test, misuse_is_a_value_and_changes_nothing) {
    const pod_id one{1};
    const auto code = [](const auto& answer) { return answer ? none : answer.error().code; };
    ASSERT_TRUE(book->reserve(book_on(1, where)));
    const std::size_t events = book->events().size();
    EXPECT_EQ(code(book->reserve(book_on(1, where))), pod_is_live);
    EXPECT_EQ(code(book->adopt(book_on(1, where))), pod_is_live);
    EXPECT_EQ(code(book->reserve(book_on(2, node_index{9}))), node_not_known);
    EXPECT_EQ(code(book->reserve(book_on(2, where, {}, -5))), amount_not_valid);
    booking nobody = book_on(2, where);
    nobody.owner = pod_id{};
    EXPECT_EQ(code(book->reserve(nobody)), pod_not_known);
    EXPECT_EQ(code(book->release(one)), pod_not_known) << "it is only reserved";
    EXPECT_EQ(code(book->commit(pod_id{2})), pod_not_known);
    EXPECT_EQ(code(book->rollback(pod_id{2})), pod_not_known);
    EXPECT_EQ(book->find_booking(pod_id{2}), nullptr);
    EXPECT_EQ(book->events().size(), events);
    ASSERT_TRUE(book->commit(one));
    EXPECT_EQ(code(book->rollback(one)), pod_not_known);
    ASSERT_TRUE(book->release(one));
    EXPECT_EQ(code(book->release(one)), pod_not_known) << "an event that comes twice";
    ASSERT_TRUE(book->reserve({.owner = pod_id{1, 7}, .where = {.node = where, .shares = {}}}));
    EXPECT_EQ(code(book->commit(one)), pod_not_known) << "the number is another pod's now";
    ASSERT_TRUE(book->rollback(pod_id{1, 7}));
    EXPECT_EQ(code(book->reserve(book_on(1, where))), pod_not_known) << "a late event of the pod that had it before";
}

TEST_F(ledger_death_test, a_broken_promise_aborts_with_the_name_of_the_invariant) {
    EXPECT_DEATH(static_cast<void>(book->booking_of(pod_id{2})), "only a live pod has a booking");
}

/// As a restarted scheduler finds it: two pods that fill a node of 2000 mCPU and two pods, and a third.
TEST_F(ledger_test, a_host_that_was_adopted_too_full_recovers) {
    for (const std::uint32_t pod : {1U, 2U, 3U}) ASSERT_TRUE(book->adopt(book_on(pod, bare, {})));
    EXPECT_TRUE(book->is_overcommitted(bare));
    EXPECT_FALSE(book->is_overcommitted(where));
    book->check();
    book->release(pod_id{1U});
    EXPECT_FALSE(book->is_overcommitted(bare)) << "what is left fits";
    EXPECT_EQ(book->reserve(book_on(4, bare, {})).error(), (rejection_detail{too_many_pods, 1, 0}));
    ASSERT_TRUE(book->adopt(book_on(5, bare, {})));
    EXPECT_TRUE(book->is_overcommitted(bare)) << "and again";
    book->check();
}

/// Less CPU than the node has is not enough while there are too many pods.
TEST_F(ledger_test, a_host_recovers_only_in_all_amounts) {
    for (const std::uint32_t pod : {1U, 2U, 3U, 4U}) ASSERT_TRUE(book->adopt(book_on(pod, bare, {}, 600)));
    book->release(pod_id{1U});
    EXPECT_TRUE(book->is_overcommitted(bare)) << "1800 of 2000 mCPU, but three pods of two";
    book->release(pod_id{2U});
    EXPECT_FALSE(book->is_overcommitted(bare));
    book->check();
}

/// Kubernetes' rule: what a pod does not ask for is not compared.
TEST_F(ledger_test, a_pod_that_asks_for_nothing_fits_on_a_host_that_is_too_full) {
    for (const std::uint32_t pod : {1U, 2U}) ASSERT_TRUE(book->adopt(book_on(pod, where, {}, 20000)));
    booking modest = book_on(3, where, {}, 0);
    EXPECT_EQ(book->why_not_host(where, milli_cpu{0}, bytes{0}), rejection_detail{});
    EXPECT_EQ(book->why_not_host(where, milli_cpu{1}, bytes{0}), (rejection_detail{insufficient_cpu, 1, -8000}));
    ASSERT_TRUE(book->reserve(modest));
    EXPECT_TRUE(book->is_overcommitted(where));
    book->check();
    node smaller = book->nodes().nodes[where.at()];
    smaller.memory = bytes{100};
    ASSERT_TRUE(book->update_node(where, smaller));
    modest.owner = pod_id{4};
    EXPECT_EQ(book->reserve(modest).error(), (rejection_detail{insufficient_memory, 1000, -2900}));
    modest.memory = bytes{0};
    EXPECT_TRUE(book->reserve(modest));
    book->check();
}

} // namespace
} // namespace vgpualloc
