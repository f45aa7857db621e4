// What quotas say of one more pod, and with other limits or without a pod.
#include "vgpualloc/kube/resource_quotas.hpp"

#include <string>

#include <gtest/gtest.h>

#include "unit/operations/clusters.hpp"

namespace {

namespace kube = vgpualloc::kube;
using cluster_test::objects;

std::string quota_named(const std::string& name, const std::string& hard, const std::string& rest = "") {
    return "---\nkind: ResourceQuota\nmetadata: {name: " + name + ", namespace: ns}\nspec: {hard: {" + hard + "}}\n" +
           rest;
}

std::string gpu_pod(const std::string& name, const std::string& gpus, const std::string& status = "") {
    return "---\nkind: Pod\nmetadata: {name: " + name +
           ", namespace: ns}\nspec: {containers: [{name: m, resources: {limits: {nvidia.com/gpu: " + gpus + "}}}]}\n" +
           status;
}

TEST(resource_quotas, are_raised_for_one_more_pod) {
    const auto all = objects(quota_named("b", "requests.nvidia.com/gpu: '3'") +
                             quota_named("a", "pods: '9'", "status: {used: {pods: '4'}}\n") + gpu_pod("p", "2"));
    const kube::manifest& pod = all.back();
    kube::resource_quotas quotas{all};
    const auto shortage = quotas.shortage_of(pod);
    ASSERT_TRUE(shortage);
    EXPECT_EQ(words_of(*shortage), "requests.nvidia.com/gpu 2 of 3 used, 2 more needed");
    EXPECT_EQ(shortage->quota, "b");
    EXPECT_EQ(quotas.counted_words(*shortage, pod), "2");
    EXPECT_EQ(quotas.raise(*shortage, pod), "4");
    EXPECT_FALSE(quotas.shortage_of(pod));
    kube::quota_admission two{.pods = 2};
    quotas.admit(pod, two);
    EXPECT_EQ(two.pods, 1);
    EXPECT_TRUE(quotas.shortage_of(pod)); // what was admitted is used
}

TEST(resource_quotas, count_no_pod_that_is_forgotten) {
    const auto all =
        objects(quota_named("q", "requests.nvidia.com/gpu: '3', pods: '5'",
                            "status: {used: {requests.nvidia.com/gpu: '3'}}\n") +
                gpu_pod("ended", "3", "status: {phase: Failed}\n") + gpu_pod("p", "2") + gpu_pod("one", "1"));
    const kube::manifest& quota = all.front();
    kube::resource_quotas quotas{all};
    EXPECT_EQ(quotas.used_words(quota, "requests.nvidia.com/gpu"), "3");
    EXPECT_EQ(quotas.used_words(quota, "pods"), "2"); // as counted: the status does not say it
    EXPECT_TRUE(quotas.shortage_of(all.back()));
    quotas.forget(all[2]);
    EXPECT_FALSE(quotas.shortage_of(all.back()));
    kube::quota_admission many{.pods = 9};
    quotas.admit(all.back(), many);
    EXPECT_EQ(many.pods, 2);
}

TEST(resource_quotas, that_were_lowered_refuse_what_takes_the_place_of_a_pod) {
    const auto all = objects(quota_named("q", "requests.nvidia.com/gpu: '3'") + gpu_pod("a", "2") + gpu_pod("b", "1") +
                             gpu_pod("c", "1") +
                             "---\nkind: Pod\nmetadata: {name: d, namespace: ns}\nspec: {containers: [{name: m}]}\n");
    kube::resource_quotas quotas{all};
    for (int again = 0; again < 2; ++again) { // nothing is deleted by asking
        const auto shortage = quotas.shortage_of_replacement(all[2], all[2]);
        ASSERT_TRUE(shortage);
        EXPECT_EQ(words_of(*shortage), "requests.nvidia.com/gpu 3 of 3 used, 1 more needed");
        EXPECT_TRUE(quotas.shortage_of_replacement(all[1], all[1]));
        EXPECT_FALSE(quotas.shortage_of_replacement(all[4], all[4])) << "asks for none";
    }
    quotas.forget(all[3]);
    EXPECT_FALSE(quotas.shortage_of_replacement(all[2], all[2]));
    EXPECT_FALSE(quotas.shortage_of_replacement(all[1], all[1]));
}

TEST(resource_quotas, of_other_namespaces_do_not_matter) {
    const auto all = objects(quota_named("q", "pods: '0'") + "---\nkind: Pod\nmetadata: {name: p, namespace: other}\n"
                                                             "spec: {containers: [{name: m}]}\n");
    kube::resource_quotas quotas{all};
    EXPECT_FALSE(quotas.shortage_of(all.back()));
    EXPECT_EQ(quotas.counted_words({.quota = "q", .resource = "pods"}, all.back()), "");
    EXPECT_EQ(quotas.raise({.quota = "q", .resource = "pods"}, all.back()), "");
}

} // namespace
