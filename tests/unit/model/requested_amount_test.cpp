#include "vgpualloc/model/requested_amount.hpp"

#include <gmock/gmock.h>

#include "../support.hpp"

namespace {

using namespace vgpualloc;
using namespace vgpualloc::test;
using testing::ElementsAre;

device_spec of_memory(std::int64_t memory_mib, std::string model = "A") {
    device_spec spec = gpu(std::move(model));
    spec.memory = mib{memory_mib};
    return spec;
}

requested_devices asked(std::int64_t count, fraction memory, fraction compute = {}) {
    return {.count = count, .share = {.memory = memory, .compute = compute}};
}

TEST(requested_amount, is_the_smallest_share_over_the_devices_that_a_pod_may_get) {
    cluster nodes;
    add_node(nodes, {of_memory(10000)});
    add_node(nodes, {of_memory(40000, "L")});
    requested_amounts amounts{nodes};
    EXPECT_THAT(amounts.of(pod({want(1, 2500)})).devices, ElementsAre(asked(1, {1, 16})));
    EXPECT_THAT(amounts.of(pod({want(1, 2500, 60)})).devices, ElementsAre(asked(1, {1, 16}, {3, 5})));
    EXPECT_THAT(amounts.of(pod({want(1, 20000)})).devices, ElementsAre(asked(1, {1, 2})))
        << "only the large one has so much";
    EXPECT_THAT(amounts.of(pod({want(2, 0), want(1, 10000)})).devices, ElementsAre(asked(2, {1, 1}), asked(1, {1, 4})));
    auto of_small = want(1, 1000);
    of_small.models = {"A"};
    EXPECT_THAT(amounts.of(pod({of_small})).devices, ElementsAre(asked(1, {1, 10})));
    auto percent = want(3, 0);
    percent.memory_percent = 30;
    EXPECT_THAT(amounts.of(pod({percent})).devices, ElementsAre(asked(3, {3, 10})));
    EXPECT_TRUE(amounts.of(pod({})).devices.empty());
}

TEST(requested_amount, devices_that_the_rules_exclude_do_not_count) {
    cluster nodes;
    add_node(nodes, {of_memory(10000)});
    add_node(nodes, {of_memory(40000)});
    nodes.nodes[0].host.labels = {{"pool", "small"}};
    nodes.nodes[1].host.labels = {{"pool", "large"}};
    nodes.nodes[1].host.taints = {{.key = "large"}};
    requested_amounts amounts{nodes};
    auto anywhere = pod({want(1, 1000)});
    EXPECT_THAT(amounts.of(anywhere).devices, ElementsAre(asked(1, {1, 10}))) << "the taint";
    anywhere.rules.tolerations = {{.key = "large", .any_value = true}};
    EXPECT_THAT(amounts.of(anywhere).devices, ElementsAre(asked(1, {1, 40})));
    anywhere.rules.node_selector = {{"pool", "small"}};
    EXPECT_THAT(amounts.of(anywhere).devices, ElementsAre(asked(1, {1, 10})));
}

TEST(requested_amount, rules_that_leave_nothing_are_left_out_one_after_the_other) {
    cluster nodes;
    add_node(nodes, {of_memory(10000)});
    add_node(nodes, {of_memory(40000)});
    nodes.nodes[0].host.labels = {{"pool", "small"}};
    nodes.nodes[0].host.taints = {{.key = "small"}};
    requested_amounts amounts{nodes};
    auto wanted = pod({want(1, 1000)});
    wanted.rules.node_selector = {{"pool", "small"}};
    EXPECT_THAT(amounts.of(wanted).devices, ElementsAre(asked(1, {1, 10}))) << "without tolerations: the small one";
    wanted.rules.node_selector = {{"pool", "none"}};
    EXPECT_THAT(amounts.of(wanted).devices, ElementsAre(asked(1, {1, 40}))) << "without the selector: both";
    wanted.containers = {want(3, 50000)};
    const auto amount = amounts.of(wanted);
    EXPECT_THAT(amount.devices, ElementsAre(asked(3, {1, 1}, {1, 1}))) << "no device has so much";
    EXPECT_FALSE(amount.can_be_served);
    EXPECT_TRUE(amounts.of(pod({want(9, 100)})).can_be_served) << "how many there are does not count";
}

TEST(requested_amount, resources_are_those_of_the_whole_pod) {
    cluster nodes;
    add_node(nodes, {of_memory(10000)});
    add_node(nodes, {of_memory(10000)});
    nodes.nodes[0].host.resources = {"a"};
    nodes.nodes[1].host.resources = {"b"};
    requested_amounts amounts{nodes};
    auto wanted = pod({want(1, 1000)});
    wanted.rules.resources = {"a"};
    EXPECT_TRUE(amounts.of(wanted).can_be_served);
    wanted.rules.resources = {"a", "b"};
    EXPECT_THAT(amounts.of(wanted).devices, ElementsAre(asked(1, {1, 1}, {1, 1}))) << "no node has both";
    EXPECT_FALSE(amounts.of(wanted).can_be_served);
}

TEST(requested_amount, devices_out_of_service_count_and_kinds_without_devices_do_not) {
    cluster nodes;
    add_node(nodes, {of_memory(10000)});
    add_node(nodes, {of_memory(20000)});
    nodes.kind_of(of_memory(40000));
    nodes.nodes[1].devices[0].service = service_state::failed;
    nodes.nodes[1].host.ready = false;
    nodes.nodes[1].host.unschedulable = true;
    nodes.nodes[1].host.taints = {{.key = "node.kubernetes.io/disk-pressure"}};
    requested_amounts amounts{nodes};
    EXPECT_THAT(amounts.of(pod({want(1, 1000)})).devices, ElementsAre(asked(1, {1, 20})));
}

TEST(requested_amount, uuids_are_rules_too) {
    cluster nodes;
    add_node(nodes, {of_memory(10000), of_memory(20000)});
    nodes.nodes[0].devices[0].uuid = "a";
    nodes.nodes[0].devices[1].uuid = "b";
    requested_amounts amounts{nodes};
    auto wanted = want(1, 1000);
    wanted.uuids_allowed = {"a"};
    EXPECT_THAT(amounts.of(pod({wanted})).devices, ElementsAre(asked(1, {1, 10})));
    wanted.uuids_allowed.clear();
    wanted.uuids_denied = {"b"};
    EXPECT_THAT(amounts.of(pod({wanted})).devices, ElementsAre(asked(1, {1, 10})));
}

TEST(requested_amount, says_where_the_largest_device_is_much_larger_than_the_mean) {
    cluster nodes;
    add_node(nodes, {of_memory(10000), of_memory(10000), of_memory(10000)});
    add_node(nodes, {of_memory(20000)});
    requested_amounts amounts{nodes};
    EXPECT_TRUE(amounts.of(pod({want(1, 1000)})).has_uneven_devices) << "20000 against 12500";
    EXPECT_FALSE(amounts.of(pod({want(1, 15000)})).has_uneven_devices) << "only the large one has so much";
    EXPECT_FALSE(amounts.of(pod({want(1, 0)})).has_uneven_devices) << "a whole device is one whatever it has";
    cluster even;
    add_node(even, {of_memory(10000)});
    add_node(even, {of_memory(30000)});
    EXPECT_FALSE(requested_amounts{even}.of(pod({want(1, 1000)})).has_uneven_devices) << "just 1.5 times";
}

TEST(requested_amount, units_by_number_alone_count_by_the_largest) {
    cluster nodes;
    add_node(nodes, {gpu("A", 1, "exclusive"), gpu("A", 1, "exclusive")});
    add_node(nodes, {gpu("T", 4, "time_slicing")});
    nodes.nodes[1].host.labels = {{"pool", "shared"}};
    requested_amounts amounts{nodes};
    auto two = pod({want(2, 0, 100)});
    requested_devices units = asked(2, {1, 1}, {1, 1});
    units.least = requested_share{.memory = {1, 4}, .compute = {1, 4}};
    EXPECT_THAT(amounts.of(two).devices, ElementsAre(units));
    EXPECT_DOUBLE_EQ(gpus_of(amounts.of(two)).larger(), 0.5) << "what it takes at the least";
    EXPECT_TRUE(amounts.of(two).has_uneven_units) << "a replica is a quarter";
    two.rules.node_selector = {{"pool", "shared"}};
    EXPECT_THAT(amounts.of(two).devices, ElementsAre(asked(2, {1, 4}, {1, 4}))) << "no whole one is admitted";
    EXPECT_FALSE(amounts.of(two).has_uneven_units);
    EXPECT_THAT(amounts.of(pod({want(1, 0)})).devices, ElementsAre(asked(1, {1, 4}, {1, 4})))
        << "HAMi asks for a card that others may share";
}

} // namespace
