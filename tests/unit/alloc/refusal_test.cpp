#include "vgpualloc/alloc/refusal.hpp"

#include "support.hpp"

namespace vgpualloc {
namespace {

using enum rejection_code;

TEST(unit_of_a_refusal, follows_the_device_that_refuses) {
    const device_spec spec = test::gpu();
    const device_request request = test::want(1, 0);
    EXPECT_EQ(unit_of(insufficient_device_memory, &spec, &request), "MiB");
    EXPECT_EQ(unit_of(insufficient_device_cores, &spec, &request), "%");
    EXPECT_EQ(unit_of(insufficient_cpu, nullptr, nullptr), "mCPU");
    EXPECT_EQ(unit_of(node_not_ready, nullptr, nullptr), "");
}

TEST(closest_device, has_the_most_of_those_that_refuse_with_the_code) {
    const auto refused = [](rejection_code code, std::int64_t available) {
        return device_answer{.refusal = {.code = code, .wanted = 100, .available = available}, .parts = {}};
    };
    node_decision decision;
    EXPECT_EQ(closest_device(decision, insufficient_device_memory), std::nullopt);
    decision.stopped_by = {refused(insufficient_device_memory, 10), std::nullopt,
                           refused(insufficient_device_cores, 90), refused(insufficient_device_memory, 30),
                           refused(insufficient_device_memory, 30)};
    EXPECT_EQ(closest_device(decision, insufficient_device_memory), 3U);
    EXPECT_EQ(closest_device(decision, insufficient_device_cores), 2U);
    EXPECT_EQ(closest_device(decision, device_unhealthy), std::nullopt);
}

} // namespace
} // namespace vgpualloc
