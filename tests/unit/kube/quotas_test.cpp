// What quotas leave to pods that are made.
#include "vgpualloc/kube/quotas.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/operations/clusters.hpp"

namespace {

namespace kube = vgpualloc::kube;
using cluster_test::objects;
using testing::ElementsAre;
using testing::IsEmpty;

std::string resource_quota(const std::string& hard, const std::string& used = "", const std::string& spec = "") {
    const std::string status = used.empty() ? "" : "status: {hard: {" + hard + "}, used: {" + used + "}}\n";
    return "---\nkind: ResourceQuota\nmetadata: {name: q, namespace: ns}\nspec: {" + spec + " hard: {" + hard + "}}\n" +
           status;
}

/// A pod whose container has these limits.
std::string quota_pod(const std::string& limits, const std::string& spec = "", const std::string& status = "") {
    return "---\nkind: Pod\nmetadata: {name: p, namespace: ns}\nspec: {" + spec +
           " containers: [{name: m, resources: {limits: {" + limits + "}}}]}\n" + status;
}

struct quota_outcome {
    std::int64_t pods = 0;
    std::string words{};
    std::vector<std::string> not_looked_at{};
};

/// What becomes of three pods like the last object.
quota_outcome three_of(const std::string& yaml) {
    const auto all = objects(yaml);
    kube::quota_book book{std::span{all}.first(all.size() - 1)};
    const auto admission = book.admit(all.back(), 3);
    return {.pods = admission.pods,
            .words = admission.short_of ? words_of(*admission.short_of) : "",
            .not_looked_at = book.not_looked_at()};
}

TEST(quotas, as_many_as_fit_are_admitted) {
    const auto gpus = three_of(resource_quota("requests.nvidia.com/gpu: '4'", "requests.nvidia.com/gpu: '1'") +
                               quota_pod("nvidia.com/gpu: 2"));
    EXPECT_EQ(gpus.pods, 1);
    EXPECT_EQ(gpus.words, "requests.nvidia.com/gpu 3 of 4 used, 2 more needed");
    EXPECT_EQ(three_of(resource_quota("pods: '5'", "pods: '3'") + quota_pod("")).words,
              "pods 5 of 5 used, 1 more needed");
    EXPECT_EQ(three_of(resource_quota("count/pods: '9'", "count/pods: '3'") + quota_pod("")).pods, 3);
    const auto cpu = three_of(resource_quota("cpu: '2'", "cpu: 500m") + quota_pod("cpu: 700m"));
    EXPECT_EQ(cpu.pods, 2);
    EXPECT_EQ(cpu.words, "cpu 1900m of 2 used, 700m more needed");
    EXPECT_EQ(
        three_of(resource_quota("requests.memory: 1Gi", "requests.memory: '0'") + quota_pod("memory: 512Mi")).words,
        "requests.memory 1Gi of 1Gi used, 512Mi more needed");
    EXPECT_EQ(three_of(resource_quota("limits.cpu: '1'", "limits.cpu: '0'") + quota_pod("cpu: '1'")).pods, 1);
}

TEST(quotas, more_than_is_allowed_may_be_used) {
    EXPECT_EQ(three_of(resource_quota("pods: '2'", "pods: '5'") + quota_pod("")).pods, 0);
}

TEST(quotas, what_no_pod_counts_does_not_matter) {
    EXPECT_EQ(
        three_of(resource_quota("requests.nvidia.com/gpu: '0'", "requests.nvidia.com/gpu: '0'") + quota_pod("cpu: '1'"))
            .pods,
        3);
    EXPECT_EQ(
        three_of(resource_quota("nvidia.com/gpu: '0'", "nvidia.com/gpu: '0'") + quota_pod("nvidia.com/gpu: 1")).pods, 3)
        << "Kubernetes limits extended resources as requests. only";
    EXPECT_EQ(three_of(resource_quota("count/jobs.batch: '0'") + quota_pod("")).pods, 3);
    const std::string elsewhere =
        "---\nkind: ResourceQuota\nmetadata: {name: q, namespace: x}\nspec: {hard: {pods: '0'}}\n";
    EXPECT_EQ(three_of(elsewhere + quota_pod("")).pods, 3);
}

TEST(quotas, without_a_status_pods_are_counted) {
    const std::string done = quota_pod("nvidia.com/gpu: 1", "", "status: {phase: Succeeded}\n");
    const std::string runs = quota_pod("nvidia.com/gpu: 1", "", "status: {phase: Running}\n");
    EXPECT_EQ(
        three_of(resource_quota("requests.nvidia.com/gpu: '2'") + runs + done + quota_pod("nvidia.com/gpu: 1")).words,
        "requests.nvidia.com/gpu 2 of 2 used, 1 more needed");
    EXPECT_EQ(three_of(resource_quota("count/pods: '3'") + runs + done + quota_pod("")).pods, 1)
        << "those that have ended are there";
    EXPECT_EQ(three_of(resource_quota("pods: '3'") + runs + done + quota_pod("")).pods, 2);
}

TEST(quotas, what_is_admitted_is_used) {
    const auto all = objects(resource_quota("pods: '3'", "pods: '0'") + quota_pod(""));
    kube::quota_book book{all};
    EXPECT_EQ(book.admit(all.back(), 2).pods, 2);
    EXPECT_EQ(book.admit(all.back(), 2).pods, 1);
    EXPECT_EQ(book.admit(all.back(), 1).pods, 0);
}

TEST(quotas, containers_say_what_a_quota_demands) {
    const auto silent = three_of(resource_quota("requests.cpu: '9'", "requests.cpu: '0'") + quota_pod("memory: 1Gi"));
    EXPECT_EQ(silent.pods, 0);
    EXPECT_EQ(silent.words, "container m says no requests.cpu, which quota q demands");
    EXPECT_EQ(three_of(resource_quota("requests.cpu: '9'", "requests.cpu: '0'") + quota_pod("cpu: '1'")).pods, 3);
    EXPECT_EQ(three_of(resource_quota("requests.cpu: '9'", "requests.cpu: '0'") +
                       quota_pod("", "resources: {requests: {cpu: '1'}},"))
                  .pods,
              3)
        << "the pod says it of itself";
    EXPECT_EQ(three_of(resource_quota("requests.cpu: '9', memory: 9Gi", "requests.cpu: '0', memory: '0'") +
                       quota_pod("", "resources: {requests: {cpu: '1'}},"))
                  .pods,
              3)
        << "then no quota demands anything, of memory neither";
}

TEST(quotas, scopes_choose_pods) {
    const auto with_scope = [](const std::string& scope) { return resource_quota("pods: '0'", "pods: '0'", scope); };
    EXPECT_EQ(three_of(with_scope("scopes: [BestEffort],") + quota_pod("nvidia.com/gpu: 1")).pods, 0);
    EXPECT_EQ(three_of(with_scope("scopes: [BestEffort],") + quota_pod("cpu: '1'")).pods, 3);
    EXPECT_EQ(three_of(with_scope("scopes: [NotBestEffort],") + quota_pod("cpu: '1'")).pods, 0);
    EXPECT_EQ(three_of(with_scope("scopes: [NotBestEffort, Terminating],") + quota_pod("cpu: '1'")).pods, 3);
    EXPECT_EQ(three_of(with_scope("scopes: [Terminating],") + quota_pod("", "activeDeadlineSeconds: 9,")).pods, 0);
    EXPECT_EQ(three_of(with_scope("scopes: [NotTerminating],") + quota_pod("", "activeDeadlineSeconds: 9,")).pods, 3);
}

TEST(quotas, a_scope_of_priority_classes) {
    const auto of_class = [](const std::string& term) {
        return resource_quota("pods: '0'", "pods: '0'",
                              "scopeSelector: {matchExpressions: [{scopeName: PriorityClass, " + term + "}]},");
    };
    const std::string in_high = of_class("operator: In, values: [high]");
    EXPECT_EQ(three_of(in_high + quota_pod("", "priorityClassName: high,")).pods, 0);
    EXPECT_EQ(three_of(in_high + quota_pod("", "priorityClassName: low,")).pods, 3);
    EXPECT_EQ(three_of(of_class("operator: NotIn, values: [high]") + quota_pod("", "priorityClassName: low,")).pods, 0);
    EXPECT_EQ(three_of(of_class("operator: DoesNotExist") + quota_pod("")).pods, 0);
    EXPECT_EQ(three_of(of_class("operator: Exists") + quota_pod("")).pods, 3);
    const std::string standard = "---\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 5\nglobalDefault: true\n";
    EXPECT_EQ(three_of(standard + in_high + quota_pod("")).pods, 0) << "the class that pods have by default";
}

TEST(quotas, what_is_not_read_is_named) {
    const auto storage =
        three_of(resource_quota("requests.ephemeral-storage: 1Gi, pods: '9'", "pods: '0'") + quota_pod(""));
    EXPECT_EQ(storage.pods, 3);
    EXPECT_THAT(storage.not_looked_at, ElementsAre("requests.ephemeral-storage of ResourceQuota q"));
    const auto affinity =
        three_of(resource_quota("pods: '0'", "pods: '0'", "scopes: [CrossNamespacePodAffinity],") + quota_pod(""));
    EXPECT_EQ(affinity.pods, 3);
    EXPECT_THAT(affinity.not_looked_at, ElementsAre("ResourceQuota q, whose scope is CrossNamespacePodAffinity"));
    EXPECT_THAT(three_of(resource_quota("pods: '9'") + quota_pod("")).not_looked_at, IsEmpty());
}

TEST(quotas, a_shortage_is_an_error_of_the_pod) {
    const auto all = objects(resource_quota("pods: '0'", "pods: '0'") + quota_pod(""));
    const auto admission = kube::quota_book{all}.admit(all.back(), 1);
    ASSERT_TRUE(admission.short_of);
    EXPECT_EQ(error_of(*admission.short_of, all.back()).message(),
              "f.yaml:7: got 'pods 0 of 0 used, 1 more needed', expected a pod that ResourceQuota q admits");
}

} // namespace
