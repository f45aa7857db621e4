// GPU virtualization of Huawei Cloud CCE: statements of docs/requirements.md from pods to placements. The acceptance
// checks C1 to C12 are tests of those names in unit/mode/cce_test.cpp.
#include "seeds.hpp"
#include "vgpualloc/dialect/cce.hpp"

namespace vgpualloc {
namespace {

using namespace test;
namespace cce = dialects::cce;

constexpr const char* memory_name = "volcano.sh/gpu-mem.128Mi";
constexpr const char* cores_name = "volcano.sh/gpu-core.percentage";

/// A node of the documented V100 of 16160 MiB.
dialects::node_reading v100_node(int gpus) {
    kubernetes::node object;
    object.name = "n";
    std::string list;
    for (int i = 0; i < gpus; ++i) {
        list += (i > 0 ? "," : "") + (R"({"id":"G)" + std::to_string(i)) +
                R"(","model":"Tesla V100-SXM2","memory":16160,"health":true})";
    }
    object.annotations[cce::register_annotation] = "[" + list + "]";
    return test::spoken<cce::options>::read_node(object, {});
}
site v100s(int gpus) {
    site here;
    here.add("n", v100_node(gpus));
    return here;
}

/// A pod by the amounts in its limits; a negative one is left out.
kubernetes::pod units_pod(std::int64_t units, std::int64_t cores = -1) {
    kubernetes::amount_map limits;
    if (units >= 0) limits[memory_name] = units;
    if (cores >= 0) limits[cores_name] = cores;
    return pod_with(limits);
}
expected<pod_request> units_ask(std::int64_t units, std::int64_t cores = -1) {
    return test::spoken<cce::options>::read_pod(units_pod(units, cores), {});
}
partition isolated(std::int64_t memory_mib, std::int64_t cores = 0) { return partition{part(memory_mib, cores)}; }

TEST(seeds_cce, a_gpu_is_at_most_twenty_virtual_ones) {
    covers({"R101"});
    auto here = v100s(1);
    EXPECT_EQ(here.place_many(units_ask(1), 30), 20);
    EXPECT_EQ(here.place(units_ask(1)), "insufficient_device_slots");
}

TEST(seeds_cce, init_containers_have_none) {
    covers({"R102"});
    for (const char* name : {memory_name, cores_name}) {
        auto pod = units_pod(40);
        EXPECT_EQ(v100s(1).place(test::spoken<cce::options>::read_pod(pod, {})), "n");
        pod.init_containers.resize(1);
        pod.init_containers[0].limits[name] = 5;
        EXPECT_EQ(v100s(1).place(test::spoken<cce::options>::read_pod(pod, {})), "error") << name;
    }
}

TEST(seeds_cce, memory_is_isolated_alone_or_with_compute) {
    covers({"R103", "R118", "R119"});
    auto here = v100s(2);
    EXPECT_EQ(here.place(units_ask(40)), "n");
    EXPECT_EQ(here.part(), isolated(5120)) << "40 x 128 MiB";
    EXPECT_EQ(here.place(units_ask(40, 25)), "n");
    EXPECT_EQ(here.part(), isolated(5120, 25));
    EXPECT_EQ(here.place(units_ask(-1, 25)), "error") << "there is no third kind";
}

TEST(seeds_cce, a_gpu_has_one_kind_of_isolation) {
    covers({"R104"});
    for (const std::int64_t first : {-1, 25}) {
        const std::int64_t other = first > 0 ? -1 : 25;
        auto here = v100s(2);
        EXPECT_EQ(here.place(units_ask(10, first)), "n");
        EXPECT_EQ(here.device(), 0U);
        EXPECT_EQ(here.place(units_ask(10, other)), "n");
        EXPECT_EQ(here.device(), 1U) << "though binpack prefers the GPU in use";
        EXPECT_EQ(here.place(units_ask(10, first)), "n");
        EXPECT_EQ(here.device(), 0U);
        auto one = v100s(1);
        EXPECT_EQ(one.place(units_ask(10, first)), "n");
        EXPECT_EQ(one.place(units_ask(10, other)), "isolation_differs");
    }
}

/// Rendering needs a whole GPU or memory isolation alone: both can be asked for, and who does never gets or meets a
/// limit of compute.
TEST(seeds_cce, who_wants_no_limit_of_compute_gets_none) {
    covers({"R108"});
    auto here = v100s(3);
    EXPECT_EQ(here.place(units_ask(40, 50)), "n"); // no rendering: compute is limited
    EXPECT_EQ(here.place(units_ask(40)), "n");
    EXPECT_EQ(here.part(), isolated(5120)) << "memory isolation alone";
    EXPECT_NE(here.device(), 0U) << "and not on the GPU whose compute is isolated";
    EXPECT_EQ(here.place(units_ask(126)), "n");
    EXPECT_EQ(here.part(), partition{whole_device{}}) << "a whole GPU";
    EXPECT_EQ(here.device(), 2U);
}

TEST(seeds_cce, nobody_is_preempted_for_a_gpu) {
    covers({"R109"});
    auto here = v100s(3);
    EXPECT_EQ(here.place_many(units_ask(126), 3), 3);
    const auto events = here.decider().book.events().size();
    for (const std::int64_t units : {1, 40, 126}) EXPECT_EQ(here.place(units_ask(units)), "device_taken_whole");
    EXPECT_EQ(here.decider().book.events().size(), events) << "nothing was released";
    EXPECT_EQ(here.decider().book.live_count(), 3U);
}

TEST(seeds_cce, memory_is_a_positive_multiple_of_128_mib) {
    covers({"R110", "R120"});
    for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{1} << 40U}) {
        EXPECT_EQ(v100s(1).place(units_ask(bad)), "error") << bad;
    }
    auto pod = units_pod(1);
    pod.containers[0].limits[memory_name] = -1;
    EXPECT_EQ(v100s(1).place(test::spoken<cce::options>::read_pod(pod, {})), "error");
    auto odd = *units_ask(40); // as a console takes it, in MiB
    for (const std::int64_t memory : {100, 5000, 5121}) {
        odd.containers[0].memory = mib{memory};
        EXPECT_EQ(v100s(1).place(odd), "request_not_valid") << memory;
    }
    odd.containers[0].memory = mib{5120};
    EXPECT_EQ(v100s(1).place(odd), "n");
}

TEST(seeds_cce, memory_is_of_one_gpu) {
    covers({"R111"});
    auto here = v100s(2);
    EXPECT_EQ(here.place(units_ask(127)), "insufficient_device_memory") << "16256 of 16160 MiB, though there are two";
    EXPECT_EQ(here.place(units_ask(252)), "insufficient_device_memory");
    EXPECT_EQ(here.place(units_ask(125)), "n");
}

TEST(seeds_cce, compute_is_a_multiple_of_five_percent_up_to_100) {
    covers({"R112", "R120"});
    for (std::int64_t cores = 0; cores <= 130; ++cores) {
        const bool valid = cores > 0 && cores <= 100 && cores % 5 == 0;
        EXPECT_EQ(v100s(1).place(units_ask(40, cores)), valid ? "n" : "error") << cores;
    }
}

TEST(seeds_cce, all_memory_or_all_compute_is_the_whole_gpu) {
    covers({"R113"});
    for (const auto& request : {units_ask(126), units_ask(126, 50), units_ask(1, 100), units_ask(40, 100)}) {
        auto here = v100s(1);
        EXPECT_EQ(here.place(request), "n");
        EXPECT_EQ(here.part(), partition{whole_device{}});
        EXPECT_EQ(here.state(0, 0).memory, mib{16160});
        EXPECT_EQ(here.place(units_ask(1)), "device_taken_whole");
        EXPECT_EQ(here.place(units_ask(1, 5)), "device_taken_whole");
        auto used = v100s(1);
        EXPECT_EQ(used.place(units_ask(1)), "n");
        EXPECT_EQ(used.place(request), "device_in_use");
    }
    auto parts = v100s(1);
    EXPECT_EQ(parts.place(units_ask(125, 95)), "n");
    EXPECT_EQ(parts.part(), isolated(16000, 95)) << "a unit less, a step less";
}

TEST(seeds_cce, compute_is_not_isolated_without_memory) {
    covers({"R117"});
    const auto refused = units_ask(-1, 25);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::missing);
    EXPECT_EQ(refused.error().field, memory_name);
    EXPECT_EQ(v100s(1).place(units_ask(40)), "n") << "memory alone may be";
}

TEST(seeds_cce, both_amounts_are_optional) {
    covers({"R120"});
    EXPECT_FALSE(test::spoken<cce::options>::requests(units_pod(-1), {})) << "neither: no virtual GPU";
    EXPECT_TRUE(test::spoken<cce::options>::requests(units_pod(1), {}));
    EXPECT_EQ(v100s(1).place(units_ask(1)), "n") << "no compute";
    EXPECT_EQ(v100s(1).place(units_ask(1, 5)), "n");
}

} // namespace
} // namespace vgpualloc
