// What kube-scheduler counts, in a dialect whose own scheduler counts otherwise.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "dialect/support.hpp"
#include "vgpualloc/dialect/hami.hpp"

namespace vgpualloc::dialects::hami {
namespace {

using test::pod_of;

/// Where no node registers GPUs with HAMi, kube-scheduler counts whole ones.
TEST(hami, whole_gpus_count_as_kubernetes_counts_them_where_no_node_is_of_hami) {
    const auto spoken_here = make({});
    kubernetes::node registered{.name = "n", .labels = {}, .annotations = {}, .allocatable = {}, .capacity = {}};
    EXPECT_EQ(spoken_here->trait_of(registered), "");
    registered.annotations[register_annotation] = "[]";
    EXPECT_EQ(spoken_here->for_traits({spoken_here->trait_of(registered)}), nullptr);
    const auto plain = spoken_here->for_traits({});
    const auto asking = [](const std::string& name, std::int64_t count) {
        return kubernetes::container{
            .name = name, .limits = {{"nvidia.com/gpu", count}}, .requests = {{"nvidia.com/gpu", count}}};
    };
    auto pod = pod_of({asking("a", 1), asking("b", 1)});
    pod.init_containers = {asking("i", 2)};
    const auto devices_of = [&pod](const dialect& asked_in) {
        const auto request = asked_in.read_pod(pod);
        std::int64_t count = 0;
        for (const auto& entry : request->containers) count += entry.count;
        return count;
    };
    EXPECT_EQ(devices_of(*plain), 2);
    pod.init_containers = {asking("i", 3)};
    EXPECT_EQ(devices_of(*plain), 3);
    EXPECT_EQ(plain->read_pod(pod)->containers.back().cores, core_percent{100}) << "whole, as the others";
    pod.init_containers = {asking("i", 2), asking("s", 1)};
    pod.init_containers[1].stays = true;
    EXPECT_EQ(devices_of(*plain), 3) << "the sidecar starts when the other has ended";
    pod.init_containers = {asking("i", 2)};
    pod.containers[0].limits["nvidia.com/gpumem"] = pod.containers[0].requests["nvidia.com/gpumem"] = 10;
    EXPECT_EQ(plain->read_pod(pod)->containers, spoken_here->read_pod(pod)->containers) << "shared, as HAMi counts";
}

} // namespace
} // namespace vgpualloc::dialects::hami
