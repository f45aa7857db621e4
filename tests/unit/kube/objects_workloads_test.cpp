// Workloads of frameworks are read as their pods: a manifest for each role.
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/kube/objects.hpp"

namespace workload_objects { // names that other tests have as well
namespace {

using namespace vgpualloc::kube;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string pods = "template: {spec: {containers: [{name: m, resources: {limits: {nvidia.com/gpu: 2}}}]}}";

std::vector<manifest> read(const std::string& kind, const std::string& spec) {
    auto objects = read_manifests(kind + "\nmetadata: {name: w, namespace: ns}\nspec: " + spec + "\n", "f.yaml");
    EXPECT_TRUE(objects.has_value()) << objects.error().message();
    return objects ? *std::move(objects) : std::vector<manifest>{};
}

/// Names and numbers of pods, as "w/Master x1".
std::vector<std::string> roles(const std::vector<manifest>& objects) {
    std::vector<std::string> words;
    for (const manifest& object : objects) {
        EXPECT_THAT(object.problems, IsEmpty()) << object.problems.front().message();
        const bool is_read = object.pod && object.pod->containers.size() == 1 &&
                             object.pod->containers.front().limits.contains("nvidia.com/gpu");
        words.push_back(object.name + " x" + std::to_string(object.replicas) + (is_read ? "" : " without pod"));
    }
    return words;
}

TEST(objects_workloads, training_jobs_of_kubeflow_have_roles) {
    for (const auto& [kind, field] : {std::pair{"PyTorchJob", "pytorchReplicaSpecs"},
                                      {"TFJob", "tfReplicaSpecs"},
                                      {"MPIJob", "mpiReplicaSpecs"},
                                      {"XGBoostJob", "xgbReplicaSpecs"},
                                      {"PaddleJob", "paddleReplicaSpecs"},
                                      {"JAXJob", "jaxReplicaSpecs"}}) {
        const std::string head = std::string{"apiVersion: kubeflow.org/v1\nkind: "} + kind;
        const auto objects =
            read(head, std::string{"{"} + field + ": {Master: {" + pods + "}, Worker: {replicas: 3, " + pods + "}}}");
        EXPECT_THAT(roles(objects), ElementsAre("w/Master x1", "w/Worker x3")) << kind;
        EXPECT_TRUE(has_roles(objects.front()));
        EXPECT_FALSE(starts_together(objects.front())) << "no scheduler of gangs is named";
    }
}

TEST(objects_workloads, a_training_job_is_a_gang_where_it_says_so_or_its_scheduler_starts_gangs) {
    const std::string head = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob";
    const std::string workers = "pytorchReplicaSpecs: {Master: {" + pods + "}, Worker: {replicas: 3, " + pods + "}}";
    const auto written = read(head, "{runPolicy: {schedulingPolicy: {minAvailable: 2}}, " + workers + "}");
    EXPECT_EQ(written.front().min_available, 2);
    EXPECT_TRUE(starts_together(written.front()));
    std::string of_volcano = workers;
    const std::string spec = "spec: {";
    of_volcano.insert(of_volcano.rfind(spec) + spec.size(), "schedulerName: volcano, ");
    EXPECT_EQ(read(head, "{" + of_volcano + "}").front().min_available, 4) << "all of them";
    EXPECT_EQ(read(head, "{" + workers + "}").front().min_available, 0);
}

TEST(objects_workloads, ray_clusters_have_a_head_and_groups_of_workers) {
    const std::string cluster = "{headGroupSpec: {" + pods + "}, workerGroupSpecs: [{groupName: big, replicas: 2, " +
                                "numOfHosts: 4, " + pods + "}, {minReplicas: 3, " + pods +
                                "}, {groupName: capped, replicas: 9, maxReplicas: 5, " + pods +
                                "}, {groupName: idle, replicas: 9, suspend: true, " + pods + "}]}";
    const auto expected = ElementsAre("w/head x1", "w/big x8", "w/1 x3", "w/capped x5", "w/idle x0");
    EXPECT_THAT(roles(read("apiVersion: ray.io/v1\nkind: RayCluster", cluster)), expected);
    EXPECT_THAT(roles(read("apiVersion: ray.io/v1\nkind: RayJob", "{rayClusterSpec: " + cluster + "}")), expected);
    EXPECT_THAT(roles(read("apiVersion: ray.io/v1\nkind: RayService", "{rayClusterConfig: " + cluster + "}")),
                expected);
    const auto elsewhere = read("apiVersion: ray.io/v1\nkind: RayJob", "{clusterSelector: {ray.io/cluster: c}}");
    EXPECT_THAT(roles(elsewhere), ElementsAre("w x1 without pod")) << "it runs on a cluster that is there";
}

TEST(objects_workloads, a_leader_worker_set_has_groups_of_a_leader_and_workers) {
    const std::string head = "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet";
    const std::string worker = pods.substr(std::string{"template"}.size());
    EXPECT_THAT(roles(read(head, "{replicas: 3, leaderWorkerTemplate: {size: 4, workerTemplate" + worker + "}}")),
                ElementsAre("w/leader x3", "w/worker x9"));
    EXPECT_THAT(roles(read(head, "{leaderWorkerTemplate: {workerTemplate" + worker + "}}")),
                ElementsAre("w/leader x1"));
    const auto both = read(head, "{leaderWorkerTemplate: {size: 2, leaderTemplate: {spec: {containers: [{name: "
                                 "l}]}}, workerTemplate" +
                                     worker + "}}");
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both.front().pod->containers.front().name, "l");
    EXPECT_EQ(both.back().pod->containers.front().name, "m");
}

TEST(objects_workloads, a_job_set_has_as_many_pods_as_its_jobs_run_at_once) {
    const auto objects =
        read("apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet",
             "{replicatedJobs: [{name: driver, template: {spec: {" + pods +
                 "}}}, {name: w, replicas: 2, template: {spec: {parallelism: 4, completions: 3, " + pods + "}}}]}");
    EXPECT_THAT(roles(objects), ElementsAre("w/driver x1", "w/w x6"));
}

TEST(objects_workloads, kinds_of_other_groups_are_not_these) {
    const auto objects = read("apiVersion: example.com/v1\nkind: JobSet", "{replicatedJobs: 1}");
    ASSERT_EQ(objects.size(), 1U);
    EXPECT_FALSE(has_roles(objects.front()));
    EXPECT_THAT(objects.front().problems, IsEmpty());
}

TEST(objects_workloads, what_cannot_be_read_is_told_once) {
    const auto none = read("apiVersion: kubeflow.org/v1\nkind: TFJob", "{}");
    ASSERT_EQ(none.size(), 1U);
    ASSERT_EQ(none.front().problems.size(), 1U);
    EXPECT_THAT(none.front().problems.front().message(), HasSubstr("spec.tfReplicaSpecs"));
    const auto mistaken =
        read("apiVersion: ray.io/v1\nkind: RayCluster",
             "{headGroupSpec: {" + pods + "}, workerGroupSpecs: [{groupName: a, replicas: many, " + pods + "}]}");
    ASSERT_EQ(mistaken.size(), 3U);
    EXPECT_THAT(mistaken[0].problems, IsEmpty());
    EXPECT_THAT(mistaken[1].problems, IsEmpty());
    ASSERT_EQ(mistaken[2].problems.size(), 1U);
    EXPECT_THAT(mistaken[2].problems.front().message(), HasSubstr("spec.workerGroupSpecs[0].replicas"));
}

} // namespace
} // namespace workload_objects
