// Plans of moves carried out without a simulation: a host that notes what it is told and completes copies when the test
// says so.
#include "vgpualloc/plan/move_executor.hpp"

#include <array>
#include <functional>
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include "unit/support.hpp"

namespace vgpualloc::plan {
namespace {

using test::add_node;
using test::gpu;
using testing::ElementsAre;

constexpr std::uint32_t first_copy = 1000;

class noting_host : public move_host {
public:
    explicit noting_host(ledger& book) : book_{&book} {}

    void set_closed(node_index node, device_index device, bool closed) override {
        const auto ordered =
            book_->set_service(node, device, closed ? service_state::reconfiguring : service_state::in_service);
        EXPECT_TRUE(ordered.has_value() && *ordered);
    }
    pod_id new_copy() override { return pod_id{first_copy + copies++}; }
    void begin_copy(move_ticket ticket, const pod_move& move) override {
        tickets.push_back(ticket);
        note("copy", move.pod);
    }
    void go_on_soon(move_ticket ticket) override {
        tickets.push_back(ticket);
        notes.emplace_back("go on");
    }
    void leaves(const pod_move& move) override { EXPECT_EQ(book_->booking_of(move.pod).where, move.from); }
    void arrives(const pod_move& move, booking_id booked) override {
        EXPECT_EQ(book_->find_booking(booked)->owner, move.pod);
        EXPECT_EQ(book_->booking_of(move.pod).where, move.to);
        note("moved", move.pod);
    }
    void use_changed(node_index /*node*/) override { ++uses; }
    bool may_start(pod_id /*arriving*/) override { return has_quota; }
    void ended(const ended_plan& plan) override {
        notes.emplace_back(plan.dropped ? "dropped" : "done");
        last = plan;
        if (on_end) on_end();
    }

    std::uint32_t copies = 0;
    int uses = 0;
    bool has_quota = true;
    std::vector<move_ticket> tickets;
    std::vector<std::string> notes;
    ended_plan last;
    std::function<void()> on_end;

private:
    void note(const std::string& what, pod_id pod) { notes.push_back(what + " " + std::to_string(pod.value())); }

    ledger* book_;
};

placement on(std::size_t node, std::int64_t memory_mib, std::size_t device = 0) {
    return {.node = node_index{node}, .shares = {test::share_of_device(device, test::part(memory_mib))}};
}

/// Three nodes with one GPU each: pod 0 has 6,000 MiB of the first one, pod 1 has 5,000 MiB of the second one.
class move_executor_test : public testing::Test {
protected:
    static constexpr std::uint32_t arriving_pod = 7;

    move_executor_test() {
        run(0, on(0, 6000));
        run(1, on(1, 5000));
        earn(10);
    }
    static cluster three_nodes() {
        cluster result;
        for (int i = 0; i < 3; ++i) add_node(result, {gpu()});
        return result;
    }
    void run(std::uint32_t pod, const placement& where) {
        ASSERT_TRUE(book.adopt({.owner = pod_id{pod}, .cpu = milli_cpu{1000}, .memory = bytes{1000}, .where = where}));
    }
    void earn(int tokens, move_executor* to = nullptr) {
        for (int i = 0; i < tokens; ++i) (to == nullptr ? executor : *to).note_accepted();
    }
    /// Pod 1 goes to the third node, pod 0 takes its place, and the whole first GPU is free.
    static move_plan two_moves() {
        return {.moves = {{.pod = pod_id{1}, .from = on(1, 5000), .to = on(2, 5000)},
                          {.pod = pod_id{0}, .from = on(0, 6000), .to = on(1, 6000)}},
                .where = on(0, 10'000)};
    }
    static booking arrival() {
        return {.owner = pod_id{arriving_pod}, .cpu = milli_cpu{1000}, .memory = bytes{1000}, .where = {}};
    }
    void complete_copy() { executor.copied(host.tickets.back()); }
    [[nodiscard]] std::int64_t used_mib(std::size_t node) const {
        return book.devices(node_index{node})[0].memory.count();
    }
    [[nodiscard]] std::array<std::int64_t, 3> used() const { return {used_mib(0), used_mib(1), used_mib(2)}; }
    [[nodiscard]] bool all_open() const {
        for (std::size_t node = 0; node < 3; ++node) {
            if (book.services(node_index{node})[0] != service_state::in_service) return false;
        }
        return true;
    }

    ledger book{three_nodes()};
    noting_host host{book};
    move_executor executor{book, host, {.allowance = {.per_accepted = 1.0, .saved_max = 5.0}}};
};

TEST_F(move_executor_test, moves_are_made_one_after_the_other_and_the_arriving_pod_gets_its_place) {
    ASSERT_TRUE(executor.start(two_moves(), arrival()));
    EXPECT_EQ(used(), (std::array<std::int64_t, 3>{6000, 5000, 5000})); // the copy has its place
    EXPECT_TRUE(executor.moves(pod_id{0}) && executor.moves(pod_id{1}) && !executor.moves(pod_id{arriving_pod}));
    EXPECT_EQ(executor.tokens(), 3.0);
    EXPECT_EQ(book.services(node_index{0})[0], service_state::reconfiguring);
    complete_copy();
    EXPECT_EQ(used(), (std::array<std::int64_t, 3>{6000, 6000, 5000}));
    complete_copy();
    EXPECT_EQ(used(), (std::array<std::int64_t, 3>{10'000, 6000, 5000}));
    EXPECT_THAT(host.notes, ElementsAre("copy 1", "moved 1", "copy 0", "moved 0", "done"));
    EXPECT_EQ(host.last.arriving, pod_id{arriving_pod});
    EXPECT_EQ(book.find_booking(*host.last.booked)->where, on(0, 10'000));
    EXPECT_TRUE(host.last.closed_devices && all_open() && executor.is_idle());
    EXPECT_EQ(host.copies, 1U); // one number for both copies
    book.check();
}

TEST_F(move_executor_test, without_an_arriving_pod_the_moves_alone_are_the_plan) {
    ASSERT_TRUE(executor.start({.moves = {two_moves().moves[0]}, .where = {}}, std::nullopt));
    complete_copy();
    EXPECT_THAT(host.notes, ElementsAre("copy 1", "moved 1", "done"));
    EXPECT_FALSE(host.last.arriving || host.last.booked || host.last.dropped);
}

TEST_F(move_executor_test, a_target_that_others_have_taken_ends_the_plan_and_what_was_moved_stays) {
    ASSERT_TRUE(executor.start(two_moves(), arrival()));
    run(2, on(1, 4000)); // somebody who does not know that the device is closed: with 6,000 MiB more it still fits
    run(3, on(1, 1000)); // now it does not
    complete_copy();
    EXPECT_THAT(host.notes, ElementsAre("copy 1", "moved 1", "dropped"));
    EXPECT_EQ(host.last.arriving, pod_id{arriving_pod});
    EXPECT_FALSE(host.last.booked.has_value());
    EXPECT_EQ(used(), (std::array<std::int64_t, 3>{6000, 5000, 5000}));
    EXPECT_TRUE(all_open() && executor.is_idle());
    EXPECT_EQ(executor.tokens(), 3.0); // both moves were begun
    book.check();
}

TEST_F(move_executor_test, a_node_that_changes_ends_the_plans_that_involve_it) {
    const std::size_t bookings_before = book.live_count();
    for (std::size_t node = 0; node < 3; ++node) {
        ASSERT_TRUE(executor.start(two_moves(), arrival()));
        executor.node_changes(node_index{node});
        EXPECT_TRUE(host.last.dropped && executor.is_idle() && all_open()) << node;
        EXPECT_EQ(book.live_count(), bookings_before) << node;
        earn(5);
    }
    ASSERT_TRUE(executor.start({.moves = {two_moves().moves[0]}, .where = on(1, 9000)}, arrival()));
    executor.node_changes(node_index{0});
    EXPECT_FALSE(executor.is_idle()); // it has nothing to do with the first node
}

TEST_F(move_executor_test, moves_that_were_not_begun_give_their_tokens_back) {
    ASSERT_TRUE(executor.start(two_moves(), arrival()));
    EXPECT_EQ(executor.tokens(), 3.0);
    executor.node_changes(node_index{2});
    EXPECT_EQ(executor.tokens(), 4.0);
}

TEST_F(move_executor_test, a_pod_that_ends_while_it_is_copied_needs_no_move) {
    ASSERT_TRUE(executor.start(two_moves(), arrival()));
    const move_ticket of_copy = host.tickets.back();
    ASSERT_TRUE(book.release(pod_id{1}).has_value());
    executor.pod_ended(pod_id{1});
    EXPECT_EQ(used(), (std::array<std::int64_t, 3>{6000, 0, 0}));
    EXPECT_FALSE(executor.is_current(of_copy));
    executor.copied(of_copy); // void: nothing happens
    EXPECT_THAT(host.notes, ElementsAre("copy 1", "go on"));
    complete_copy();
    EXPECT_THAT(host.notes, ElementsAre("copy 1", "go on", "copy 0"));
    complete_copy();
    EXPECT_THAT(host.notes, ElementsAre("copy 1", "go on", "copy 0", "moved 0", "done"));
}

TEST_F(move_executor_test, a_pod_that_ends_before_its_move_is_skipped) {
    ASSERT_TRUE(executor.start(two_moves(), arrival()));
    ASSERT_TRUE(book.release(pod_id{0}).has_value());
    executor.pod_ended(pod_id{0});
    complete_copy();
    EXPECT_THAT(host.notes, ElementsAre("copy 1", "moved 1", "done"));
    EXPECT_EQ(used(), (std::array<std::int64_t, 3>{10'000, 0, 5000}));
}

TEST_F(move_executor_test, a_pod_that_was_moved_by_others_ends_the_plan_at_its_turn) {
    ASSERT_TRUE(executor.start(two_moves(), arrival()));
    ASSERT_TRUE(book.release(pod_id{0}).has_value());
    run(0, on(2, 4000));
    complete_copy();
    EXPECT_THAT(host.notes, ElementsAre("copy 1", "moved 1", "dropped"));
}

TEST_F(move_executor_test, a_plan_is_cancelled_once) {
    ASSERT_TRUE(executor.start(two_moves(), arrival()));
    const move_ticket of_copy = host.tickets.back();
    EXPECT_FALSE(executor.cancel(of_copy.plan + 1));
    EXPECT_TRUE(executor.cancel(of_copy.plan));
    EXPECT_FALSE(executor.cancel(of_copy.plan));
    executor.copied(of_copy);
    EXPECT_THAT(host.notes, ElementsAre("copy 1", "dropped"));
    EXPECT_EQ(used(), (std::array<std::int64_t, 3>{6000, 5000, 0}));
    EXPECT_TRUE(all_open());
}

TEST_F(move_executor_test, a_fault_that_hits_a_copy_ends_its_plan_and_no_other) {
    ASSERT_TRUE(executor.start(two_moves(), arrival()));
    executor.fault_hits(std::array{pod_id{0}, pod_id{1}});
    EXPECT_FALSE(executor.is_idle());
    executor.fault_hits(std::array{pod_id{first_copy}});
    EXPECT_TRUE(executor.is_idle() && host.last.dropped);
}

TEST_F(move_executor_test, an_arriving_pod_without_quota_or_place_at_the_end_is_given_back) {
    ASSERT_TRUE(executor.start(two_moves(), arrival()));
    complete_copy();
    host.has_quota = false;
    complete_copy();
    EXPECT_TRUE(host.last.dropped && !book.is_live(pod_id{arriving_pod}));
    EXPECT_EQ(used(), (std::array<std::int64_t, 3>{0, 6000, 5000}));
    EXPECT_EQ(executor.tokens(), 3.0);
}

TEST_F(move_executor_test, what_cannot_be_done_is_refused_and_changes_nothing) {
    const ledger before{ledger::rebuild(three_nodes(), book.log()).value()};
    move_plan wrong = two_moves();
    std::swap(wrong.moves[0], wrong.moves[1]); // the place is not free yet
    EXPECT_FALSE(executor.start(wrong, arrival()));
    wrong = two_moves();
    wrong.moves[0].from = on(2, 5000);
    EXPECT_FALSE(executor.start(wrong, arrival()));
    wrong = two_moves();
    wrong.where = on(1, 10'000);
    EXPECT_FALSE(executor.start(wrong, arrival()));
    EXPECT_FALSE(executor.start({}, arrival()));
    EXPECT_TRUE(book.same_use(before) && all_open() && executor.is_idle() && host.notes.empty());
    EXPECT_EQ(executor.tokens(), 5.0);
    move_executor poor{book, host, {.allowance = {.per_accepted = 1.0, .saved_max = 1.5}}};
    earn(10, &poor);
    EXPECT_EQ(poor.tokens(), 1.5);
    EXPECT_FALSE(poor.start(two_moves(), arrival()));
}

TEST_F(move_executor_test, instant_moves_are_all_made_before_start_returns) {
    move_executor at_once{book, host, {.allowance = {.per_accepted = 1.0, .saved_max = 5.0}, .instant = true}};
    earn(2, &at_once);
    ASSERT_TRUE(at_once.start(two_moves(), arrival()));
    EXPECT_THAT(host.notes, ElementsAre("moved 1", "moved 0", "done"));
    EXPECT_EQ(used(), (std::array<std::int64_t, 3>{10'000, 6000, 5000}));
    EXPECT_FALSE(host.last.closed_devices);
    EXPECT_EQ(host.copies, 0U);
}

TEST_F(move_executor_test, the_end_of_one_plan_may_begin_the_next) {
    host.on_end = [this] {
        host.on_end = {};
        EXPECT_TRUE(executor.is_idle());
        EXPECT_TRUE(executor.start({.moves = {two_moves().moves[1]}, .where = {}}, std::nullopt));
    };
    ASSERT_TRUE(executor.start({.moves = {two_moves().moves[0]}, .where = {}}, std::nullopt));
    complete_copy();
    complete_copy();
    EXPECT_THAT(host.notes, ElementsAre("copy 1", "moved 1", "done", "copy 0", "moved 0", "done"));
}

TEST_F(move_executor_test, inside_a_node_a_copy_needs_no_further_cpu) {
    cluster nodes;
    add_node(nodes, {gpu(), gpu()}, milli_cpu{1500});
    ledger full{nodes};
    ASSERT_TRUE(full.adopt({.owner = pod_id{0}, .cpu = milli_cpu{1000}, .memory = bytes{1000}, .where = on(0, 6000)}));
    noting_host beside{full};
    move_executor within{full, beside, {.allowance = {.per_accepted = 1.0, .saved_max = 5.0}}};
    earn(1, &within);
    ASSERT_TRUE(within.start({.moves = {{.pod = pod_id{0}, .from = on(0, 6000), .to = on(0, 6000, 1)}}, .where = {}},
                             std::nullopt));
    EXPECT_EQ(full.host(node_index{0}).cpu, milli_cpu{1000});
    within.copied(beside.tickets.back());
    EXPECT_FALSE(beside.last.dropped);
}

} // namespace
} // namespace vgpualloc::plan
