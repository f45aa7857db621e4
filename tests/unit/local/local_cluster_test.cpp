#include "vgpualloc/local/local_cluster.hpp"

#include <gmock/gmock.h>

namespace vgpualloc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

device_registration gpu(const std::string& uuid, std::int64_t memory_mib = 10'000) {
    device_registration result;
    result.uuid = uuid;
    result.model = "NVIDIA A100";
    result.family = "NVIDIA";
    result.mode = "hami_core";
    result.memory = mib{memory_mib};
    result.slots = 10;
    return result;
}

local_node two_gpus(const std::string& name) {
    return {.name = name,
            .cpu = milli_cpu{16'000},
            .memory = bytes{std::int64_t{64} << 30U},
            .devices = {gpu(name + "0"), gpu(name + "1")}};
}

pod_request memory(std::int64_t memory_mib) {
    return {.cpu = milli_cpu{1000},
            .memory = bytes{std::int64_t{1} << 30U},
            .containers = {{.count = 1, .memory = mib{memory_mib}, .cores = {}}}};
}

/// Nodes a and b with two GPUs of 10,000 MiB each.
class local_cluster_test : public testing::Test {
protected:
    local_cluster_test() {
        for (const char* name : {"a", "b"}) EXPECT_TRUE(cluster->add_node(two_gpus(name)));
    }
    /// The device that a pod got; empty if none.
    std::string place(const std::string& pod, std::int64_t memory_mib) {
        const auto decided = cluster->place(pod, memory(memory_mib));
        return decided && decided->fits() ? decided->shares[0].uuid : "";
    }
    template <class Result>
    static void expect_error(const Result& result, error_code code, const std::string& field) {
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, code) << result.error().message();
        EXPECT_EQ(result.error().field, field);
    }

    std::unique_ptr<local_cluster> cluster = local_cluster::make().value();
};

TEST_F(local_cluster_test, places_pods_by_name_and_says_what_they_got) {
    const auto decided = cluster->place("one", memory(6000)).value();
    EXPECT_TRUE(decided.fits());
    EXPECT_EQ(decided.node, "a");
    ASSERT_EQ(decided.shares.size(), 1U);
    EXPECT_EQ(decided.shares[0].uuid, "a0");
    EXPECT_EQ(decided.shares[0].amounts.memory, mib{6000});
    EXPECT_EQ(place("two", 4000), "a0"); // best fit
    EXPECT_THAT(cluster->pods(), ElementsAre("one", "two"));
    EXPECT_EQ(cluster->find("one")->shares[0].uuid, "a0");
    EXPECT_TRUE(cluster->release("one"));
    EXPECT_EQ(place("one", 5000), "a0"); // the name and the room are free again
}

TEST_F(local_cluster_test, a_pod_that_fits_nowhere_is_an_answer_and_leaves_no_trace) {
    const auto decided = cluster->place("large", memory(20'000));
    ASSERT_TRUE(decided);
    EXPECT_FALSE(decided->fits());
    EXPECT_EQ(decided->refused.main_code(), rejection_code::insufficient_device_memory);
    EXPECT_THAT(cluster->pods(), IsEmpty());
    EXPECT_EQ(place("large", 1000), "a0"); // the name is free
}

TEST_F(local_cluster_test, says_of_every_node_why_a_request_does_not_fit) {
    ASSERT_EQ(place("one", 6000), "a0");
    ASSERT_TRUE(cluster->drain("b"));
    const auto refusals = cluster->why_not(memory(12'000)).value();
    ASSERT_EQ(refusals.size(), 2U);
    EXPECT_EQ(refusals[0].words, "insufficient_device_memory on a1: wanted 12000 MiB, available 10000 MiB");
    EXPECT_EQ(refusals[0].refusal.available, 10'000);
    EXPECT_EQ(refusals[1].node, "b");
    EXPECT_EQ(refusals[1].words, "node_unschedulable");
    EXPECT_EQ(cluster->why_not(memory(1000))->front().words, "fits");
    pod_request hungry = memory(1000);
    hungry.memory = bytes{(std::int64_t{128} << 30U) + 1};
    EXPECT_EQ(cluster->why_not(hungry)->front().words, "insufficient_memory: wanted 131073 MiB, available 64512 MiB");
    hungry = memory(1000);
    hungry.cpu = milli_cpu{17'000};
    EXPECT_EQ(cluster->why_not(hungry)->front().words, "insufficient_cpu: wanted 17000 mCPU, available 15000 mCPU");
}

TEST_F(local_cluster_test, misuse_names_the_argument_and_changes_nothing) {
    ASSERT_EQ(place("one", 6000), "a0");
    const std::uint64_t events = cluster->book().next_event();
    expect_error(cluster->place("one", memory(1000)), error_code::duplicate, "pod");
    expect_error(cluster->place("", memory(1000)), error_code::missing, "pod");
    expect_error(cluster->place("two", memory(-1)), error_code::out_of_range, "containers[0].memory");
    expect_error(cluster->why_not(memory(-1)), error_code::out_of_range, "containers[0].memory");
    expect_error(cluster->release("two"), error_code::unknown_name, "pod");
    expect_error(cluster->find("two"), error_code::unknown_name, "pod");
    expect_error(cluster->add_node(two_gpus("a")), error_code::duplicate, "node");
    expect_error(cluster->update_node(two_gpus("c")), error_code::unknown_name, "node");
    expect_error(cluster->remove_node("c"), error_code::unknown_name, "node");
    expect_error(cluster->add_device("c", gpu("c0")), error_code::unknown_name, "node");
    expect_error(cluster->add_device("a", gpu("")), error_code::missing, "devices[2].uuid");
    expect_error(cluster->add_device("a", gpu("a0")), error_code::duplicate, "uuid");
    expect_error(cluster->remove_device("a", "b0"), error_code::unknown_name, "uuid");
    expect_error(cluster->drain("c"), error_code::unknown_name, "node");
    expect_error(cluster->drain("c", "a0"), error_code::unknown_name, "node");
    expect_error(cluster->drain("a", "b0"), error_code::unknown_name, "uuid");
    expect_error(cluster->fail("c"), error_code::unknown_name, "node");
    expect_error(cluster->fail("a", "b0"), error_code::unknown_name, "uuid");
    expect_error(cluster->restore("c"), error_code::unknown_name, "node");
    expect_error(cluster->restore("a", "b0"), error_code::unknown_name, "uuid");
    EXPECT_EQ(cluster->book().next_event(), events);
    expect_error(local_cluster::make({.policy = "no_such"}), error_code::unknown_name, "policy");
    expect_error(local_cluster::make({.device_policy = "no_such"}), error_code::unknown_name, "device_policy");
}

TEST_F(local_cluster_test, a_drained_or_failed_node_takes_nothing_until_it_is_restored) {
    ASSERT_EQ(place("one", 6000), "a0");
    EXPECT_THAT(cluster->drain("a").value(), ElementsAre("one"));
    EXPECT_EQ(place("two", 1000), "b0");
    EXPECT_THAT(cluster->fail("a").value(), ElementsAre("one"));
    local_node larger = two_gpus("a");
    larger.cpu = milli_cpu{32'000};
    EXPECT_TRUE(cluster->update_node(larger).value()); // what was ordered stays
    EXPECT_EQ(cluster->why_not(memory(1000))->front().words, "node_unschedulable");
    EXPECT_TRUE(cluster->restore("a").value());
    EXPECT_FALSE(cluster->restore("a").value());
    EXPECT_EQ(place("three", 4000), "a0");
}

TEST_F(local_cluster_test, a_drained_or_failed_device_takes_nothing_until_it_is_restored) {
    ASSERT_EQ(place("one", 6000), "a0");
    EXPECT_THAT(cluster->drain("a", "a0").value(), ElementsAre("one"));
    EXPECT_THAT(cluster->drain("a", "a1").value(), IsEmpty());
    EXPECT_EQ(place("two", 1000), "b0");
    EXPECT_THAT(cluster->fail("a", "a0").value(), ElementsAre("one"));
    EXPECT_EQ(cluster->book().services(node_index{0})[0], service_state::failed);
    ASSERT_TRUE(cluster->drain("a", "a0"));
    EXPECT_EQ(cluster->book().services(node_index{0})[0], service_state::failed); // the stronger order
    ASSERT_TRUE(cluster->add_device("a", gpu("a2")));                             // a description of the node
    EXPECT_EQ(cluster->book().services(node_index{0})[0], service_state::failed);
    EXPECT_EQ(cluster->book().services(node_index{0})[1], service_state::draining);
    EXPECT_TRUE(cluster->restore("a", "a0").value());
    EXPECT_FALSE(cluster->restore("a", "a0").value());
    EXPECT_EQ(cluster->book().services(node_index{0})[0], service_state::in_service);
}

TEST_F(local_cluster_test, a_device_that_is_described_as_broken_is_not_restored_by_an_order) {
    local_node broken = two_gpus("a");
    broken.devices[0].healthy = false;
    ASSERT_TRUE(cluster->update_node(broken));
    EXPECT_FALSE(cluster->restore("a", "a0").value());
    EXPECT_EQ(place("one", 10'000), "a1");
}

TEST_F(local_cluster_test, nodes_and_devices_come_and_go_while_pods_run) {
    ASSERT_EQ(place("one", 6000), "a0");
    ASSERT_TRUE(cluster->add_device("a", gpu("a2", 20'000)));
    EXPECT_EQ(place("two", 15'000), "a2");
    ASSERT_TRUE(cluster->remove_device("a", "a0"));
    expect_error(cluster->drain("a", "a0"), error_code::unknown_name, "uuid");
    EXPECT_EQ(place("three", 4000), "a2");
    EXPECT_EQ(cluster->find("one")->shares[0].uuid, "a0"); // until it is released
    ASSERT_TRUE(cluster->release("one"));
    EXPECT_EQ(cluster->book().devices(node_index{0}).size(), 2U);
    ASSERT_TRUE(cluster->remove_node("a"));
    expect_error(cluster->remove_node("a"), error_code::unknown_name, "node");
    EXPECT_THAT(cluster->pods(), ElementsAre("three", "two"));
    EXPECT_EQ(cluster->why_not(memory(1000))->size(), 1U);
    ASSERT_TRUE(cluster->add_node(two_gpus("a")));
    EXPECT_EQ(cluster->find("two")->node, "a");
}

TEST_F(local_cluster_test, a_trial_undoes_pods_names_nodes_and_orders) {
    ASSERT_EQ(place("one", 6000), "a0");
    {
        auto attempt = cluster->begin_trial();
        ASSERT_TRUE(cluster->release("one"));
        ASSERT_EQ(place("one", 7000), "a0");
        ASSERT_EQ(place("two", 8000), "a1");
        ASSERT_TRUE(cluster->fail("b"));
        ASSERT_TRUE(cluster->remove_node("a"));
        ASSERT_TRUE(cluster->add_node(two_gpus("c")));
    }
    EXPECT_THAT(cluster->pods(), ElementsAre("one"));
    EXPECT_EQ(cluster->find("one")->shares[0].amounts.memory, mib{6000});
    expect_error(cluster->release("two"), error_code::unknown_name, "pod");
    expect_error(cluster->drain("c"), error_code::unknown_name, "node");
    EXPECT_EQ(cluster->why_not(memory(1000))->back().words, "fits"); // b
    ASSERT_TRUE(cluster->release("one"));
    EXPECT_EQ(place("one", 10'000), "a0");
}

TEST_F(local_cluster_test, trials_nest_and_may_be_kept) {
    {
        auto outer = cluster->begin_trial();
        ASSERT_EQ(place("one", 6000), "a0");
        {
            auto inner = cluster->begin_trial();
            ASSERT_TRUE(cluster->drain("b"));
            ASSERT_EQ(place("two", 4000), "a0");
            inner.keep();
        }
        {
            auto inner = cluster->begin_trial();
            ASSERT_TRUE(cluster->release("two"));
            ASSERT_TRUE(cluster->restore("b"));
        }
        outer.keep();
    }
    EXPECT_THAT(cluster->pods(), ElementsAre("one", "two"));
    EXPECT_EQ(cluster->why_not(memory(1000))->back().words, "node_unschedulable");
}

TEST_F(local_cluster_test, the_log_stays_short) {
    for (int round = 0; round < 1000; ++round) {
        ASSERT_EQ(place("one", 6000), "a0");
        ASSERT_TRUE(cluster->release("one"));
    }
    EXPECT_LT(cluster->book().events().size(), 10U);
    EXPECT_LT(cluster->book().bookings().size(), 10U);
}

TEST(local_cluster, serves_mig_by_the_built_in_catalog) {
    const auto cluster = local_cluster::make({.policy = "ssp"}).value();
    device_registration card;
    card.uuid = "GPU-0";
    card.model = "NVIDIA A100-SXM4-40GB";
    card.mode = "mig";
    card.memory = mib{40'960};
    ASSERT_TRUE(cluster->add_node({.name = "a", .cpu = milli_cpu{8000}, .memory = bytes{1}, .devices = {card}}));
    const pod_request request{
        .cpu = {}, .memory = {}, .containers = {{.count = 1, .memory = {}, .cores = {}, .profile = "3g.20gb"}}};
    const auto decided = cluster->place("pod", request).value();
    EXPECT_EQ(decided.shares.at(0).amounts.name, "3g.20gb");
    card.uuid = "GPU-1";
    card.model = "no such";
    const auto added = cluster->add_device("a", card);
    ASSERT_FALSE(added);
    EXPECT_THAT(added.error().message(), HasSubstr("GPU-1"));
}

} // namespace
} // namespace vgpualloc
