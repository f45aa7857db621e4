// CCE's rules, by the numbers C1 to C12 of the acceptance checks in docs/requirements.md. C11 is about pods: the
// dialect's tests have it.
#include "requirements.hpp"
#include "support.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

/// The documented Tesla V100-SXM2 of 16160 MiB with what is on it.
struct v100 {
    v100() { spec = mode("cce").adapted({.model = "V100", .memory = mib{16160}, .slots = 100, .mode = &mode("cce")}); }

    static device_request units(std::int64_t count, std::int64_t cores = 0) { return want(1, count * 128, cores); }

    rejection_detail why(const device_request& request) const {
        std::vector<partition> parts;
        spec.mode->candidates(spec, state, request, parts);
        const auto refused = spec.mode->why_not(spec, state, request);
        EXPECT_EQ(parts.empty(), refused.code != none);
        return refused;
    }
    partition take(const device_request& request) {
        std::vector<partition> parts;
        spec.mode->candidates(spec, state, request, parts);
        EXPECT_EQ(parts.size(), 1U);
        if (parts.empty()) return {};
        EXPECT_EQ(spec.mode->why_not(spec, state, parts.front()).code, none);
        state = spec.mode->with(spec, state, parts.front());
        return parts.front();
    }

    device_spec spec;
    device_state state{};
};

TEST(cce, C1_forty_units_are_5120_mib_of_memory_isolation) {
    covers({"C1"});
    v100 gpu;
    EXPECT_EQ(gpu.take(v100::units(40)), partition{part(5120, 0)});
    EXPECT_EQ(gpu.spec.mode->used(gpu.spec, gpu.state), milli_gpu{317});
}

TEST(cce, C2_compute_isolation_does_not_join_memory_isolation) {
    covers({"C2", "R104"});
    v100 gpu;
    gpu.take(v100::units(40));
    EXPECT_EQ(gpu.why(v100::units(40, 25)).code, isolation_differs);
    EXPECT_EQ(gpu.why(v100::units(40)), rejection_detail{});
}

TEST(cce, C3_memory_isolation_does_not_join_compute_isolation) {
    covers({"C3", "R104"});
    v100 gpu;
    const partition first = gpu.take(v100::units(40, 25));
    EXPECT_EQ(first, partition{part(5120, 25)});
    EXPECT_EQ(gpu.why(v100::units(40)).code, isolation_differs);
    gpu.state = gpu.spec.mode->without(gpu.spec, gpu.state, first);
    EXPECT_EQ(gpu.why(v100::units(40)), rejection_detail{}) << "free again when empty";
}

TEST(cce, C4_the_21st_tenant_is_refused) {
    covers({"C4", "R101"});
    v100 gpu;
    for (int i = 0; i < 20; ++i) gpu.take(v100::units(1));
    EXPECT_EQ(gpu.why(v100::units(1)), (rejection_detail{insufficient_device_slots, 1, 0}));
}

TEST(cce, C5_compute_without_memory_is_rejected) {
    covers({"C5", "R117"});
    EXPECT_EQ(v100{}.why(want(1, 0, 25)), (rejection_detail{request_not_valid, 25, 0}));
    EXPECT_EQ(v100{}.why(want(1, 0, 100)).code, request_not_valid) << "whatever the share";
}

TEST(cce, C6_compute_comes_in_steps_of_five) {
    covers({"C6", "R112"});
    for (const std::int64_t bad : {27, 3, 7, 101, 105, -5}) {
        EXPECT_EQ(v100{}.why(v100::units(40, bad)), (rejection_detail{request_not_valid, bad, 0})) << bad;
    }
    for (const std::int64_t good : {5, 10, 95, 100}) EXPECT_EQ(v100{}.why(v100::units(40, good)).code, none) << good;
}

TEST(cce, C7_127_units_are_more_than_16160_mib) {
    covers({"C7", "R111", "R113"});
    v100 gpu;
    EXPECT_EQ(gpu.why(v100::units(127)), (rejection_detail{insufficient_device_memory, 16256, 16160}));
    EXPECT_EQ(gpu.take(v100::units(126)), partition{whole_device{}}) << "all units that there are: the whole GPU";
    EXPECT_EQ(v100{}.take(v100::units(125)), partition{part(16000)});
}

TEST(cce, C8_all_of_the_compute_is_the_whole_gpu_and_joins_nobody) {
    covers({"C8", "R113"});
    v100 gpu;
    const partition first = gpu.take(v100::units(40, 25));
    EXPECT_EQ(gpu.why(v100::units(10, 100)), (rejection_detail{device_in_use, 0, 1}));
    gpu.state = gpu.spec.mode->without(gpu.spec, gpu.state, first);
    gpu.take(v100::units(40));
    EXPECT_EQ(gpu.why(v100::units(10, 100)).code, device_in_use) << "whatever the isolation";
    EXPECT_EQ(v100{}.take(v100::units(10, 100)), partition{whole_device{}});
}

TEST(cce, C9_nobody_joins_a_whole_gpu) {
    covers({"C9", "R113"});
    v100 gpu;
    const partition all = gpu.take(v100::units(10, 100));
    EXPECT_EQ(gpu.state, (device_state{.memory = mib{16160}, .cores = core_percent{100}, .slots = 1, .layout = 1}));
    EXPECT_EQ(gpu.why(v100::units(1)), (rejection_detail{device_taken_whole, 1, 0}));
    EXPECT_EQ(gpu.why(v100::units(1, 5)).code, device_taken_whole);
    EXPECT_EQ(gpu.why(v100::units(126)).code, device_taken_whole);
    EXPECT_EQ(gpu.spec.mode->used(gpu.spec, gpu.state), whole_gpu);
    EXPECT_EQ(gpu.spec.mode->without(gpu.spec, gpu.state, all), device_state{});
}

TEST(cce, C10_a_full_cluster_refuses_and_evicts_nobody) {
    covers({"C10", "R109"});
    cluster owned;
    add_node(owned, {v100{}.spec, v100{}.spec});
    placer full{owned, "binpack"};
    ASSERT_TRUE(full.place(pod({want(2, 128 * 126)})));
    const std::vector<device_state> before(full.book.devices(node_index{0U}).begin(),
                                           full.book.devices(node_index{0U}).end());
    const std::size_t events = full.book.events().size();
    const auto refused = full.place(pod({want(1, 128)}));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(nodes_refused(refused.error(), device_taken_whole), 1);
    EXPECT_EQ(
        std::vector<device_state>(full.book.devices(node_index{0U}).begin(), full.book.devices(node_index{0U}).end()),
        before);
    EXPECT_EQ(full.book.events().size(), events) << "nothing was released, nothing booked";
    EXPECT_EQ(full.book.live_count(), 1U);
}

TEST(cce, C12_compute_adds_up_to_at_most_100) {
    covers({"C12"});
    v100 gpu;
    gpu.take(v100::units(10, 50));
    gpu.take(v100::units(10, 50));
    EXPECT_EQ(gpu.why(v100::units(10, 5)), (rejection_detail{insufficient_device_cores, 5, 0}));
}

TEST(cce, memory_is_a_multiple_of_128_mib) {
    covers({"R110"});
    EXPECT_EQ(v100{}.why(want(1, 5000)), (rejection_detail{request_not_valid, 5000, 0}));
    device_request share = want(1, 0);
    share.memory_percent = 50;
    EXPECT_EQ(v100{}.why(share).code, request_not_valid) << "CCE has no percentages of memory";
    share.memory_percent = 100;
    EXPECT_EQ(v100{}.take(share), partition{whole_device{}});
    EXPECT_EQ(v100{}.take(want(1, 0)), partition{whole_device{}}) << "a GPU with nothing said about its parts";
}

TEST(cce, parts_that_it_does_not_cut_are_refused) {
    const v100 gpu;
    const auto why = [&](const partition& part) { return gpu.spec.mode->why_not(gpu.spec, {}, part).code; };
    EXPECT_EQ(why(part(100)), mode_not_offered);
    EXPECT_EQ(why(part(0, 50)), mode_not_offered);
    EXPECT_EQ(why(part(128, 3)), mode_not_offered);
    EXPECT_EQ(why(mig_instance{}), mode_not_offered);
    EXPECT_EQ(why(part(128, 5)), none);
}

} // namespace
} // namespace vgpualloc
