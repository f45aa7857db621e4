// Time-slicing: replicas of a GPU, without limits, one fault domain.
#include "vgpualloc/mode/time_slicing.hpp"

#include "mode/refusals.hpp"
#include "requirements.hpp"
#include "support.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

TEST(time_slicing, a_gpu_is_as_many_replicas_as_it_registers_and_nothing_else_is_counted) {
    const device_spec device = gpu("A", 4, "time_slicing");
    EXPECT_EQ(refusal_of(device, used(0, 0, 3), want(1, 10000, 100)), rejection_detail{}) << "all of the GPU, in turns";
    EXPECT_EQ(refusal_of(device, used(0, 0, 4), want(1, 0)), (rejection_detail{insufficient_device_slots, 1, 0}));
    EXPECT_EQ(refusal_of(device, {}, want(1, 10001)), (rejection_detail{insufficient_device_memory, 10001, 10000}));
    EXPECT_EQ(refusal_of(device, {}, want(1, 1, 101)), (rejection_detail{insufficient_device_cores, 101, 100}));
}

TEST(time_slicing, parts_have_no_amounts_and_come_off_again) {
    const device_spec device = gpu("A", 3, "time_slicing");
    std::vector<partition> parts;
    device.mode->candidates(device, {}, want(1, 5000, 50), parts);
    EXPECT_EQ(parts, std::vector<partition>{slice{}});
    const device_state two = device.mode->with(device, device.mode->with(device, {}, slice{}), slice{});
    EXPECT_EQ(two, used(0, 0, 2));
    EXPECT_EQ(device.mode->used(device, two), milli_gpu{667}) << "two of three replicas, rounded up";
    EXPECT_EQ(device.mode->used(device, used(0, 0, 3)), whole_gpu);
    EXPECT_EQ(device.mode->used(device, {}), milli_gpu{0});
    EXPECT_EQ(device.mode->without(device, device.mode->without(device, two, slice{}), slice{}), device_state{});
    for (const partition& other : {partition{whole_device{}}, partition{part(1)}, partition{part(0, 1)}}) {
        EXPECT_EQ(device.mode->why_not(device, {}, other).code, mode_not_offered);
    }
}

TEST(time_slicing, a_crash_hits_all_of_the_gpu) {
    covers({"R049"});
    EXPECT_TRUE(mode("time_slicing").shares_faults());
}

} // namespace
} // namespace vgpualloc
