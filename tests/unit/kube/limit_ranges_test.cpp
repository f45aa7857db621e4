// What limit ranges make of pods.
#include "vgpualloc/kube/limit_ranges.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/operations/clusters.hpp"

namespace {

namespace kube = vgpualloc::kube;
using cluster_test::objects;
using testing::ElementsAre;
using testing::HasSubstr;

std::string limit_range(const std::string& items, const std::string& name = "lr") {
    return "---\nkind: LimitRange\nmetadata: {name: " + name + ", namespace: ns}\nspec: {limits: [" + items + "]}\n";
}

std::string limited_pod(const std::string& resources, const std::string& more = "") {
    return "---\nkind: Pod\nmetadata: {name: p, namespace: ns}\nspec: {" + more +
           " containers: [{name: m, resources: {" + resources + "}}]}\n";
}

struct limited {
    kube::manifest pod{};
    std::string refused{};
};

/// The last of the objects, as the others admit it.
limited admitted(const std::string& yaml) {
    auto all = objects(yaml);
    kube::limit_ranges ranges{std::span{all}.first(all.size() - 1)};
    const auto refusal = ranges.admit(all.back());
    return {.pod = all.back(), .refused = refusal ? refusal->message() : ""};
}

TEST(limit_ranges, defaults_are_filled_in_where_a_container_says_nothing) {
    const std::string range =
        limit_range("{type: Container, default: {cpu: '2', nvidia.com/gpu: 1}, defaultRequest: {cpu: "
                    "500m, memory: 1Gi}}");
    const auto silent = admitted(range + limited_pod("")).pod;
    EXPECT_EQ(silent.pod->containers[0].cpu, (vgpualloc::kubernetes::host_resource{.request = 500, .limit = 2000}));
    EXPECT_EQ(silent.pod->containers[0].limits.at("nvidia.com/gpu"), 1);
    EXPECT_EQ(silent.pod->containers[0].requests.at("nvidia.com/gpu"), 1);
    EXPECT_EQ(silent.cpu.count(), 500);
    EXPECT_EQ(silent.memory.count(), std::int64_t{1} << 30);
    const auto limits = admitted(range + limited_pod("limits: {cpu: '1'}")).pod;
    EXPECT_EQ(limits.cpu.count(), 1000) << "a limit is the request before any default";
    EXPECT_EQ(limits.pod->containers[0].cpu.limit, 1000);
}

TEST(limit_ranges, defaults_come_from_one_another_as_the_api_server_sets_them) {
    const auto by_max = admitted(limit_range("{type: Container, max: {cpu: '3'}}") + limited_pod("")).pod;
    EXPECT_EQ(by_max.pod->containers[0].cpu, (vgpualloc::kubernetes::host_resource{.request = 3000, .limit = 3000}));
    const auto by_min = admitted(limit_range("{type: Container, min: {cpu: '1'}}") + limited_pod("")).pod;
    EXPECT_EQ(by_min.pod->containers[0].cpu, (vgpualloc::kubernetes::host_resource{.request = 1000, .limit = -1}));
}

TEST(limit_ranges, the_first_by_name_fills_in_and_all_bound) {
    const std::string two = limit_range("{type: Container, defaultRequest: {cpu: '2'}}", "b") +
                            limit_range("{type: Container, defaultRequest: {cpu: '1'}}", "a");
    EXPECT_EQ(admitted(two + limited_pod("")).pod.cpu.count(), 1000);
    EXPECT_THAT(admitted(two + limit_range("{type: Container, min: {cpu: '5'}}", "c") + limited_pod("")).refused,
                HasSubstr("minimum cpu usage per Container is 5, but request is 1"));
}

TEST(limit_ranges, a_pod_outside_the_bounds_is_refused) {
    const std::string container = limit_range("{type: Container, min: {cpu: '1'}, max: {cpu: '2', nvidia.com/gpu: 1}}");
    EXPECT_EQ(admitted(container + limited_pod("limits: {cpu: '3', nvidia.com/gpu: 1}")).refused,
              "f.yaml:6: maximum cpu usage per Container is 2, but limit is 3; expected a pod that LimitRange lr "
              "admits");
    EXPECT_THAT(admitted(container + limited_pod("limits: {cpu: 500m, nvidia.com/gpu: 1}")).refused,
                HasSubstr("minimum cpu usage per Container is 1, but request is 500m"));
    EXPECT_THAT(admitted(container + limited_pod("limits: {cpu: '2', nvidia.com/gpu: 2}")).refused,
                HasSubstr("maximum nvidia.com/gpu usage per Container is 1, but limit is 2"));
    EXPECT_EQ(admitted(container + limited_pod("limits: {cpu: '2', nvidia.com/gpu: 1}")).refused, "");
    const std::string pod = limit_range("{type: Pod, max: {memory: 1Gi}}");
    EXPECT_THAT(admitted(pod + limited_pod("requests: {memory: 1Gi}")).refused, HasSubstr("No limit is specified"));
    EXPECT_THAT(admitted(pod + limited_pod("limits: {memory: 2Gi}")).refused,
                HasSubstr("maximum memory usage per Pod is 1Gi, but limit is 2Gi"));
    const std::string elsewhere =
        "---\nkind: LimitRange\nmetadata: {name: l, namespace: x}\nspec: {limits: [{type: Pod, max: "
        "{memory: '1'}}]}\n";
    EXPECT_EQ(admitted(elsewhere + limited_pod("limits: {memory: 2Gi}")).refused, "");
}

TEST(limit_ranges, a_request_above_a_default_limit_is_refused) {
    EXPECT_THAT(
        admitted(limit_range("{type: Container, default: {cpu: '1'}}") + limited_pod("requests: {cpu: '2'}")).refused,
        HasSubstr("container m asks for 2 of cpu, above its limit by default, 1"));
}

TEST(limit_ranges, a_device_by_default_needs_a_limit) {
    const std::string range = limit_range("{type: Container, min: {nvidia.com/gpu: 1}}");
    EXPECT_THAT(admitted(range + limited_pod("")).refused,
                HasSubstr("container m has a request of nvidia.com/gpu by default, and no limit"));
    EXPECT_EQ(admitted(range + limited_pod("limits: {nvidia.com/gpu: 2}")).refused, "");
}

TEST(limit_ranges, a_limit_far_above_its_request_is_refused) {
    const std::string range = limit_range("{type: Container, maxLimitRequestRatio: {cpu: 1500m}}");
    const auto with = [&](const std::string& resources) { return admitted(range + limited_pod(resources)).refused; };
    EXPECT_EQ(with("requests: {cpu: '2'}, limits: {cpu: '3'}"), "");
    EXPECT_THAT(with("requests: {cpu: '1'}, limits: {cpu: '3'}"),
                HasSubstr("cpu max limit to request ratio per Container is 1500m, but provided ratio is 3.000000"));
    EXPECT_THAT(with("limits: {memory: 1Gi}"), HasSubstr("but no request is specified or request is 0"));
    EXPECT_THAT(with("requests: {cpu: '1'}"), HasSubstr("but no limit is specified or limit is 0"));
    const std::string pod = limit_range("{type: Pod, maxLimitRequestRatio: {memory: '2'}}");
    EXPECT_THAT(admitted(pod + limited_pod("requests: {memory: 1Gi}, limits: {memory: 5Gi}")).refused,
                HasSubstr("memory max limit to request ratio per Pod is 2, but provided ratio is 5.000000"));
}

TEST(limit_ranges, containers_that_get_more_than_their_pod_are_refused) {
    const std::string range = limit_range("{type: Container, default: {cpu: '4'}, defaultRequest: {cpu: '2'}}");
    EXPECT_THAT(admitted(range + limited_pod("", "resources: {requests: {cpu: '1'}},")).refused,
                HasSubstr("the pod asks for 1 of cpu, less than its containers by default, 2"));
    EXPECT_THAT(admitted(range + limited_pod("", "resources: {requests: {cpu: '2'}, limits: {cpu: '3'}},")).refused,
                HasSubstr("container m has limit 4 of cpu by default, above that of the pod, 3"));
    EXPECT_EQ(admitted(range + limited_pod("", "resources: {requests: {cpu: '2'}, limits: {cpu: '4'}},")).refused, "");
}

TEST(limit_ranges, a_contradiction_goes_before_every_bound) {
    EXPECT_THAT(admitted(limit_range("{type: Container, default: {cpu: '1'}, max: {cpu: '1'}}") +
                         limited_pod("requests: {cpu: '2'}"))
                    .refused,
                HasSubstr("above its limit by default, 1; expected a pod that the API server admits"));
}

TEST(limit_ranges, what_is_not_read_is_named) {
    auto all = objects(limit_range("{type: Container, max: {ephemeral-storage: 1Gi}}") + limited_pod(""));
    kube::limit_ranges ranges{std::span{all}.first(1)};
    EXPECT_FALSE(ranges.admit(all[1]));
    EXPECT_THAT(ranges.not_looked_at(), ElementsAre("ephemeral-storage of LimitRange lr"));
}

} // namespace
