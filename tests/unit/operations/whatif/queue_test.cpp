#include "vgpuops/whatif/queue.hpp"

#include <gtest/gtest.h>

#include "../clusters.hpp"
#include "vgpualloc/compat/all.hpp"

namespace {

using namespace cluster_test;
namespace whatif = vgpuops::whatif;

std::vector<std::string> order_of(const whatif::pod_queue& queue) {
    std::vector<std::string> names;
    for (const auto& unit : queue.units) {
        for (const std::size_t i : unit.entries) names.push_back(queue.pods[i].pod.name);
    }
    return names;
}

whatif::pod_queue queue_of(const std::string& text, const std::string& added = "") {
    return whatif::make_queue(snapshot_of(text), {}, objects(text), {}, objects(added));
}

whatif::queue_outcome placed(const std::string& text, const std::string& added = "") {
    auto state = snapshot_of(text);
    const auto queue = whatif::make_queue(state, {}, objects(text), {}, objects(added));
    const auto scorer = vgpualloc::make_policy("best_fit", {});
    vgpualloc::allocator decider{*state.book, {.node = scorer->get(), .device = scorer->get()}};
    return whatif::place_all(state, decider, queue, vgpualloc::pod_id{state.bound.size()});
}

TEST(whatif_queue, orders_by_priority_then_time_then_place) {
    const std::string text = card_node("a", 1) +
                             pod_object("late", 1, {.metadata = "creationTimestamp: '2026-01-02T00:00:00Z',"}) +
                             pod_object("early", 1, {.metadata = "creationTimestamp: '2026-01-01T00:00:00Z',"}) +
                             pod_object("timeless", 1) + pod_object("urgent", 1, {.spec = "priority: 5,"}) +
                             pod_object("classy", 1, {.spec = "priorityClassName: high,"}) +
                             "---\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 9\n";
    const std::vector<std::string> expected{"classy", "urgent", "early", "late", "timeless", "new"};
    EXPECT_EQ(order_of(queue_of(text, pod_object("new", 1))), expected);
}

TEST(whatif_queue, takes_the_minimum_of_a_pod_group_less_what_runs) {
    const std::string group = "scheduling.k8s.io/group-name: g,";
    const std::string text = card_node("a", 1) + pod_object("p0", 1, {.annotations = group}) +
                             pod_object("p1", 1, {.annotations = group}) +
                             pod_object("r", 1, {.annotations = group, .spec = "nodeName: a,"});
    EXPECT_EQ(queue_of(text).units[0].minimum, 2); // without a PodGroup: all that wait
    const std::string with_group = "---\nkind: PodGroup\nmetadata: {name: g, namespace: ns}\nspec: {minMember: 2}\n";
    EXPECT_EQ(queue_of(text + with_group).units[0].minimum, 1);
    ASSERT_EQ(queue_of(text + with_group).units.size(), 1U);
}

const std::string gang_of_three = R"(---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, namespace: ns}
spec:
  minAvailable: 3
  schedulerName: volcano
  tasks:
  - {name: w, replicas: 3, template: {spec: {containers: [{name: m, resources: {limits: {volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: 40000}}}]}}}
)";

TEST(whatif_queue, a_gang_starts_together_or_not_at_all) {
    const auto none = placed(card_node("a", 2), gang_of_three);
    EXPECT_EQ(none.placed, 0);
    EXPECT_EQ(none.refused, 3);
    EXPECT_EQ(none.entries[0].gang_fitting, 2);
    EXPECT_EQ(placed(card_node("a", 3), gang_of_three).placed, 3);
}

TEST(whatif_queue, what_a_gang_gave_back_goes_to_the_next_pod) {
    EXPECT_EQ(placed(card_node("a", 2), gang_of_three + pod_object("single", 40000)).placed, 1);
}

TEST(whatif_queue, alike_pods_stop_at_the_first_that_finds_no_place) {
    const std::string many =
        "---\nkind: Deployment\napiVersion: apps/v1\nmetadata: {name: d, namespace: ns}\nspec: {replicas: 1000000000, "
        "template: {spec: {containers: [{name: m, resources: {limits: {volcano.sh/vgpu-number: 1, "
        "volcano.sh/vgpu-memory: 20000}}}]}}}\n";
    const auto outcome = placed(card_node("a", 2), many);
    EXPECT_EQ(outcome.placed, 4);
    EXPECT_EQ(outcome.refused, 999'999'996);
    EXPECT_EQ(outcome.entries[0].reasons.main_code(), vgpualloc::rejection_code::insufficient_device_memory);
}

TEST(whatif_queue, a_daemon_goes_once_to_every_node_that_takes_it) {
    const std::string daemon =
        "---\nkind: DaemonSet\napiVersion: apps/v1\nmetadata: {name: d}\nspec: {template: {spec: {containers: "
        "[{name: m, resources: {limits: {volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: 30000}}}]}}}\n";
    const auto outcome =
        placed(card_node("a", 2) + card_node("b", 1) + card_node("c", 1) + running_pod("r", "b", 0, 20000), daemon);
    EXPECT_EQ(outcome.placed, 2);
    EXPECT_EQ(outcome.refused, 0);
}

TEST(whatif_queue, a_pod_that_cannot_be_read_is_refused_with_its_error) {
    const auto queue = queue_of(card_node("a", 1) + pod_object("odd", -3));
    ASSERT_TRUE(queue.pods[0].unreadable.has_value());
    EXPECT_EQ(placed(card_node("a", 1) + pod_object("odd", -3)).refused, 1);
}

TEST(whatif_queue, roles_of_a_workload_start_together_only_where_its_framework_says_so) {
    const std::string pods = "template: {spec: {containers: [{name: c, resources: {limits: {volcano.sh/vgpu-number: 1, "
                             "volcano.sh/vgpu-memory: 40960}}}]}}";
    const auto training_job = [&pods](const std::string& policy) {
        return "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: t, namespace: ns}\nspec: {" + policy +
               " pytorchReplicaSpecs: {Master: {" + pods + "}, Worker: {replicas: 2, " + pods + "}}}\n";
    };
    EXPECT_EQ(placed(card_node("a", 2), training_job("")).placed, 2);
    const std::string all = "runPolicy: {schedulingPolicy: {minAvailable: 3}},";
    EXPECT_EQ(placed(card_node("a", 2), training_job(all)).placed, 0);
    EXPECT_EQ(placed(card_node("a", 3), training_job(all)).placed, 3);
}

std::string pods_quota(int most, int used) {
    return "---\nkind: ResourceQuota\nmetadata: {name: q, namespace: ns}\nspec: {hard: {pods: '" +
           std::to_string(most) + "'}}\nstatus: {hard: {pods: '" + std::to_string(most) + "'}, used: {pods: '" +
           std::to_string(used) + "'}}\n";
}

TEST(whatif_queue, a_quota_admits_what_is_added_in_its_order) {
    const std::string deployment =
        "---\nkind: Deployment\napiVersion: apps/v1\nmetadata: {name: d, namespace: ns}\nspec: {replicas: 3, template: "
        "{spec: {containers: [{name: m, resources: {limits: {volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: "
        "100}}}]}}}\n";
    const std::string waits = pod_object("waits", 100);
    const auto queue = queue_of(card_node("a", 2) + pods_quota(3, 1) + waits,
                                deployment + pod_object("next", 100, {.spec = "priority: 9,"}));
    ASSERT_EQ(queue.pods.size(), 3U);
    EXPECT_EQ(queue.pods[0].held, 0) << "what waits has passed its quota";
    EXPECT_EQ(queue.pods[1].count, 2);
    EXPECT_EQ(queue.pods[1].held, 1);
    ASSERT_TRUE(queue.pods[1].short_of);
    EXPECT_EQ(words_of(*queue.pods[1].short_of), "pods 3 of 3 used, 1 more needed");
    EXPECT_EQ(queue.pods[2].count, 0) << "the file's order counts, not the priority";
    EXPECT_EQ(queue.pods[2].held, 1);
    const auto outcome = placed(card_node("a", 2) + pods_quota(3, 1), deployment);
    EXPECT_EQ(outcome.placed, 2);
    EXPECT_EQ(outcome.refused, 0) << "no node refuses what is not made";
}

TEST(whatif_queue, a_gang_that_a_quota_cuts_does_not_start) {
    EXPECT_EQ(placed(card_node("a", 3) + pods_quota(3, 0), gang_of_three).placed, 3);
    EXPECT_EQ(placed(card_node("a", 3) + pods_quota(3, 1), gang_of_three).placed, 0);
}

TEST(whatif_queue, a_quota_counts_a_daemon_for_every_node_that_its_rules_admit) {
    const std::string daemon =
        "---\nkind: DaemonSet\napiVersion: apps/v1\nmetadata: {name: d, namespace: ns}\nspec: {template: {spec: "
        "{nodeSelector: {kubernetes.io/os: linux}, containers: [{name: m}]}}}\n";
    std::string linux_nodes = card_node("a", 1) + card_node("b", 1);
    for (auto at = linux_nodes.find("labels: {"); at != std::string::npos;
         at = linux_nodes.find("labels: {", at + 20)) {
        linux_nodes.insert(at + 9, "kubernetes.io/os: linux, ");
    }
    const std::string text = linux_nodes + card_node("other", 1) + pods_quota(1, 0);
    const auto queue = queue_of(text, daemon);
    EXPECT_EQ(queue.pods[0].held, 1) << "two nodes are linux, and one pod is admitted";
    EXPECT_EQ(placed(text, daemon).placed, 1);
}

} // namespace
