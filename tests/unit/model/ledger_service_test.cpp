// What an operator ordered of a device and what its node reports: which of them a description may change.
#include "nodes.hpp"

#include <utility>

namespace vgpualloc {
namespace {

using namespace test;
using enum service_state;

/// A node with two devices. After each test its log must give the same ledger again.
class ledger_service_test : public testing::Test {
protected:
    void TearDown() override {
        book.check();
        const auto replayed = ledger::rebuild(cluster_of_kinds(), book.log());
        ASSERT_TRUE(replayed.has_value());
        EXPECT_TRUE(replayed->same_use(book));
    }

    void set(std::size_t device, service_state service) {
        ASSERT_TRUE(book.set_service(where, device_index{device}, service).has_value());
    }
    [[nodiscard]] bool update(const node& described) { return book.update_node(where, described).value(); }
    [[nodiscard]] static node reporting(service_state first, const std::vector<std::string>& uuids = {"u0", "u1"}) {
        node described = node_with("n", uuids);
        described.devices[0].service = first;
        return described;
    }
    [[nodiscard]] service_state service(std::size_t device) const { return book.services(where)[device]; }

    ledger book{cluster_of_kinds()};
    node_index where = book.add_node(node_with("n", {"u0", "u1"})).value();
};

TEST_F(ledger_service_test, a_registration_says_whether_a_device_is_healthy) {
    EXPECT_TRUE(update(reporting(failed)));
    EXPECT_EQ(service(0), failed);
    EXPECT_TRUE(update(reporting(in_service)));
    EXPECT_EQ(service(0), in_service);
    set(0, failed);
    EXPECT_TRUE(update(reporting(in_service))) << "it is well again";
    EXPECT_EQ(service(0), in_service);
}

TEST_F(ledger_service_test, a_registration_ends_no_drain_and_no_reconfiguration) {
    for (const service_state ordered : {draining, reconfiguring}) {
        set(0, ordered);
        static_cast<void>(update(reporting(in_service))); // whatever was different before
        const std::uint64_t next = book.next_event();
        EXPECT_FALSE(update(reporting(in_service)));
        EXPECT_FALSE(update(reporting(failed)));
        EXPECT_EQ(book.next_event(), next);
        node described = reporting(in_service);
        described.cpu = milli_cpu{ordered == draining ? 1000 : 2000};
        EXPECT_TRUE(update(described)) << "something else is different";
        EXPECT_EQ(service(0), ordered);
        EXPECT_EQ(service(1), in_service);
    }
    set(0, in_service);
    EXPECT_EQ(service(0), in_service);
}

TEST_F(ledger_service_test, a_drain_goes_with_its_device) {
    set(0, draining);
    EXPECT_TRUE(update(node_with("n", {"u1", "u0"})));
    EXPECT_EQ(service(0), in_service);
    EXPECT_EQ(service(1), draining);
    EXPECT_TRUE(update(node_with("n", {"u1"})));
    EXPECT_TRUE(update(node_with("n", {"u1", "u0"})));
    EXPECT_EQ(service(1), in_service) << "a device that was gone is a new one";
}

TEST_F(ledger_service_test, a_description_may_order_a_drain_itself) {
    EXPECT_TRUE(update(reporting(draining)));
    EXPECT_EQ(service(0), draining);
    EXPECT_TRUE(update(reporting(reconfiguring)));
    EXPECT_EQ(service(0), reconfiguring);
    EXPECT_FALSE(update(reporting(in_service)));
    set(0, in_service);
    EXPECT_EQ(service(0), in_service);
}

/// The device is out of service until its pod ends, which nobody ordered.
TEST_F(ledger_service_test, a_change_of_mode_that_waits_is_no_order) {
    ASSERT_TRUE(run_on(book, 1, where, 0));
    node described = node_with("n", {"u0", "u1"});
    described.devices[0].kind = kind_whole;
    EXPECT_TRUE(update(described));
    EXPECT_EQ(service(0), reconfiguring);
    EXPECT_FALSE(update(described));
    EXPECT_TRUE(update(node_with("n", {"u0", "u1"}))) << "the change is withdrawn";
    EXPECT_EQ(service(0), in_service);
    EXPECT_TRUE(update(described));
    set(1, draining);
    EXPECT_FALSE(update(described)) << "a drain that was ordered meanwhile stays";
    set(1, in_service);
    EXPECT_EQ(service(1), in_service);
    ASSERT_TRUE(book.release(pod_id{1}));
    EXPECT_EQ(service(0), in_service);
}

TEST_F(ledger_service_test, a_node_that_is_added_again_is_what_it_is_said_to_be) {
    set(0, draining);
    ASSERT_TRUE(run_on(book, 1, where, 1));
    ASSERT_TRUE(book.remove_node(where));
    EXPECT_EQ(book.add_node(node_with("n", {"u0", "u1"})).value(), where);
    EXPECT_EQ(service(0), in_service);
    EXPECT_EQ(service(1), in_service);
}

TEST_F(ledger_service_test, a_drain_outlives_a_list_without_the_device_while_its_pods_run) {
    set(0, draining);
    ASSERT_TRUE(book.adopt(book_on(1, where, {share_of_device(0, part(100))})));
    EXPECT_TRUE(update(node_with("n", {})));
    EXPECT_TRUE(update(node_with("n", {"u0", "u1"})));
    EXPECT_EQ(service(0), draining);
    EXPECT_EQ(service(1), in_service);
}

} // namespace
} // namespace vgpualloc
