// The hami dialect: what HAMi's webhook refuses, what no GPU serves, what does not count.
#include <cstdint>
#include <string>
#include <vector>

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

TEST(hami, what_its_webhook_refuses_or_takes_for_something_else) {
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

/// HAMi registers how many containers a GPU is split among, and feature discovery what its driver takes.
TEST(hami, labels_say_how_many_clients_a_gpu_of_mps_takes) {
    kubernetes::node node;
    node.name = "n0";
    const std::string gpu = R"("count":100,"devmem":40960,"devcore":100,"health":true,"mode":)";
    node.annotations["hami.io/node-nvidia-register"] =
        R"([{"id":"A",)" + gpu + R"("mps"},{"id":"B",)" + gpu + R"("hami-core"}])";
    const auto clients = [&node] {
        std::vector<std::int64_t> list;
        for (const auto& device : make({})->read_node({.object = node}).devices) list.push_back(device.clients_max);
        return list;
    };
    EXPECT_THAT(clients(), testing::ElementsAre(0, 0)) << "nothing says it";
    node.labels = {{"nvidia.com/gpu.compute.major", "9"},
                   {"nvidia.com/cuda.runtime-version.major", "13"},
                   {"nvidia.com/cuda.runtime-version.minor", "1"}};
    EXPECT_THAT(clients(), testing::ElementsAre(60, 0));
    node.labels["nvidia.com/gpu.compute.major"] = "6";
    EXPECT_THAT(clients(), testing::ElementsAre(16, 0));
}

} // namespace
} // namespace vgpualloc::dialects::hami
