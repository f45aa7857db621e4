#include "vgpusim/workload/pod_classes.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube_workloads.hpp"

namespace {

using testing::HasSubstr;
using vgpusim_test::classes_of;
using vgpusim_test::pod_object;
using vgpusim_test::vgpu_spec;

std::string workload(const std::string& kind, const std::string& name, const std::string& more) {
    return "---\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec:\n  " + more +
           "\n  template: {spec: " + vgpu_spec(1, 1024) + "}\n";
}

std::string volcano_job(const std::string& name, const std::string& min_available) {
    return "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: " + name + "}\nspec:\n  " +
           min_available + "\n  tasks:\n  - {name: head, replicas: 1, template: {spec: " + vgpu_spec(1, 2048) +
           "}}\n  - {name: worker, replicas: 3, template: {spec: " + vgpu_spec(2, 4096) + "}}\n";
}

TEST(pod_classes, a_class_is_as_many_pods_as_its_object_makes) {
    const auto classes =
        classes_of(pod_object("one", vgpu_spec(1, 512)) + workload("Deployment", "web", "replicas: 3") +
                   workload("Job", "batch", "parallelism: 4\n  completions: 2") +
                   "---\nkind: Service\nmetadata: {name: passed-over}\n");
    ASSERT_TRUE(classes) << classes.error().message();
    ASSERT_EQ(classes->size(), 3U);
    EXPECT_EQ((*classes)[0].pods, 1);
    EXPECT_EQ((*classes)[0].templates[0].request.containers[0].memory, vgpualloc::mib{512});
    EXPECT_EQ((*classes)[1].name, "web");
    EXPECT_EQ((*classes)[1].pods, 3);
    EXPECT_EQ((*classes)[1].minimum, 3);
    EXPECT_EQ((*classes)[2].pods, 2);
}

TEST(pod_classes, a_volcano_job_is_one_class_of_all_its_tasks) {
    const auto classes = classes_of(volcano_job("train", "minAvailable: 3") + volcano_job("all", "schedulerName: v"));
    ASSERT_TRUE(classes) << classes.error().message();
    ASSERT_EQ(classes->size(), 2U);
    const auto& train = classes->front();
    EXPECT_EQ(train.pods, 4);
    EXPECT_EQ(train.minimum, 3);
    ASSERT_EQ(train.templates.size(), 2U);
    EXPECT_EQ(train.templates[1].suffix, "-worker");
    EXPECT_EQ(train.templates[1].pods, 3);
    EXPECT_EQ(train.templates[1].request.containers[0].count, 2);
    EXPECT_EQ(classes->back().minimum, 4);
}

TEST(pod_classes, an_error_names_the_place_of_the_object) {
    const auto refusal = [](const std::string& yaml) {
        const auto classes = classes_of(yaml);
        return classes ? std::string{"none"} : classes.error().message();
    };
    const std::string one = pod_object("one", vgpu_spec(1, 512));
    EXPECT_THAT(refusal("---\nkind: Service\nmetadata: {name: s}\n"), HasSubstr("f.yaml: missing"));
    EXPECT_THAT(refusal(one + one), HasSubstr("f.yaml:6: Pod one: metadata.name: got 'one'"));
    EXPECT_THAT(refusal(workload("DaemonSet", "d", "minReadySeconds: 0")), HasSubstr("kind: got 'DaemonSet'"));
    EXPECT_THAT(refusal(workload("Deployment", "d", "replicas: 0")), HasSubstr("replicas: got '0'"));
    EXPECT_THAT(refusal(workload("Deployment", "d", "replicas: 900000000")), HasSubstr("replicas: got '900000000'"));
    EXPECT_THAT(refusal(volcano_job("j", "minAvailable: 5")), HasSubstr("minAvailable: got '5'"));
    EXPECT_THAT(refusal(pod_object("p", "{nodeName: n1, containers: [{name: c}]}")), HasSubstr("on node n1 already"));
    EXPECT_THAT(refusal(pod_object("p", "{containers: [{name: c, resources: {limits: {amd.com/gpu: 1}}}]}")),
                HasSubstr("amd.com/gpu"));
    EXPECT_THAT(refusal(pod_object("p", "{containers: [{name: c, resources: {limits: {nvidia.com/gpumems: 1}}}]}")),
                HasSubstr("nvidia.com/gpumems"));
    EXPECT_THAT(refusal(pod_object("p", vgpu_spec(-1, 5))), HasSubstr("volcano.sh/vgpu-number"));
    EXPECT_EQ(refusal(pod_object("p", "{containers: [{name: c}]}")), "none") << "a pod without devices is a class";
}

} // namespace
