// Priority and limits of pods that are made.
#include "vgpualloc/kube/pod_admission.hpp"

#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/operations/clusters.hpp"

namespace {

namespace kube = vgpualloc::kube;
using testing::HasSubstr;

const std::string class_and_range =
    "---\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 7\n"
    "---\nkind: LimitRange\nmetadata: {name: lr, namespace: ns}\nspec: {limits: [{type: Container, max: {cpu: 1}, "
    "default: {cpu: 500m}}]}\n";

std::string pod_with(const std::string& spec, const std::string& limits) {
    return "---\nkind: Pod\nmetadata: {name: p, namespace: ns}\nspec: {" + spec +
           " containers: [{name: m, resources: {limits: {" + limits + "}}}]}\n";
}

TEST(pod_admission, gives_the_priority_and_then_the_defaults) {
    auto all = cluster_test::objects(class_and_range + pod_with("priorityClassName: high,", ""));
    kube::pod_admission admission{std::span{all}.first(2)};
    const auto refusal = admission.admit(all.back());
    ASSERT_FALSE(refusal) << refusal->message();
    EXPECT_EQ(all.back().priority, 7);
    EXPECT_EQ(all.back().cpu, vgpualloc::milli_cpu{500});
}

TEST(pod_admission, the_class_refuses_before_the_range) {
    auto all = cluster_test::objects(class_and_range + pod_with("priorityClassName: none,", "cpu: 2"));
    kube::pod_admission admission{std::span{all}.first(2)};
    EXPECT_THAT(admission.admit(all.back())->message(), HasSubstr("none"));
    auto known = cluster_test::objects(class_and_range + pod_with("priorityClassName: high,", "cpu: 2"));
    EXPECT_THAT(admission.admit(known.back())->message(), HasSubstr("cpu"));
}

} // namespace
