// What is refused before anything is decided or counted, with the field that is wrong.
#include "nodes.hpp"

#include <functional>

#include "vgpualloc/model/limits.hpp"

namespace vgpualloc {
namespace {

using namespace test;

TEST(limits, requests_within_them_pass) {
    EXPECT_TRUE(check_request({}));
    pod_request largest = pod({want(devices_per_node_max, 0, device_cores_max.count())}, host_cpu_max.count());
    largest.memory = host_memory_max;
    largest.containers[0].memory = device_memory_max;
    largest.containers[0].memory_percent = memory_percent_max;
    EXPECT_TRUE(check_request(largest));
    largest.containers.resize(static_cast<std::size_t>(containers_per_pod_max));
    EXPECT_TRUE(check_request(largest));
}

TEST(limits, a_request_beyond_them_is_refused_with_its_field) {
    struct row {
        std::function<void(pod_request&)> spoil;
        std::string message;
    };
    const std::vector<row> rows{
        {[](pod_request& bad) { bad.cpu = milli_cpu{-1}; }, "cpu: got '-1', expected 0 to 1125899906842624"},
        {[](pod_request& bad) { bad.cpu = host_cpu_max + milli_cpu{1}; },
         "cpu: got '1125899906842625', expected 0 to 1125899906842624"},
        {[](pod_request& bad) { bad.memory = bytes{-1}; }, "memory: got '-1', expected 0 to 288230376151711744"},
        {[](pod_request& bad) { bad.memory = host_memory_max + bytes{1}; },
         "memory: got '288230376151711745', expected 0 to 288230376151711744"},
        {[](pod_request& bad) { bad.containers.resize(65'537); }, "containers: got '65537', expected 0 to 65536"},
        {[](pod_request& bad) { bad.containers[1].count = -1; }, "containers[1].count: got '-1', expected 0 to 1024"},
        {[](pod_request& bad) { bad.containers[1].count = 1025; },
         "containers[1].count: got '1025', expected 0 to 1024"},
        {[](pod_request& bad) { bad.containers[0].memory = mib{-1}; },
         "containers[0].memory: got '-1', expected 0 to 1099511627776"},
        {[](pod_request& bad) { bad.containers[0].memory_percent = -1; },
         "containers[0].memory_percent: got '-1', expected 0 to 1000000"},
        {[](pod_request& bad) { bad.containers[0].memory_percent = 1'000'001; },
         "containers[0].memory_percent: got '1000001', expected 0 to 1000000"},
        {[](pod_request& bad) { bad.containers[0].cores = core_percent{-1}; },
         "containers[0].cores: got '-1', expected 0 to 1000000"},
    };
    cluster owned;
    test::add_node(owned, many(1));
    placer here{owned, "binpack"};
    for (const row& wrong : rows) {
        pod_request bad = pod({want(1, 1), want(1, 1)});
        wrong.spoil(bad);
        const auto checked = check_request(bad);
        ASSERT_FALSE(checked.has_value()) << wrong.message;
        EXPECT_EQ(checked.error().code, error_code::out_of_range);
        EXPECT_EQ(checked.error().message(), wrong.message);
        const auto interned = here.decider.intern(bad);
        ASSERT_FALSE(interned.has_value()) << wrong.message;
        EXPECT_EQ(interned.error().message(), wrong.message);
    }
    EXPECT_EQ(here.decider.request_count(), 0U);
}

// At most 1,024 devices.
TEST(limits, a_node_is_refused_with_its_name_and_field) {
    node largest = node_with("n", {});
    largest.cpu = host_cpu_max;
    largest.memory = host_memory_max;
    largest.devices.resize(static_cast<std::size_t>(devices_per_node_max));
    EXPECT_TRUE(check_node(largest)) << "devices without uuids are no duplicates";
    EXPECT_EQ(check_node(node_with("", {})).error().message(), "node: name: a name");
    EXPECT_EQ(check_node(node_with("n", {"a", "b", "a"})).error().message(),
              "node n: uuid: got 'a', expected every device of a node once");
    largest.devices.emplace_back();
    EXPECT_EQ(check_node(largest).error().message(), "node n: devices: got '1025', expected 0 to 1024");
}

TEST(limits, the_ledger_takes_no_amount_and_no_pod_beyond_them) {
    cluster owned = cluster_of_kinds();
    owned.nodes = {node_with("n", {})};
    ledger book{std::move(owned)};
    const auto code = [&](const booking& entry) {
        const auto booked = book.adopt(entry);
        return booked ? rejection_code::none : booked.error().code;
    };
    EXPECT_EQ(code(book_on(pod_index_max + 1, node_index{0})), rejection_code::pod_not_known);
    EXPECT_EQ(code(book_on(pod_index_max, node_index{0})), rejection_code::pod_not_known) << "numbers are dense";
    booking entry = book_on(1, node_index{0}, {}, host_cpu_max.count());
    entry.memory = host_memory_max;
    EXPECT_EQ(code(entry), rejection_code::none);
    entry.owner = pod_id{2};
    entry.memory = bytes{-1};
    EXPECT_EQ(code(entry), rejection_code::amount_not_valid);
    entry.memory = host_memory_max + bytes{1};
    EXPECT_EQ(code(entry), rejection_code::amount_not_valid);
    entry.memory = bytes{0};
    entry.cpu = host_cpu_max + milli_cpu{1};
    EXPECT_EQ(code(entry), rejection_code::amount_not_valid);
}

/// One wrong number must not make the table of pods huge.
TEST(limits, a_pods_number_is_not_far_above_all_others) {
    cluster owned = cluster_of_kinds();
    owned.nodes = {node_with("n", {})};
    ledger book{owned};
    const auto refusal = [](const expected<booking_id, rejection_detail>& booked) {
        return booked ? rejection_code::none : booked.error().code;
    };
    EXPECT_EQ(refusal(book.reserve(book_on(pod_index_gap_max + 1, node_index{0}))), rejection_code::pod_not_known);
    EXPECT_EQ(refusal(book.adopt(book_on(pod_index_gap_max + 1, node_index{0}))), rejection_code::pod_not_known);
    EXPECT_EQ(refusal(book.reserve(book_on(pod_index_gap_max, node_index{0}))), rejection_code::none);
    const std::uint32_t next = 2 * pod_index_gap_max + 1;
    EXPECT_EQ(refusal(book.reserve(book_on(next + 1, node_index{0}))), rejection_code::pod_not_known);
    EXPECT_EQ(refusal(book.reserve(book_on(next, node_index{0}))), rejection_code::none);
    const booking last = book.booking_of(pod_id{next});
    EXPECT_TRUE(ledger::rebuild(owned, std::vector{last}).has_value()) << "numbers that a ledger has had";

    ledger expecting{owned};
    expecting.expect_pods(next + 1);
    EXPECT_EQ(refusal(expecting.reserve(last)), rejection_code::none);
}

TEST(limits, labels_of_a_node_are_in_order) {
    node described = node_with("n", {});
    described.host.labels = {{"arch", "amd64"}, {"zone", "a"}};
    EXPECT_TRUE(check_node(described));
    described.host.labels = {{"zone", "a"}, {"arch", "amd64"}};
    EXPECT_EQ(check_node(described).error().field, "host.labels");
    EXPECT_EQ(check_node(described).error().value, "arch");
    described.host.labels = {{"zone", "a"}, {"zone", "b"}};
    EXPECT_EQ(check_node(described).error().field, "host.labels");
}

TEST(limits, a_cluster_has_every_node_once_and_the_kinds_of_its_devices) {
    cluster owned = cluster_of_kinds();
    owned.nodes = {node_with("n", {"u0"}), node_with("m", {"u1"})};
    EXPECT_TRUE(check_cluster(owned));
    cluster twice = owned;
    twice.nodes[1].name = "n";
    EXPECT_EQ(check_cluster(twice).error().code, error_code::duplicate);
    cluster of_no_kind = owned;
    of_no_kind.nodes[0].devices[0].kind = 99;
    EXPECT_EQ(check_cluster(of_no_kind).error().field, "kind");
    cluster crowded = owned;
    crowded.nodes[0].devices.resize(1025);
    EXPECT_EQ(check_cluster(crowded).error().field, "devices");
    EXPECT_FALSE(ledger::rebuild(crowded, std::vector<booking>{}).has_value());
}

/// What runs is adopted even where it is more than there is; but no sum may leave the range of a number.
TEST(limits, what_is_adopted_adds_up) {
    cluster owned = cluster_of_kinds();
    owned.nodes = {node_with("n", {"u0"})};
    ledger book{owned};
    const auto code = [&](const booking& entry) {
        const auto booked = book.adopt(entry);
        return booked ? rejection_code::none : booked.error().code;
    };
    const auto of = [](mib memory) { return partition{slice{.memory = memory, .cores = core_percent{1}}}; };
    const auto on_device = [&](std::uint32_t number, mib memory) {
        return book_on(number, node_index{0}, {share_of_device(0, of(memory))});
    };
    EXPECT_EQ(code(on_device(1, device_memory_max + mib{1})), rejection_code::amount_not_valid);
    EXPECT_EQ(code(on_device(1, mib{-1})), rejection_code::amount_not_valid);
    EXPECT_EQ(code(on_device(1, device_memory_max)), rejection_code::none);
    rejection_code last = rejection_code::none;
    std::uint32_t adopted = 0;
    for (std::uint32_t number = 2; number < 100 && last == rejection_code::none; ++number, ++adopted) {
        booking entry = book_on(number, node_index{0});
        entry.memory = host_memory_max;
        last = code(entry);
    }
    EXPECT_EQ(last, rejection_code::amount_not_valid);
    EXPECT_GT(adopted, 30U);
    book.check();
}

} // namespace
} // namespace vgpualloc
