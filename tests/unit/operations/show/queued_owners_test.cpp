// Owners that Kueue or Volcano has not let in, and pods that wait for a queue, in `show`, `why` and `whatif`.
#include <algorithm>
#include <tuple>

#include <gtest/gtest.h>

#include "../clusters.hpp"
#include "vgpuops/show/overview.hpp"
#include "vgpuops/whatif/answer.hpp"
#include "vgpuops/why/pod.hpp"
#include "vgpuops/why/waiting.hpp"

namespace queued_owner_objects { // names that other tests have as well
namespace {

using namespace cluster_test;
namespace show = vgpuops::show;
namespace why = vgpuops::why;

/// A Workload of pods with one whole card each.
std::string workload(const std::string& owner, int pods, const std::string& status = "", const std::string& spec = "") {
    return "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: Workload\nmetadata: {name: wl, namespace: ns, "
           "ownerReferences: [" +
           owner + "]}\nspec: {" + spec + " queueName: q, podSets: [{name: main, count: " + std::to_string(pods) +
           ", template: {spec: {containers: [{name: c, resources: {limits: {volcano.sh/vgpu-number: 1, "
           "volcano.sh/vgpu-memory: 40960}}}]}}}]}\nstatus: {" +
           status + "}\n";
}
const std::string job = "{kind: Job, name: train, controller: true}";

std::string queues(const std::string& flavors, const std::string& reserved = "", const std::string& more = "") {
    return "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: q, namespace: ns}\nspec: "
           "{clusterQueue: c}\n---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: c}\nspec: "
           "{namespaceSelector: {}, " +
           more + " resourceGroups: [{flavors: [" + flavors + "]}]}\nstatus: {flavorsReservation: [" + reserved +
           "]}\n";
}

std::string flavor(const std::string& name, const std::string& field, int amount) {
    const std::string of_memory = "{name: volcano.sh/vgpu-memory, " + field + ": 999999}";
    return "{name: " + name + ", resources: [{name: volcano.sh/vgpu-number, " + field + ": " + std::to_string(amount) +
           "}, " + (field == "total" ? "{name: volcano.sh/vgpu-memory, total: 0}" : of_memory) + "]}";
}

std::vector<show::held_job> held(const std::string& text) {
    const auto seen = show::overview_of(objects(card_node("a", 4) + text), {});
    EXPECT_TRUE(seen.has_value()) << seen.error().message();
    return seen ? seen->makes_no_pods : std::vector<show::held_job>{};
}

/// Why the one owner makes no pods.
std::string because(const std::string& text) {
    const auto owners = held(text);
    EXPECT_EQ(owners.size(), 1U) << text;
    return owners.empty() ? "" : owners.front().because;
}

TEST(show_queued_owners, a_workload_without_quota_holds_its_owner_back_in_kueues_words) {
    const std::string status = "conditions: [{type: QuotaReserved, status: 'False', message: \"couldn't assign flavors "
                               "to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a100, 4 more "
                               "needed\"}]";
    const auto owners = held(workload(job, 4, status));
    ASSERT_EQ(owners.size(), 1U);
    EXPECT_EQ(owners[0].name, "ns/train");
    EXPECT_EQ(owners[0].kind, "Job");
    EXPECT_EQ(owners[0].why, show::verdict::queue);
    EXPECT_EQ(owners[0].asked, 4000) << "GPUs that it asks for";
    EXPECT_EQ(owners[0].because, "insufficient unused quota for nvidia.com/gpu in flavor a100, 4 more needed");
    const auto other = held(workload("{kind: RayJob, name: r, controller: true}", 1));
    ASSERT_EQ(other.size(), 1U);
    EXPECT_EQ(other[0].kind, "RayJob");
}

TEST(show_queued_owners, what_kueue_does_not_say_is_computed_from_its_cluster_queue) {
    EXPECT_EQ(because(workload(job, 4) + queues(flavor("a100", "nominalQuota", 8), flavor("a100", "total", 6))),
              "insufficient unused quota for volcano.sh/vgpu-number in flavor a100, 2 more needed");
    EXPECT_EQ(because(workload(job, 4) + queues(flavor("a100", "nominalQuota", 3))),
              "insufficient quota for volcano.sh/vgpu-number in flavor a100, request > maximum capacity (4 > 3)");
    EXPECT_EQ(because(workload(job, 4) + queues(flavor("a100", "nominalQuota", 3), "", "cohort: all,")),
              "insufficient quota for volcano.sh/vgpu-number in flavor a100, request > maximum capacity (4 > 3)");
    const std::string two = flavor("a100", "nominalQuota", 3) + ", " + flavor("l40s", "nominalQuota", 4);
    EXPECT_EQ(because(workload(job, 4) + queues(two)), "ClusterQueue c has the quota; Kueue has not reserved it")
        << "the second flavor has it";
    EXPECT_EQ(because(workload(job, 4) + queues("{name: x, resources: [{name: cpu, nominalQuota: 9}]}")),
              "resource volcano.sh/vgpu-memory unavailable in ClusterQueue");
    EXPECT_EQ(because(workload(job, 4) + queues(flavor("a100", "nominalQuota", 9), "", "stopPolicy: Hold,")),
              "ClusterQueue c is stopped (Hold)");
    EXPECT_EQ(because(workload(job, 4)), "LocalQueue q is not among the objects");
    EXPECT_EQ(because(workload(job, 4, "", "active: false,")), "Workload wl is not active");
    EXPECT_EQ(because(workload(job, 4,
                               "conditions: [{type: QuotaReserved, status: 'True'}], admissionChecks: [{name: "
                               "p, state: Pending}]")),
              "quota is reserved; not ready: admission check p");
}

TEST(show_queued_owners, one_that_has_pods_or_was_let_in_or_asks_for_no_device_is_not_held_back) {
    EXPECT_EQ(held(workload(job, 1)).size(), 1U);
    EXPECT_TRUE(held(workload(job, 1, "conditions: [{type: Admitted, status: 'True'}]")).empty());
    EXPECT_TRUE(held(workload(job, 1, "conditions: [{type: Finished, status: 'True'}]")).empty());
    EXPECT_TRUE(held(workload("{kind: Pod, name: p}", 1)).empty()) << "the pods are there and have gates";
    const std::string metadata = "ownerReferences: [" + job + "],";
    EXPECT_TRUE(held(workload(job, 1) + pod_object("p", 1000, {.metadata = metadata})).empty());
    std::string without = workload(job, 1);
    without.replace(without.find("volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: 40960"), 56, "cpu: 1");
    EXPECT_TRUE(held(without).empty());
}

TEST(show_queued_owners, show_and_why_say_so) {
    const auto all = objects(card_node("a", 4) + workload(job, 4));
    const auto seen = show::overview_of(all, {});
    const auto waiting = why::waiting_of(all, {});
    ASSERT_TRUE(seen.has_value() && waiting.has_value());
    EXPECT_NE(show::overview_text(*seen).find("1 Job makes no pods: queue."), std::string::npos)
        << show::overview_text(*seen);
    const std::string table = why::waiting_text(*waiting);
    EXPECT_TRUE(table.starts_with("No pod waits. 1 Job makes no pods.\n")) << table;
    EXPECT_NE(table.find("queue       -   4.0  ns/train Job  LocalQueue q is not among the objects"), std::string::npos)
        << table;
    for (const char* const name : {"ns/train", "train"}) {
        const auto answered = why::pod_of(all, {}, name);
        ASSERT_TRUE(answered.has_value()) << answered.error().message();
        const std::string text = why::pod_text(*answered, {});
        EXPECT_TRUE(text.starts_with("ns/train (Job) makes no pods, queue: LocalQueue q is not among the objects.\n"))
            << text;
        EXPECT_NE(why::pod_json(*answered, {}).find(R"("verdict": "queue")"), std::string::npos);
    }
    EXPECT_FALSE(why::pod_of(all, {}, "other").has_value());
}

/// A group of pods that fit, in a queue of Volcano.
std::string group_in(const std::string& phase, const std::string& used = "8") {
    return "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: research}\nspec: "
           "{capability: "
           "{volcano.sh/vgpu-number: 8}}\nstatus: {allocated: {volcano.sh/vgpu-number: '" +
           used +
           "'}}\n---\napiVersion: "
           "scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: g, namespace: ns, ownerReferences: [{kind: "
           "Job, name: train, controller: true}]}\nspec: {minMember: 1, queue: research}\nstatus: {phase: " +
           phase + "}\n";
}
const std::string of_group = pod_object("p", 1000, {.annotations = "scheduling.k8s.io/group-name: g,"});
const std::string shortage = "queue research: volcano.sh/vgpu-number 8 of 8 used, 1 more needed";

TEST(show_queued_owners, pods_of_a_pending_pod_group_wait_for_their_queue) {
    const auto held_back = objects(card_node("a", 4) + group_in("Pending") + of_group);
    const auto waiting = why::waiting_of(held_back, {});
    ASSERT_TRUE(waiting.has_value());
    ASSERT_EQ(waiting->groups.size(), 1U);
    EXPECT_EQ(waiting->groups[0].verdict, show::verdict::queue);
    EXPECT_EQ(waiting->groups[0].because, shortage + "; fits without it");
    const std::vector<std::string> expected{"shares and reclaiming of Queue: research"};
    EXPECT_EQ(std::vector<std::string>(waiting->not_looked_at.end() - 1, waiting->not_looked_at.end()), expected);
    const auto one = why::pod_of(held_back, {}, "ns/p");
    ASSERT_TRUE(one.has_value());
    ASSERT_EQ(one->changes.size(), 1U);
    EXPECT_EQ(one->changes[0].what, "its queue lets it in");
    const auto let_in = why::waiting_of(objects(card_node("a", 4) + group_in("Inqueue", "7") + of_group), {});
    ASSERT_TRUE(let_in.has_value());
    EXPECT_EQ(let_in->groups[0].verdict, show::verdict::fits_now);
    const auto full = why::waiting_of(objects(card_node("a", 4) + group_in("Inqueue") + of_group), {});
    ASSERT_TRUE(full.has_value());
    EXPECT_EQ(full->groups[0].because, shortage + "; fits without it");
}

TEST(show_queued_owners, whatif_does_not_start_what_a_queue_holds_back) {
    const vgpuops::whatif::question question{.policy = "best_fit"};
    for (const auto& [phase, used, placed] :
         {std::tuple{"Pending", "8", 0}, {"Pending", "7", 0}, {"Inqueue", "8", 0}, {"Inqueue", "7", 1}}) {
        const auto answer =
            vgpuops::whatif::answer_of(objects(card_node("a", 4) + group_in(phase, used) + of_group), {}, question);
        ASSERT_TRUE(answer.has_value()) << answer.error().message();
        EXPECT_EQ(answer->placed, placed) << phase << used;
    }
}

TEST(show_queued_owners, a_volcano_job_whose_pod_group_is_pending_makes_no_pods) {
    const std::string volcano_job =
        "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: train, "
        "namespace: ns}\nspec: {tasks: [{replicas: 2, template: {spec: {containers: [{name: "
        "c, resources: {limits: {volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: "
        "40960}}}]}}}]}\n";
    const auto owners = held(group_in("Pending") + volcano_job);
    ASSERT_EQ(owners.size(), 1U);
    EXPECT_EQ(owners[0].name + " " + owners[0].kind, "ns/train Job");
    EXPECT_EQ(owners[0].asked, 2000);
    EXPECT_EQ(owners[0].because, "queue research has not let PodGroup g in");
    EXPECT_TRUE(held(group_in("Inqueue") + volcano_job).empty());
}

} // namespace
} // namespace queued_owner_objects
