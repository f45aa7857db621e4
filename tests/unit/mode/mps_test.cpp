// MPS: limits of memory and threads, at most 48 clients, one fault domain.
#include "mode/refusals.hpp"
#include "support.hpp"

#include "vgpualloc/mode/mps.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

TEST(mps, memory_limits_and_thread_limits_add_up_to_at_most_the_device) {
    const device_spec device = gpu("A", 4, "mps");
    EXPECT_EQ(refusal_of(device, used(9000, 90, 1), want(1, 1000, 10)), rejection_detail{});
    EXPECT_EQ(refusal_of(device, used(9000, 90, 1), want(1, 1001, 11)),
              (rejection_detail{insufficient_device_memory, 1001, 1000}));
    EXPECT_EQ(refusal_of(device, used(9000, 90, 1), want(1, 1000, 11)),
              (rejection_detail{insufficient_device_cores, 11, 10}));
    EXPECT_EQ(refusal_of(device, used(9000, 90, 4), want(1, 1001, 11)),
              (rejection_detail{insufficient_device_slots, 1, 0}));
    EXPECT_EQ(refusal_of(device, {}, want(1, 1000, 101)), (rejection_detail{insufficient_device_cores, 101, 100}));
}

TEST(mps, a_client_without_a_thread_limit_joins_anybody) {
    const device_spec device = gpu("A", 4, "mps");
    EXPECT_EQ(refusal_of(device, used(1000, 100, 1), want(1, 1000, 0)), rejection_detail{}) << "unlike HAMi-core";
    EXPECT_EQ(refusal_of(device, used(1000, 0, 1), want(1, 1000, 100)), rejection_detail{});
    EXPECT_EQ(device.mode->with(device, {}, part(1000)), used(1000, 0, 1));
}

/// The driver and the GPU say it where their node's labels are read; the registration carries it.
TEST(mps, a_gpu_has_as_many_clients_as_its_driver_takes) {
    const auto with_limit = [](std::int64_t clients) {
        device_registration from;
        from.mode = "mps";
        from.memory = mib{40960};
        from.slots = 100;
        from.clients_max = clients;
        return from;
    };
    cluster owner;
    node where;
    for (const std::int64_t clients : {60, 16, 0, 48, 60}) {
        ASSERT_TRUE(add_device(owner, where, with_limit(clients), built_in_mig_catalog()));
    }
    const auto spec_of = [&](std::size_t device) -> const device_spec& {
        return owner.kinds[where.devices[device].kind];
    };
    EXPECT_EQ(spec_of(0).slots, 60);
    EXPECT_EQ(refusal_of(spec_of(0), used(0, 0, 59), want(1, 1)), rejection_detail{});
    EXPECT_EQ(refusal_of(spec_of(0), used(0, 0, 60), want(1, 1)), (rejection_detail{insufficient_device_slots, 1, 0}));
    EXPECT_EQ(spec_of(1).slots, 16);
    EXPECT_EQ(refusal_of(spec_of(1), used(0, 0, 16), want(1, 1)).code, insufficient_device_slots);
    EXPECT_EQ(spec_of(2).slots, 48) << "nothing says it";
    EXPECT_NE(spec_of(0).mode, spec_of(1).mode);
    EXPECT_EQ(spec_of(2).mode, spec_of(3).mode);
    EXPECT_EQ(spec_of(0).mode, spec_of(4).mode);
    auto fewer = with_limit(60);
    fewer.slots = 8;
    fewer.units.one_per_container = true;
    ASSERT_TRUE(add_device(owner, where, fewer, built_in_mig_catalog()));
    EXPECT_EQ(spec_of(5).slots, 8);
    EXPECT_NE(spec_of(5).mode, spec_of(0).mode);
    EXPECT_TRUE(spec_of(5).mode->units().one_per_container);
}

TEST(mps, a_gpu_has_at_most_48_clients_and_16_before_volta) {
    const device_spec many = device_spec{gpu("A", 100, "mps")};
    EXPECT_EQ(refusal_of(many, used(0, 0, 47), want(1, 1)), rejection_detail{});
    EXPECT_EQ(refusal_of(many, used(0, 0, 48), want(1, 1)), (rejection_detail{insufficient_device_slots, 1, 0}));
    EXPECT_EQ(many.mode->adapted(many).slots, 48);
    const device_spec pascal = gpu("P", 16, "mps");
    EXPECT_EQ(refusal_of(pascal, used(0, 0, 16), want(1, 1)).code, insufficient_device_slots);
    EXPECT_EQ(pascal.mode->adapted(pascal).slots, 16);
}

TEST(mps, a_fault_takes_all_clients_and_not_where_faults_are_apart) {
    EXPECT_TRUE(mode("mps").shares_faults());
    for (const char* other : {"cce", "exclusive", "hami_core", "mig"})
        EXPECT_FALSE(mode(other).shares_faults()) << other;
}

TEST(mps, parts_add_up_and_come_off_in_any_order) {
    const device_spec device = gpu("A", 4, "mps");
    const device_state two = device.mode->with(device, device.mode->with(device, {}, part(100, 5)), part(200, 6));
    EXPECT_EQ(two, used(300, 11, 2));
    EXPECT_EQ(device.mode->without(device, two, part(100, 5)), used(200, 6, 1));
    EXPECT_EQ(device.mode->used(device, two), milli_gpu{110});
    EXPECT_EQ(device.mode->why_not(device, {}, whole_device{}).code, mode_not_offered);
    EXPECT_EQ(device.mode->why_not(device, {}, part(-1)).code, mode_not_offered);
    EXPECT_EQ(device.mode->why_not(device, {}, part(0, -1)).code, mode_not_offered);
}

} // namespace
} // namespace vgpualloc
