// Which added pods queues let in.
#include "vgpualloc/kube/queue_book.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace queue_book_test {
namespace {

using namespace vgpualloc::kube;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<manifest> read(const std::string& text) {
    auto objects = read_manifests(text, "f.yaml");
    EXPECT_TRUE(objects.has_value()) << objects.error().message();
    return objects ? *std::move(objects) : std::vector<manifest>{};
}

const std::string kueue = R"(apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: c}
spec: {namespaceSelector: {}, resourceGroups: [{flavors: [{name: f, resources: [{name: nvidia.com/gpu, nominalQuota: 4}]}]}]}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: q, namespace: ns}
spec: {clusterQueue: c}
)";
const std::string volcano = R"(apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: v}
spec: {capability: {nvidia.com/gpu: 4}}
status: {state: Open, allocated: {nvidia.com/gpu: 1}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: shut}
status: {state: Closed}
)";

std::string pod_template(int gpus) {
    return "{spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: " + std::to_string(gpus) + "}}}]}}";
}

std::string job(const std::string& name, int pods, const std::string& queue = "q") {
    return "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name +
           ", namespace: ns, labels: {kueue.x-k8s.io/queue-name: " + queue +
           "}}\nspec: {parallelism: " + std::to_string(pods) + ", template: " + pod_template(1) + "}\n";
}

std::string volcano_job(const std::string& name, int pods, int minimum, const std::string& queue) {
    return "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: " + name +
           ", namespace: ns}\nspec: {queue: " + queue + ", minAvailable: " + std::to_string(minimum) +
           ", tasks: [{name: a, replicas: 1, template: " + pod_template(1) +
           "}, {name: b, replicas: " + std::to_string(pods - 1) + ", template: " + pod_template(1) + "}]}\n";
}

/// How many pods of each object are let in, one after the other.
std::vector<std::int64_t> let_in(queue_book& book, const std::vector<manifest>& added) {
    std::vector<std::int64_t> pods;
    for (const manifest& object : added) pods.push_back(book.admit(object, object.replicas).pods);
    return pods;
}

TEST(queue_book, kueue_lets_a_workload_in_as_a_whole) {
    const auto objects = read(kueue);
    const auto added = read(job("a", 3) + job("b", 2) + job("d", 1));
    queue_book book{objects, added};
    EXPECT_THAT(let_in(book, added), ElementsAre(3, 0, 1)) << "b is passed over, and d takes the last one";
    const queue_admission refused = book.admit(added[1], 2);
    EXPECT_EQ(refused.queue, "queue q");
    EXPECT_EQ(refused.because, "insufficient unused quota for nvidia.com/gpu in flavor f, 1 more needed");
}

TEST(queue_book, all_roles_of_a_job_are_one_workload) {
    const auto objects = read(kueue);
    const auto role = [](int pods) {
        return "{replicas: " + std::to_string(pods) + ", template: " + pod_template(1) + "}";
    };
    const auto added = read("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: t, namespace: ns, labels: "
                            "{kueue.x-k8s.io/queue-name: q}}\nspec: {pytorchReplicaSpecs: {Master: " +
                            role(1) + ", Worker: " + role(4) + "}}\n" + job("a", 4));
    queue_book book{objects, added};
    EXPECT_THAT(let_in(book, added), ElementsAre(0, 0, 4));
}

TEST(queue_book, queues_that_are_not_there_are_told) {
    const auto added = read(job("a", 1, "gone"));
    const auto with_others = read(kueue);
    queue_book book{with_others, added};
    EXPECT_EQ(book.admit(added.front(), 1).because, "LocalQueue gone is not among the objects");
    queue_book without_any{{}, added};
    EXPECT_EQ(without_any.admit(added.front(), 1).pods, 1);
    EXPECT_THAT(without_any.not_looked_at(), ElementsAre("LocalQueue gone, which is not among the objects"));
}

TEST(queue_book, volcano_lets_in_as_many_pods_as_there_is_room_for_if_the_job_can_start) {
    const auto objects = read(volcano);
    const auto some = read(volcano_job("j", 5, 2, "v") + volcano_job("k", 2, 1, "v"));
    queue_book book{objects, some};
    EXPECT_THAT(let_in(book, some), ElementsAre(1, 2, 0, 0)) << "of 4 one is used";
    EXPECT_EQ(book.admit(some[1], 4).because, "nvidia.com/gpu 4 of 4 used, 1 more needed");
    const auto all = read(volcano_job("j", 5, 4, "v") + volcano_job("k", 2, 1, "v"));
    queue_book again{objects, all};
    EXPECT_THAT(let_in(again, all), ElementsAre(0, 0, 1, 1)) << "what does not start takes nothing";
    const auto elsewhere =
        read(volcano_job("j", 2, 1, "shut") + volcano_job("k", 2, 1, "gone") + volcano_job("l", 2, 1, "default"));
    queue_book others{objects, elsewhere};
    EXPECT_THAT(let_in(others, elsewhere), ElementsAre(0, 0, 0, 0, 1, 1)) << "Volcano makes the default queue itself";
    EXPECT_EQ(others.admit(elsewhere[0], 1).because, "it is closed");
    EXPECT_EQ(others.admit(elsewhere[2], 1).because, "it is not among the objects");
    EXPECT_THAT(others.not_looked_at(), IsEmpty());
}

TEST(queue_book, pods_without_a_queue_are_let_in) {
    const auto objects = read(kueue + "---\n" + volcano);
    const auto added = read("kind: Pod\nmetadata: {name: p, namespace: ns}\nspec: {containers: [{name: c, resources: "
                            "{limits: {nvidia.com/gpu: 9}}}]}\n---\nkind: Pod\nmetadata: {name: r, namespace: ns, "
                            "annotations: {scheduling.volcano.sh/queue-name: v}}\nspec: {schedulerName: volcano, "
                            "containers: [{name: c, resources: {limits: {nvidia.com/gpu: 9}}}]}\n");
    queue_book book{objects, added};
    EXPECT_THAT(let_in(book, added), ElementsAre(1, 0));
}

} // namespace
} // namespace queue_book_test
