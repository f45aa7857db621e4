#include "vgpualloc/kube/queues.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/kube/mobility.hpp"
#include "vgpualloc/kube/snapshot.hpp"

namespace queue_objects { // names that other tests have as well
namespace {

using namespace vgpualloc::kube;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

std::vector<manifest> read(const std::string& text) {
    auto objects = read_manifests(text, "f.yaml");
    EXPECT_TRUE(objects.has_value()) << objects.error().message();
    return objects ? *std::move(objects) : std::vector<manifest>{};
}

queue_facts facts_of(const std::string& text) {
    const auto objects = read(text);
    EXPECT_THAT(objects, SizeIs(1));
    EXPECT_TRUE(objects.front().queueing);
    return objects.front().queueing ? *objects.front().queueing : queue_facts{};
}

const std::string workload = R"(apiVersion: kueue.x-k8s.io/v1beta1
kind: Workload
metadata:
  name: job-train
  namespace: ns
  creationTimestamp: '2026-11-25T13:00:00Z'
  ownerReferences: [{kind: Job, name: train, controller: true}]
spec:
  queueName: user-queue
  podSets: [{name: main, count: 3, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 500m},
    limits: {nvidia.com/gpu: 2}}}]}}}]
)";

TEST(queues, a_workload_says_whether_it_is_let_in_and_why_not) {
    const auto waits = facts_of(workload + "status: {conditions: [{type: QuotaReserved, status: 'False', message: none "
                                           "left}, {type: Admitted, status: 'False', message: later}]}\n");
    EXPECT_EQ(waits.queue, "user-queue");
    EXPECT_FALSE(waits.has_quota);
    EXPECT_FALSE(waits.is_let_in);
    EXPECT_EQ(waits.message, "none left");
    ASSERT_THAT(waits.pod_sets, SizeIs(1));
    EXPECT_EQ(waits.pod_sets.front().replicas, 3);
    const auto checked = facts_of(
        workload + "status: {conditions: [{type: QuotaReserved, status: 'True', message: reserved}], admissionChecks: "
                   "[{name: a, state: Ready}, {name: b, state: Pending}]}\n");
    EXPECT_TRUE(checked.has_quota);
    EXPECT_FALSE(checked.is_let_in);
    EXPECT_EQ(checked.message, "");
    EXPECT_THAT(checked.checks_open, ElementsAre("b"));
    const auto runs = facts_of(workload + "status: {conditions: [{type: Admitted, status: 'True'}]}\n");
    EXPECT_TRUE(runs.is_let_in);
    EXPECT_THAT(runs.pod_sets, IsEmpty()) << "its pods are objects of their own";
    EXPECT_TRUE(facts_of(workload + "status: {conditions: [{type: Finished, status: 'True'}]}\n").has_ended);
    const auto object = read(workload).front();
    EXPECT_EQ(object.controller + " " + object.controller_name, "Job train");
    EXPECT_EQ(object.created, "2026-11-25T13:00:00Z");
}

TEST(queues, a_cluster_queue_has_flavors_in_their_order_and_what_is_reserved) {
    const auto facts = facts_of(R"(apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: c}
spec:
  cohortName: all
  stopPolicy: Hold
  resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: z, resources: [{name: nvidia.com/gpu,
    nominalQuota: 8}]}, {name: a, resources: [{name: nvidia.com/gpu, nominalQuota: '4'}]}]}]
status: {flavorsReservation: [{name: z, resources: [{name: nvidia.com/gpu, total: '6', borrowed: '0'}]}]}
)");
    EXPECT_EQ(facts.cohort, "all");
    EXPECT_EQ(facts.stopped, "Hold");
    const std::vector<flavor_amounts> quota{{.flavor = "z", .amounts = {{"nvidia.com/gpu", "8"}}},
                                            {.flavor = "a", .amounts = {{"nvidia.com/gpu", "4"}}}};
    EXPECT_EQ(facts.quota, quota);
    EXPECT_EQ(facts.reserved, (std::vector<flavor_amounts>{{.flavor = "z", .amounts = {{"nvidia.com/gpu", "6"}}}}));
}

TEST(queues, kinds_of_other_groups_say_nothing_of_queues) {
    EXPECT_FALSE(read("apiVersion: example.com/v1\nkind: Workload\nmetadata: {name: w}\n").front().queueing);
    const auto group = read("apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\n"
                            "spec: {minMember: 3}\nstatus: {phase: Pending}\n")
                           .front();
    EXPECT_EQ(group.min_available, 3);
    EXPECT_FALSE(group.queueing);
}

TEST(queues, objects_with_other_queues_say_something_else) {
    const auto group = [](const std::string& queue) {
        return read("kind: PodGroup\nmetadata: {name: g}\nspec: {queue: " + queue + "}\n").front();
    };
    EXPECT_TRUE(group("a").says_the_same_as(group("a")));
    EXPECT_FALSE(group("a").says_the_same_as(group("b")));
    EXPECT_TRUE(read(workload).front().says_the_same_as(read(workload).front()));
    std::string more = workload;
    more.replace(more.find("count: 3"), 8, "count: 4");
    EXPECT_FALSE(read(workload).front().says_the_same_as(read(more).front()));
}

TEST(queues, amounts_of_pods_are_added_as_kubernetes_counts_them) {
    const auto pod =
        read("kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, resources: {limits: {x.y/g: 2, "
             "cpu: 1500m, memory: 1Gi}}}, {name: b, resources: {limits: {x.y/g: 1}}}], initContainers: "
             "[{name: i, resources: {limits: {x.y/g: 4}}}]}\n")
            .front();
    resource_amounts sum;
    add_pods(pod, 2, sum);
    EXPECT_EQ(sum, (resource_amounts{{"cpu", 3000}, {"memory", 2147483648}, {"pods", 2}, {"x.y/g", 8}}));
    EXPECT_THAT(devices_first(sum), ElementsAre("x.y/g", "cpu", "memory", "pods"));
    EXPECT_EQ(queue_amount_words("cpu", 12500), "12.5");
    EXPECT_EQ(queue_amount_words("cpu", 4000), "4");
    EXPECT_EQ(queue_amount_words("memory", 68719476736), "64 GiB");
    EXPECT_EQ(queue_amount_words("x.y/g", 8), "8");
    EXPECT_EQ(amount_of("cpu", "1.5").value(), 1500);
}

std::string volcano(const std::string& phase, const std::string& queue_status, const std::string& least = "") {
    return "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: research}\nspec: "
           "{capability: {nvidia.com/gpu: 8, cpu: 64}}\nstatus: {" +
           queue_status +
           "}\n---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: g, namespace: ns}\n"
           "spec: {minMember: 1, queue: research" +
           least + "}\nstatus: {phase: " + phase + "}\n";
}

std::string pod(const std::string& name, const std::string& group, int gpus, const std::string& node = "") {
    return "---\nkind: Pod\nmetadata: {name: " + name +
           ", namespace: ns, annotations: {scheduling.k8s.io/group-name: " + group + "}}\nspec: {" +
           (node.empty() ? "" : "nodeName: " + node + ", ") +
           "containers: [{name: c, resources: {limits: {nvidia.com/gpu: " + std::to_string(gpus) + "}}}]}\n";
}

MATCHER_P(holds, because, "") { return arg.because == because; }

TEST(queues, a_pending_pod_group_names_what_its_queue_lacks) {
    const auto of_status = read(volcano("Pending", "allocated: {nvidia.com/gpu: '8'}") + pod("p", "g", 2));
    EXPECT_THAT(groups_held_back(of_status),
                ElementsAre(Pair("ns/g", holds("queue research: nvidia.com/gpu 8 of 8 used, 2 more needed"))));
    const auto of_group =
        read(volcano("Pending", "allocated: {nvidia.com/gpu: '6', cpu: '60'}", ", minResources: {cpu: '8'}"));
    EXPECT_THAT(groups_held_back(of_group),
                ElementsAre(Pair("ns/g", holds("queue research: cpu 60 of 64 used, 4 more needed"))));
    // Nobody says what is allocated: what the pods of its groups have that run.
    const std::string other = "---\nkind: PodGroup\nmetadata: {name: o, namespace: ns}\nspec: {queue: research, "
                              "minResources: {nvidia.com/gpu: 7}}\n";
    const auto of_pods = read(volcano("Pending", "") + other + pod("p", "g", 2) + pod("r", "o", 7, "n1"));
    EXPECT_THAT(groups_held_back(of_pods),
                ElementsAre(Pair("ns/g", holds("queue research: nvidia.com/gpu 7 of 8 used, 1 more needed"))));
    EXPECT_THAT(groups_held_back(read(volcano("Pending", "state: Closed"))),
                ElementsAre(Pair("ns/g", holds("queue research is closed"))));
    EXPECT_THAT(groups_held_back(read(volcano("Pending", ""))),
                ElementsAre(Pair("ns/g", holds("queue research has not let PodGroup g in"))));
    for (const char* const phase : {"Inqueue", "Running", "Unknown", "''"}) {
        EXPECT_THAT(groups_held_back(read(volcano(phase, ""))), IsEmpty()) << phase;
    }
}

/// Volcano's allocate asks the queue for each pod of a group that it has let in. What is more than nodes have is for
/// the nodes.
TEST(queues, a_pod_group_that_is_let_in_starts_no_pod_beyond_the_capability_of_its_queue) {
    const auto held = [](const std::string& text) { return groups_held_back(read(text)); };
    const auto starts = [&](const std::string& text) { return held(text).at("ns/g").starting; };
    const std::string used = "allocated: {nvidia.com/gpu: '5'}";
    const std::string inqueue = volcano("Inqueue", used);
    EXPECT_THAT(held(inqueue + pod("p", "g", 4)),
                ElementsAre(Pair("ns/g", holds("queue research: nvidia.com/gpu 5 of 8 used, 1 more needed"))));
    EXPECT_THAT(held(inqueue + pod("p", "g", 3)), IsEmpty());
    EXPECT_EQ(starts(inqueue + pod("p", "g", 4)), 0);
    EXPECT_EQ(starts(inqueue + pod("p", "g", 1) + pod("q", "g", 1) + pod("r", "g", 1) + pod("s", "g", 1)), 3);
    std::string gang = inqueue;
    gang.replace(gang.find("minMember: 1"), 12, "minMember: 2");
    EXPECT_THAT(held(gang + pod("p", "g", 2) + pod("q", "g", 2)),
                ElementsAre(Pair("ns/g", holds("queue research: nvidia.com/gpu 5 of 8 used, 1 more needed"))));
    EXPECT_EQ(starts(gang + pod("p", "g", 2) + pod("q", "g", 2)), 0);
    EXPECT_THAT(held(gang + pod("p", "g", 2) + pod("r", "g", 2, "n1")), IsEmpty()) << "one runs already";
    const std::string ended = "status: {phase: Succeeded}\n";
    EXPECT_THAT(held(gang + pod("p", "g", 2) + pod("r", "g", 2, "n1") + ended), IsEmpty()) << "one has run";
    EXPECT_THAT(held(volcano("Running", "state: Closed") + pod("p", "g", 1)),
                ElementsAre(Pair("ns/g", holds("queue research is closed"))));
    // A queue without a capability, on nodes that are full: no matter of the queue, which grows with the nodes.
    std::string unlimited = inqueue;
    unlimited.replace(unlimited.find("{capability: {nvidia.com/gpu: 8, cpu: 64}}"), 42, "{weight: 1}");
    const std::string node =
        "---\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '8', memory: 8Gi, pods: 9, "
        "nvidia.com/gpu: '5'}}\n";
    EXPECT_THAT(held(unlimited + node + pod("p", "g", 4)), IsEmpty());
    // A gate is not the queue's.
    const std::string gated =
        "---\nkind: Pod\nmetadata: {name: x, namespace: ns, annotations: {scheduling.k8s.io/group-name: g}}\n"
        "spec: {schedulingGates: [{name: a/b}], containers: [{name: c, resources: {limits: {nvidia.com/gpu: 4}}}]}\n";
    EXPECT_THAT(held(inqueue + gated), IsEmpty());
}

/// Volcano takes a group without a phase as one that waits.
TEST(queues, a_pod_group_without_a_phase_waits_for_a_queue_that_would_not_let_it_in) {
    const std::string least = ", minResources: {nvidia.com/gpu: 4}";
    EXPECT_THAT(groups_held_back(read(volcano("''", "allocated: {nvidia.com/gpu: '6'}", least) + pod("p", "g", 1))),
                ElementsAre(Pair("ns/g", holds("queue research: nvidia.com/gpu 6 of 8 used, 2 more needed"))));
}

TEST(queues, a_snapshot_holds_back_the_pods_of_such_a_group) {
    const std::string node = "kind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '8', memory: 8Gi, pods: 9, "
                             "nvidia.com/gpu: '8'}}\n";
    const std::string queue = volcano("Pending", "allocated: {nvidia.com/gpu: '8'}");
    const auto state = make_snapshot(read(node + queue + pod("p", "g", 2) + pod("q", "other", 2)), {});
    ASSERT_TRUE(state.has_value());
    ASSERT_THAT(state->pending, SizeIs(2));
    const auto held = why_held_back(state->pending[0]);
    ASSERT_TRUE(held.has_value());
    EXPECT_THAT(held->message(), HasSubstr("queue research: nvidia.com/gpu 8 of 8 used, 2 more needed"));
    EXPECT_FALSE(why_held_back(state->pending[1]));
}

} // namespace
} // namespace queue_objects
