// Nodes of a ledger that come, are described anew, fail, go and return while pods run on them.
#include "nodes.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;
using enum service_state;

/// A ledger that starts with kinds of devices and no node. After each test its log must give the same ledger again.
class ledger_nodes_test : public testing::Test {
protected:
    void TearDown() override {
        book.check();
        const auto replayed = ledger::rebuild(cluster_of_kinds(), book.log());
        ASSERT_TRUE(replayed.has_value());
        EXPECT_TRUE(replayed->same_use(book));
        EXPECT_TRUE(book.same_use(*replayed));
        EXPECT_TRUE(replayed->same_use_by_name(book));
    }

    [[nodiscard]] node_index add(const node& described) { return book.add_node(described).value(); }
    [[nodiscard]] bool update(node_index where, const node& described) {
        return book.update_node(where, described).value();
    }
    [[nodiscard]] rejection_detail refusal(const booking& entry) {
        const auto booked = book.reserve(entry);
        return booked ? rejection_detail{} : booked.error();
    }
    [[nodiscard]] rejection_code refusal_on(node_index where, std::size_t device) {
        return refusal(book_on(900, where, {share_of_device(device, part(100))})).code;
    }
    [[nodiscard]] std::vector<device_index> devices_of(std::uint32_t pod) const {
        std::vector<device_index> devices;
        for (const device_share& share : book.booking_of(pod_id{pod}).where.shares) devices.push_back(share.device);
        return devices;
    }
    [[nodiscard]] const node& described(node_index where) const { return book.nodes().nodes[where.at()]; }

    ledger book{cluster_of_kinds()};
};

TEST_F(ledger_nodes_test, a_node_that_comes_takes_pods) {
    const node registered = node_with("n", {"u0", "u1"});
    const node_index where = add(registered);
    EXPECT_TRUE(book.is_present(where));
    EXPECT_EQ(book.find_node("n"), where);
    EXPECT_FALSE(book.find_node("m").valid());
    EXPECT_EQ(book.devices(where).size(), 2U);
    ASSERT_EQ(book.events().size(), 1U);
    EXPECT_EQ(book.events()[0].kind, ledger_event_kind::node_added);
    EXPECT_EQ(book.change(book.events()[0]).described, registered);
    EXPECT_TRUE(run_on(book, 1, where, 1));
    EXPECT_EQ(book.devices(where)[1], (device_state{mib{1000}, core_percent{0}, 1, 0}));
}

TEST_F(ledger_nodes_test, a_registration_that_comes_again_unchanged_leaves_no_event) {
    const node registered = node_with("n", {"u0", "u1"});
    const node_index where = add(registered);
    ASSERT_TRUE(run_on(book, 1, where, 1));
    const std::uint64_t next = book.next_event();
    const std::uint64_t version = book.version_of(where);
    EXPECT_FALSE(update(where, registered));
    EXPECT_EQ(book.next_event(), next);
    EXPECT_EQ(book.version_of(where), version);
    const node without_last = node_with("n", {"u0"});
    EXPECT_TRUE(update(where, without_last));
    EXPECT_EQ(book.next_event(), next + 1);
    EXPECT_FALSE(update(where, without_last)) << "it still waits for the pod, which is nothing new";
    EXPECT_EQ(book.next_event(), next + 1);
}

TEST_F(ledger_nodes_test, bookings_follow_their_devices_by_uuid) {
    const node_index where = add(node_with("n", {"u0", "u1", "u2"}));
    ASSERT_TRUE(run_on(book, 1, where, 0, 1000));
    ASSERT_TRUE(run_on(book, 2, where, 1, 2000));
    ASSERT_TRUE(book.reserve(book_on(3, where, {share_of_device(2, part(3000)), share_of_device(0, part(300))})));
    EXPECT_TRUE(update(where, node_with("n", {"u2", "u1", "u0"})));
    EXPECT_EQ(devices_of(1), (std::vector{device_index{2}}));
    EXPECT_EQ(devices_of(2), (std::vector{device_index{1}}));
    EXPECT_EQ(devices_of(3), (std::vector{device_index{0}, device_index{2}}));
    EXPECT_EQ(book.devices(where)[0].memory, mib{3000});
    EXPECT_EQ(book.devices(where)[1].memory, mib{2000});
    EXPECT_EQ(book.devices(where)[2].memory, mib{1300});
    EXPECT_FALSE(book.is_committed(pod_id{3})) << "what was reserved stays reserved";
    EXPECT_EQ(book.change(book.events().back()).replaced.size(), 2U) << "the second pod's booking is what it was";
    ASSERT_TRUE(book.rollback(pod_id{3}));
    ASSERT_TRUE(book.release(pod_id{1}));
    ASSERT_TRUE(book.release(pod_id{2}));
    for (const device_state& state : book.devices(where)) EXPECT_EQ(state, device_state{});
}

TEST_F(ledger_nodes_test, a_device_without_uuid_is_known_by_its_index) {
    const node_index where = add(node_with("n", {"", ""}));
    ASSERT_TRUE(run_on(book, 1, where, 1));
    EXPECT_TRUE(update(where, node_with("n", {"", "", ""})));
    EXPECT_EQ(devices_of(1), (std::vector{device_index{1}}));
    EXPECT_EQ(book.devices(where)[1].memory, mib{1000});
    EXPECT_EQ(book.devices(where)[2], device_state{});
}

TEST_F(ledger_nodes_test, a_device_that_is_no_longer_named_goes_with_its_last_pod) {
    const node_index where = add(node_with("n", {"u0", "u1"}));
    ASSERT_TRUE(run_on(book, 1, where, 0));
    ASSERT_TRUE(run_on(book, 2, where, 0));
    const node left = node_with("n", {"u1"});
    EXPECT_TRUE(update(where, left));
    ASSERT_EQ(book.devices(where).size(), 2U);
    EXPECT_EQ(described(where).devices[1].uuid, "u0") << "those that are named come first";
    EXPECT_EQ(book.services(where)[1], failed);
    EXPECT_EQ(book.devices(where)[1].memory, mib{2000});
    EXPECT_EQ(refusal_on(where, 1), device_unhealthy);
    EXPECT_TRUE(book.adopt(book_on(3, where, {share_of_device(1, part(10))}))) << "what runs is counted";
    ASSERT_TRUE(book.release(pod_id{1}));
    ASSERT_TRUE(book.release(pod_id{3}));
    EXPECT_EQ(book.devices(where).size(), 2U);
    ASSERT_TRUE(book.release(pod_id{2}));
    EXPECT_EQ(described(where), left);
    EXPECT_EQ(book.devices(where).size(), 1U);
    EXPECT_EQ(book.events().back().kind, ledger_event_kind::node_changed);
}

TEST_F(ledger_nodes_test, an_idle_device_that_is_no_longer_named_goes_at_once) {
    const node_index where = add(node_with("n", {"u0", "u1", "u2"}));
    ASSERT_TRUE(run_on(book, 1, where, 2));
    const node left = node_with("n", {"u2"});
    EXPECT_TRUE(update(where, left));
    EXPECT_EQ(described(where), left);
    EXPECT_EQ(devices_of(1), (std::vector{device_index{0}}));
}

TEST_F(ledger_nodes_test, a_device_that_is_named_again_in_time_is_what_it_was) {
    const node registered = node_with("n", {"u0", "u1"});
    const node_index where = add(registered);
    ASSERT_TRUE(run_on(book, 1, where, 0));
    EXPECT_TRUE(update(where, node_with("n", {"u1"})));
    EXPECT_EQ(devices_of(1), (std::vector{device_index{1}}));
    EXPECT_TRUE(update(where, registered));
    EXPECT_EQ(described(where), registered);
    EXPECT_EQ(devices_of(1), (std::vector{device_index{0}}));
    EXPECT_EQ(refusal_on(where, 0), none);
}

TEST_F(ledger_nodes_test, a_used_device_changes_its_mode_when_its_last_pod_has_ended) {
    const node_index where = add(node_with("n", {"u0", "u1"}));
    ASSERT_TRUE(run_on(book, 1, where, 0));
    ASSERT_TRUE(run_on(book, 2, where, 0));
    node changed = node_with("n", {"u0", "u1"}, kind_whole);
    changed.cpu = milli_cpu{5000};
    EXPECT_TRUE(update(where, changed));
    EXPECT_EQ(book.services(where)[0], reconfiguring);
    EXPECT_EQ(described(where).devices[0].kind, kind_a);
    EXPECT_EQ(described(where).devices[1].kind, kind_whole) << "nothing runs there";
    EXPECT_EQ(described(where).cpu, milli_cpu{5000}) << "the host does not wait";
    EXPECT_EQ(refusal_on(where, 0), device_reconfiguring);
    ASSERT_TRUE(book.release(pod_id{2}));
    EXPECT_EQ(book.services(where)[0], reconfiguring);
    ASSERT_TRUE(book.release(pod_id{1}));
    EXPECT_EQ(described(where), changed);
    EXPECT_EQ(refusal(book_on(3, where, {share_of_device(0, whole_device{})})), rejection_detail{});
}

TEST_F(ledger_nodes_test, a_change_of_mode_that_is_withdrawn_in_time_never_happens) {
    const node registered = node_with("n", {"u0"});
    const node_index where = add(registered);
    ASSERT_TRUE(run_on(book, 1, where, 0));
    EXPECT_TRUE(update(where, node_with("n", {"u0"}, kind_whole)));
    EXPECT_TRUE(update(where, registered));
    EXPECT_EQ(described(where), registered);
    EXPECT_EQ(refusal_on(where, 0), none);
    ASSERT_TRUE(book.release(pod_id{1}));
    EXPECT_EQ(described(where), registered);
}

TEST_F(ledger_nodes_test, a_device_that_shrinks_below_its_use_recovers) {
    const node_index where = add(node_with("n", {"u0"}));
    ASSERT_TRUE(run_on(book, 1, where, 0, 4000));
    ASSERT_TRUE(run_on(book, 2, where, 0, 4000));
    EXPECT_TRUE(update(where, node_with("n", {"u0"}, kind_small))) << "of the same mode: at once";
    EXPECT_EQ(described(where).devices[0].kind, kind_small);
    EXPECT_TRUE(book.is_overcommitted(where, device_index{0}));
    book.check();
    EXPECT_EQ(refusal_on(where, 0), insufficient_device_memory);
    ASSERT_TRUE(book.release(pod_id{1}));
    EXPECT_FALSE(book.is_overcommitted(where, device_index{0}));
    EXPECT_EQ(refusal_on(where, 0), none);
}

TEST_F(ledger_nodes_test, a_host_that_shrinks_below_its_use_recovers) {
    const node registered = node_with("n", {});
    std::vector<std::pair<node, rejection_detail>> smaller(3, {registered, {}});
    smaller[0].first.cpu = milli_cpu{1500};
    smaller[0].second = {insufficient_cpu, 1000, -500};
    smaller[1].first.memory = bytes{1500};
    smaller[1].second = {insufficient_memory, 1000, -500};
    smaller[2].first.pods_max = 1;
    smaller[2].second = {too_many_pods, 1, -1};
    const node_index where = add(registered);
    for (const auto& [shrunk, refused] : smaller) {
        ASSERT_TRUE(book.adopt(book_on(1, where)));
        ASSERT_TRUE(book.adopt(book_on(2, where)));
        EXPECT_FALSE(book.is_overcommitted(where));
        EXPECT_TRUE(update(where, shrunk));
        EXPECT_TRUE(book.is_overcommitted(where)) << to_string(refused.code);
        EXPECT_EQ(refusal(book_on(3, where)), refused);
        book.check();
        ASSERT_TRUE(book.release(pod_id{1}));
        EXPECT_FALSE(book.is_overcommitted(where)) << to_string(refused.code);
        EXPECT_TRUE(update(where, registered));
        ASSERT_TRUE(book.release(pod_id{2}));
    }
    ASSERT_TRUE(book.adopt(book_on(1, where)));
    ASSERT_TRUE(book.adopt(book_on(2, where)));
    EXPECT_TRUE(update(where, smaller[0].first));
    EXPECT_TRUE(update(where, registered));
    EXPECT_FALSE(book.is_overcommitted(where)) << "more room helps as well as less use";
}

TEST_F(ledger_nodes_test, what_runs_on_a_node_that_goes_is_counted_until_it_ends) {
    const node_index where = add(node_with("n", {"u0"}));
    const node_index other = add(node_with("m", {"v0"}));
    ASSERT_TRUE(run_on(book, 1, where, 0));
    ASSERT_TRUE(book.reserve(book_on(2, where)));
    ASSERT_TRUE(book.remove_node(where));
    EXPECT_FALSE(book.is_present(where));
    EXPECT_EQ(book.find_node("n"), where) << "as long as pods run there";
    EXPECT_EQ(book.host(where).pods, 2);
    EXPECT_EQ(book.devices(where)[0].memory, mib{1000});
    EXPECT_EQ(book.services(where)[0], failed);
    EXPECT_EQ(refusal(book_on(3, where)).code, node_gone);
    EXPECT_EQ(book.adopt(book_on(3, where)).error().code, node_gone);
    ASSERT_TRUE(book.commit(pod_id{2})) << "it may have been bound just then";
    EXPECT_FALSE(book.remove_node(where)) << "it is gone";
    ASSERT_TRUE(book.release(pod_id{2}));
    EXPECT_EQ(book.find_node("n"), where);
    ASSERT_TRUE(book.release(pod_id{1}));
    EXPECT_FALSE(book.find_node("n").valid());
    EXPECT_EQ(book.devices(where).size(), 0U);
    EXPECT_EQ(book.host(where), host_use{});
    EXPECT_TRUE(book.is_present(other));
}

TEST_F(ledger_nodes_test, a_node_that_returns_takes_its_pods_back_by_uuid) {
    const node_index where = add(node_with("n", {"u0", "u1"}));
    ASSERT_TRUE(run_on(book, 1, where, 0, 1000));
    ASSERT_TRUE(run_on(book, 2, where, 1, 2000));
    ASSERT_TRUE(book.remove_node(where));
    const node returned = node_with("n", {"new", "u1", "u0"});
    EXPECT_EQ(add(returned), where);
    EXPECT_TRUE(book.is_present(where));
    EXPECT_EQ(described(where), returned);
    EXPECT_EQ(devices_of(1), (std::vector{device_index{2}}));
    EXPECT_EQ(book.devices(where)[0], device_state{});
    EXPECT_EQ(book.devices(where)[1].memory, mib{2000});
    EXPECT_EQ(book.devices(where)[2].memory, mib{1000});
    EXPECT_EQ(refusal_on(where, 2), none);
}

TEST_F(ledger_nodes_test, a_node_that_returns_without_a_used_device_keeps_that_device_out_of_service) {
    const node_index where = add(node_with("n", {"u0", "u1"}));
    ASSERT_TRUE(run_on(book, 1, where, 1));
    ASSERT_TRUE(book.remove_node(where));
    const node returned = node_with("n", {"u0", "u9"});
    EXPECT_EQ(add(returned), where);
    ASSERT_EQ(book.devices(where).size(), 3U);
    EXPECT_EQ(devices_of(1), (std::vector{device_index{2}}));
    EXPECT_EQ(refusal_on(where, 2), device_unhealthy);
    ASSERT_TRUE(book.release(pod_id{1}));
    EXPECT_EQ(described(where), returned);
}

TEST_F(ledger_nodes_test, a_node_that_goes_while_devices_wait_forgets_what_they_waited_for) {
    const node_index where = add(node_with("n", {"u0"}));
    ASSERT_TRUE(run_on(book, 1, where, 0));
    EXPECT_TRUE(update(where, node_with("n", {"u0"}, kind_whole)));
    ASSERT_TRUE(book.remove_node(where));
    EXPECT_EQ(add(node_with("n", {"u0"})), where);
    EXPECT_EQ(refusal_on(where, 0), none);
}

TEST_F(ledger_nodes_test, the_index_of_a_node_that_is_gone_is_given_to_another) {
    const node_index first = add(node_with("a", {"u0"}));
    const node_index second = add(node_with("b", {"u0"}));
    ASSERT_TRUE(run_on(book, 1, first, 0));
    ASSERT_TRUE(book.remove_node(first));
    EXPECT_EQ(add(node_with("c", {})).at(), 2U) << "a pod still runs on the first";
    ASSERT_TRUE(book.release(pod_id{1}));
    EXPECT_EQ(refusal(book_on(2, first)).code, node_gone);
    const std::uint64_t version = book.version_of(first);
    EXPECT_EQ(add(node_with("d", {"w0", "w1"})), first);
    EXPECT_GT(book.version_of(first), version);
    EXPECT_GT(book.rank_of(first), book.rank_of(second));
    EXPECT_EQ(book.find_node("d"), first);
    EXPECT_FALSE(book.find_node("a").valid());
    EXPECT_TRUE(run_on(book, 3, first, 1));
    EXPECT_EQ(add(node_with("a", {})).at(), 3U) << "a name that is free again";
}

TEST_F(ledger_nodes_test, devices_out_of_service_keep_what_they_have_and_get_nothing_new) {
    const node_index where = add(node_with("n", {"u0", "u1"}));
    ASSERT_TRUE(run_on(book, 1, where, 0));
    const std::vector<std::pair<service_state, rejection_code>> closed{
        {draining, device_draining}, {failed, device_unhealthy}, {reconfiguring, device_reconfiguring}};
    for (const auto& [service, code] : closed) {
        EXPECT_TRUE(book.set_service(where, device_index{0}, service).value());
        EXPECT_FALSE(book.set_service(where, device_index{0}, service).value());
        EXPECT_EQ(book.services(where)[0], service);
        EXPECT_EQ(book.devices(where)[0].memory, mib{1000});
        EXPECT_EQ(refusal_on(where, 0), code);
        ASSERT_TRUE(book.adopt(book_on(2, where, {share_of_device(0, part(10))})));
        ASSERT_TRUE(book.release(pod_id{2}));
    }
    EXPECT_EQ(refusal_on(where, 1), none);
    EXPECT_EQ(book.events()[3].kind, ledger_event_kind::service_changed);
    EXPECT_EQ(book.change(book.events()[3]).service, draining);
    EXPECT_TRUE(book.set_service(where, device_index{0}, in_service).value());
    ASSERT_TRUE(book.rollback(pod_id{900}));
    EXPECT_EQ(refusal_on(where, 0), none);
}

/// The change is of what the device is to be, which it becomes when its pods have ended.
TEST_F(ledger_nodes_test, the_service_of_a_device_changes_while_another_one_waits) {
    for (const bool has_uuids : {true, false}) {
        const std::string name = has_uuids ? "with" : "without";
        const auto uuid = [&](const char* text) { return has_uuids ? std::string{text} : std::string{}; };
        const node_index where = add(node_with(name, {uuid("u0"), uuid("u1")}));
        const std::uint32_t pod = has_uuids ? 1U : 2U;
        ASSERT_TRUE(run_on(book, pod, where, 0));
        node changed = node_with(name, {uuid("u0"), uuid("u1")});
        changed.devices[0].kind = kind_whole;
        EXPECT_TRUE(update(where, changed));
        EXPECT_TRUE(book.set_service(where, device_index{1}, draining).value()) << name;
        EXPECT_EQ(refusal_on(where, 1), device_draining) << name;
        EXPECT_FALSE(book.set_service(where, device_index{1}, draining).value()) << name;
        EXPECT_TRUE(book.set_service(where, device_index{0}, failed).value()) << name;
        EXPECT_EQ(book.services(where)[0], reconfiguring) << name;
        ASSERT_TRUE(book.release(pod_id{pod}));
        EXPECT_EQ(book.services(where)[0], failed) << name;
        EXPECT_EQ(book.services(where)[1], draining) << name;
    }
}

TEST_F(ledger_nodes_test, a_device_that_is_only_waiting_to_go_has_no_service_to_change) {
    const node_index where = add(node_with("n", {"u0", "u1"}));
    ASSERT_TRUE(run_on(book, 1, where, 1));
    EXPECT_TRUE(update(where, node_with("n", {"u0"})));
    EXPECT_FALSE(book.set_service(where, device_index{1}, in_service).value());
    EXPECT_EQ(refusal_on(where, 1), device_unhealthy);
}

TEST_F(ledger_nodes_test, a_cordon_is_part_of_what_the_node_is) {
    const node_index where = add(node_with("n", {"u0"}));
    EXPECT_FALSE(book.set_schedulable(where, true).value());
    EXPECT_TRUE(book.set_schedulable(where, false).value());
    EXPECT_FALSE(book.set_schedulable(where, false).value());
    EXPECT_TRUE(described(where).host.unschedulable);
    EXPECT_EQ(book.events().back().kind, ledger_event_kind::node_changed);
    EXPECT_TRUE(run_on(book, 1, where, 0)) << "host rules are the allocator's to look at";
    EXPECT_TRUE(update(where, node_with("n", {}))) << "cordon lifted, and the device waits for its pod";
    EXPECT_TRUE(book.set_schedulable(where, false).value());
    ASSERT_TRUE(book.release(pod_id{1}));
    EXPECT_TRUE(described(where).host.unschedulable);
    EXPECT_EQ(book.devices(where).size(), 0U);
}

TEST_F(ledger_nodes_test, what_cannot_be_a_node_is_refused_with_its_field) {
    const node good = node_with("n", {"u0"});
    const node_index where = add(good);
    const node_index gone = add(node_with("gone", {}));
    ASSERT_TRUE(book.remove_node(gone));
    struct row {
        std::function<void(node&)> spoil;
        error_code code;
        std::string field;
    };
    const std::vector<row> rows{
        {[](node& bad) { bad.name.clear(); }, error_code::missing, "name"},
        {[](node& bad) { bad.cpu = milli_cpu{-1}; }, error_code::out_of_range, "cpu"},
        {[](node& bad) { bad.memory = bytes{std::numeric_limits<std::int64_t>::max()}; }, error_code::out_of_range,
         "memory"},
        {[](node& bad) { bad.pods_max = -1; }, error_code::out_of_range, "pods_max"},
        {[](node& bad) { bad.devices.resize(1025); }, error_code::out_of_range, "devices"},
        {[](node& bad) { bad.devices.resize(3, {.uuid = "u0"}); }, error_code::duplicate, "uuid"},
        {[](node& bad) { bad.devices.push_back({.uuid = "u1", .kind = 4}); }, error_code::out_of_range,
         "devices[1].kind"},
    };
    const ledger_image before = image_of(book);
    const std::uint64_t next = book.next_event();
    for (const row& wrong : rows) {
        node bad = good;
        bad.name = "other";
        wrong.spoil(bad);
        const auto added = book.add_node(bad);
        ASSERT_FALSE(added.has_value()) << wrong.field;
        EXPECT_EQ(added.error().code, wrong.code) << added.error().message();
        EXPECT_EQ(added.error().field, wrong.field) << added.error().message();
        bad = good;
        wrong.spoil(bad);
        const auto updated = book.update_node(where, bad);
        ASSERT_FALSE(updated.has_value()) << wrong.field;
        EXPECT_EQ(updated.error().field, wrong.field);
    }
    EXPECT_EQ(book.add_node(good).error().code, error_code::duplicate);
    EXPECT_EQ(book.update_node(where, node_with("m", {})).error().code, error_code::unknown_name);
    for (const node_index nowhere : {gone, node_index{7}, node_index::none()}) {
        EXPECT_EQ(book.update_node(nowhere, good).error().code, error_code::unknown_name);
        EXPECT_EQ(book.remove_node(nowhere).error().code, error_code::unknown_name);
        EXPECT_EQ(book.set_service(nowhere, device_index{0}, failed).error().code, error_code::unknown_name);
        EXPECT_EQ(book.set_schedulable(nowhere, false).error().field, "node");
        EXPECT_FALSE(book.is_present(nowhere));
    }
    EXPECT_EQ(book.set_service(where, device_index{1}, failed).error().field, "device");
    EXPECT_EQ(image_of(book), before);
    EXPECT_EQ(book.next_event(), next);
    node largest = node_with("largest", {});
    largest.devices.resize(1024);
    EXPECT_TRUE(book.add_node(largest));
}

TEST_F(ledger_nodes_test, ranks_are_given_in_order_and_anew_where_the_kinds_of_devices_change) {
    const node_index a = add(node_with("a", {"u0"}));
    const node_index b = add(node_with("b", {"u0"}));
    EXPECT_LT(book.rank_of(a), book.rank_of(b));
    EXPECT_TRUE(update(a, node_with("a", {"u1", "u0", "u2"}))) << "more of the same kind";
    EXPECT_TRUE(book.set_service(a, device_index{0}, failed).value());
    EXPECT_TRUE(book.set_schedulable(a, false).value());
    EXPECT_LT(book.rank_of(a), book.rank_of(b));
    ASSERT_TRUE(run_on(book, 1, a, 1));
    ASSERT_TRUE(book.remove_node(a));
    EXPECT_EQ(add(node_with("a", {"u0"})), a);
    EXPECT_LT(book.rank_of(a), book.rank_of(b)) << "it was not gone for good";
    EXPECT_TRUE(update(a, node_with("a", {"u0"}, kind_b)));
    EXPECT_GT(book.rank_of(a), book.rank_of(b));
    EXPECT_TRUE(update(b, node_with("b", {})));
    EXPECT_GT(book.rank_of(b), book.rank_of(a));
}

TEST_F(ledger_nodes_test, a_restarted_scheduler_counts_the_same_from_what_runs) {
    const node_index a = add(node_with("a", {"u0", "u1"}));
    const node_index b = add(node_with("b", {"u0"}));
    ASSERT_TRUE(run_on(book, 1, a, 1, 3000));
    ASSERT_TRUE(run_on(book, 2, b, 0, 4000));
    ASSERT_TRUE(run_on(book, 3, b, 0, 4000));
    ASSERT_TRUE(book.remove_node(a));
    ASSERT_TRUE(book.release(pod_id{1}));
    const node_index c = add(node_with("c", {"u7", "u8"}));
    EXPECT_EQ(c, a);
    ASSERT_TRUE(run_on(book, 4, c, 0, 500));
    EXPECT_TRUE(update(c, node_with("c", {"u9", "u8", "u7"})));
    EXPECT_TRUE(update(b, node_with("b", {"u0"}, kind_small)));
    EXPECT_TRUE(book.set_service(c, device_index{1}, draining).value());
    std::vector<booking> live;
    for (const pod_id pod : book.live_pods()) live.push_back(book.booking_of(pod));
    cluster now = book.nodes();
    const auto restarted = ledger::rebuild(now, live);
    ASSERT_TRUE(restarted.has_value());
    EXPECT_TRUE(restarted->same_use(book));
    EXPECT_TRUE(restarted->is_overcommitted(b, device_index{0}));
    std::ranges::reverse(now.nodes);
    for (booking& entry : live) entry.where.node = node_index{1 - entry.where.node.at()};
    const auto in_other_order = ledger::rebuild(now, live);
    ASSERT_TRUE(in_other_order.has_value());
    EXPECT_FALSE(in_other_order->same_use(book));
    EXPECT_TRUE(in_other_order->same_use_by_name(book));
    EXPECT_TRUE(book.same_use_by_name(*in_other_order));
    live.pop_back();
    EXPECT_FALSE(ledger::rebuild(now, live)->same_use_by_name(book));
}

} // namespace
} // namespace vgpualloc
