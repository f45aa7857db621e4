// The hami dialect: what HAMi's webhook refuses, what no GPU serves, what does not count.
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/support.hpp"
#include "vgpualloc/dialect/hami.hpp"

namespace vgpualloc::dialects::hami {
namespace {

using test::limited;
using test::pod_of;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(hami, what_its_webhook_refuses_or_takes_for_something_else) { // FINDINGS 19, 20, 25
    const auto errors_of = [](const kubernetes::pod& pod) { return make({})->check_pod(pod).errors; };
    auto pod = pod_of({limited({{"nvidia.com/gpu", 1}})});
    EXPECT_THAT(errors_of(pod), IsEmpty());
    pod.containers[0].privileged = true;
    EXPECT_THAT(errors_of(pod), SizeIs(1));
    pod.labels["hami.io/webhook"] = "ignore";
    EXPECT_THAT(errors_of(pod), IsEmpty());
    pod.annotations["hami.io/gpu-scheduler-policy"] = "binpack, nonsense";
    ASSERT_THAT(errors_of(pod), SizeIs(1));
    EXPECT_EQ(errors_of(pod)[0].value, "nonsense");
    pod.annotations.clear();
    const auto asking = [](const char* name, std::int64_t amount) {
        auto container = limited({{"nvidia.com/gpu", 1}});
        container.limits[name] = amount;
        container.requests = container.limits;
        return pod_of({container});
    };
    EXPECT_THAT(errors_of(asking("nvidia.com/gpu", 1024)), IsEmpty());
    EXPECT_THAT(errors_of(asking("nvidia.com/gpu", 1025)), SizeIs(1));
    EXPECT_THAT(errors_of(asking("nvidia.com/gpumem", 1'048'576)), IsEmpty());
    EXPECT_THAT(errors_of(asking("nvidia.com/gpumem", 999'999'999)), SizeIs(1));
    EXPECT_THAT(make({})->check_pod(asking("nvidia.com/gpucores", 100)).notes, IsEmpty());
    EXPECT_THAT(make({})->check_pod(asking("nvidia.com/gpucores", 150)).notes, SizeIs(1));
}

TEST(hami, a_container_that_asks_for_no_gpu_gets_no_memory_either) {
    auto container = limited({{"nvidia.com/gpu", 0}, {"nvidia.com/gpumem", 3000}});
    container.requests = container.limits;
    const auto findings = make({})->check_pod(pod_of({container}));
    EXPECT_THAT(findings.errors, IsEmpty());
    EXPECT_THAT(findings.notes, testing::ElementsAre("container c: nvidia.com/gpumem 3000 does not count beside "
                                                     "nvidia.com/gpu 0, which asks for no device"));
}

} // namespace
} // namespace vgpualloc::dialects::hami
