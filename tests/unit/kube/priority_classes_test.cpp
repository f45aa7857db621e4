// Which priority pods that are made have.
#include "vgpualloc/kube/priority_classes.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/operations/clusters.hpp"

namespace {

namespace kube = vgpualloc::kube;
using cluster_test::objects;
using testing::HasSubstr;

std::string priority_class(const std::string& name, int value, const std::string& more = "") {
    return "---\nkind: PriorityClass\nmetadata: {name: " + name + "}\nvalue: " + std::to_string(value) + "\n" + more;
}

std::string pod_of_class(const std::string& spec) {
    return "---\nkind: Pod\nmetadata: {name: p, namespace: ns}\nspec: {" + spec + " containers: [{name: m}]}\n";
}

struct prioritised {
    kube::manifest pod{};
    std::string refused{};
};

/// The last of the objects, as the others have it.
prioritised prioritised_of(const std::string& yaml) {
    auto all = objects(yaml);
    const kube::priority_classes classes{std::span{all}.first(all.size() - 1)};
    const auto refusal = classes.admit(all.back());
    return {.pod = all.back(), .refused = refusal ? refusal->message() : ""};
}

TEST(priority_classes, a_pod_has_the_priority_of_its_class) {
    EXPECT_EQ(prioritised_of(priority_class("high", 7) + pod_of_class("priorityClassName: high,")).pod.priority, 7);
    EXPECT_EQ(prioritised_of(priority_class("high", 7) + pod_of_class("")).pod.priority, 0);
    const auto critical =
        prioritised_of(priority_class("high", 7) + pod_of_class("priorityClassName: system-node-critical,"));
    EXPECT_EQ(critical.pod.priority, 2'000'001'000) << "which every cluster has";
    EXPECT_EQ(critical.refused, "");
}

TEST(priority_classes, a_pod_that_is_there_has_its_own_or_that_of_its_class) {
    const auto all = objects(priority_class("high", 7) + priority_class("calm", 9, "preemptionPolicy: Never\n") +
                             pod_of_class("priorityClassName: high,") +
                             pod_of_class("priority: 5, priorityClassName: high, preemptionPolicy: Never,") +
                             pod_of_class("priorityClassName: calm,") + pod_of_class("priorityClassName: gone,"));
    const kube::priority_classes classes{all};
    EXPECT_EQ(classes.priority_of(all[2]), 7);
    EXPECT_EQ(classes.priority_of(all[3]), 5);
    EXPECT_EQ(classes.priority_of(all[5]), 0);
    EXPECT_TRUE(classes.preempts(all[2]));
    EXPECT_FALSE(classes.preempts(all[3])) << "it says so";
    EXPECT_FALSE(classes.preempts(all[4])) << "its class does";
    EXPECT_TRUE(classes.preempts(all[5]));
}

TEST(priority_classes, one_class_is_that_of_pods_without_one) {
    const auto pod = prioritised_of(priority_class("usual", 3, "globalDefault: true\n") + pod_of_class("")).pod;
    EXPECT_EQ(pod.priority, 3);
    EXPECT_EQ(pod.priority_class, "usual");
    const std::string two = priority_class("b", 9, "globalDefault: true\n") + priority_class("a", 5) +
                            priority_class("c", 4, "globalDefault: true\n");
    EXPECT_EQ(prioritised_of(two + pod_of_class("")).pod.priority_class, "c") << "of two defaults the lower one";
}

TEST(priority_classes, a_class_that_is_not_there_is_refused) {
    EXPECT_EQ(
        prioritised_of(priority_class("high", 7) + priority_class("low", 1) + pod_of_class("priorityClassName: hihg,"))
            .refused,
        "f.yaml:10: priorityClassName: got 'hihg', expected a PriorityClass of the cluster: high, low");
    EXPECT_EQ(prioritised_of(pod_of_class("") + pod_of_class("priorityClassName: hihg,")).refused, "")
        << "of such a cluster no class is known";
}

TEST(priority_classes, a_priority_that_is_not_the_class_is_refused) {
    EXPECT_THAT(
        prioritised_of(priority_class("high", 7) + pod_of_class("priorityClassName: high, priority: 8,")).refused,
        HasSubstr("got '8', expected the priority of PriorityClass high, 7"));
    EXPECT_THAT(prioritised_of(priority_class("high", 7) + pod_of_class("priority: 7,")).refused,
                HasSubstr("got '7', expected the priority of a pod without a PriorityClass, 0"));
    EXPECT_EQ(prioritised_of(priority_class("high", 7) + pod_of_class("priorityClassName: high, priority: 7,")).refused,
              "");
}

} // namespace
