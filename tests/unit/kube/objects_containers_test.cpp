// What the API server refuses of containers and their resources.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/kube/objects.hpp"

namespace vgpualloc::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// The pod whose specification is that flow mapping's members.
manifest pod_with(const std::string& spec) {
    const auto objects = read_manifests("kind: Pod\nmetadata: {name: p}\nspec: {" + spec + "}\n", "f.yaml");
    EXPECT_TRUE(objects.has_value());
    return objects->at(0);
}

std::vector<std::string> problems_of(const std::string& spec) {
    std::vector<std::string> messages;
    for (const error& problem : pod_with(spec).problems) messages.push_back(problem.message());
    return messages;
}

std::string resources(const std::string& text) { return "containers: [{name: c, resources: {" + text + "}}]"; }

TEST(containers, requests_and_limits_of_extended_resources_are_equal) {
    EXPECT_THAT(problems_of(resources("requests: {nvidia.com/gpu: 1}")),
                ElementsAre(HasSubstr("requests.nvidia.com/gpu: got '1', expected the same amount in limits")));
    EXPECT_THAT(problems_of(resources("requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}")),
                ElementsAre(HasSubstr("got '1', expected 2, as limits have it")));
    EXPECT_THAT(problems_of(resources("requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}")), IsEmpty());
    EXPECT_THAT(problems_of(resources("requests: {cpu: 4}, limits: {cpu: 2}")),
                ElementsAre(HasSubstr("requests.cpu: got '4', expected no more than the limit, 2")));
    EXPECT_THAT(problems_of(resources("requests: {cpu: 1500m, memory: 1Gi}, limits: {cpu: 2, memory: 1024Mi}")),
                IsEmpty());
    EXPECT_THAT(problems_of(resources("requests: {gpu: 1}")), ElementsAre(HasSubstr("a name with its vendor")));
}

TEST(containers, fields_that_are_meant_for_others_are_told) {
    EXPECT_THAT(problems_of(resources("limit: {nvidia.com/gpu: 1}")),
                ElementsAre(HasSubstr("resources.limit: got 'limit', expected limits")));
    EXPECT_THAT(problems_of("containers: [{name: c, resource: {}}]"), ElementsAre(HasSubstr("expected resources")));
}

TEST(containers, names_are_labels_and_each_is_there_once) {
    EXPECT_THAT(problems_of("containers: [{name: a}, {name: b}], initContainers: [{name: a}]"),
                ElementsAre(HasSubstr("initContainers[0].name: got 'a', expected a name that no other container has")));
    EXPECT_THAT(problems_of("containers: [{name: UPPER_case}]"), ElementsAre(HasSubstr("RFC 1123")));
    EXPECT_THAT(problems_of("containers: [{image: x}]"), ElementsAre(HasSubstr("containers[0].name")));
    EXPECT_THAT(problems_of("containers: []"), ElementsAre(HasSubstr("at least one container")));
    EXPECT_THAT(problems_of("containers: [null]"), ElementsAre(HasSubstr("got 'null'")));
    EXPECT_THAT(problems_of("containers: [{name: a}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuring"
                            "Execution: {nodeSelectorTerms: [null]}}}"),
                ElementsAre(HasSubstr("nodeSelectorTerms[0]: got 'null'")));
    const auto upper = read_manifests("kind: Pod\nmetadata: {name: UPPER}\nspec: {containers: [{name: c}]}\n", "f");
    EXPECT_THAT(upper->at(0).problems, SizeIs(1));
}

TEST(containers, sidecars_are_restarted_always) {
    const manifest pod =
        pod_with("containers: [{name: c}], initContainers: [{name: s, restartPolicy: Always}, {name: i}]");
    EXPECT_THAT(pod.problems, IsEmpty());
    EXPECT_TRUE(pod.pod->init_containers[0].stays);
    EXPECT_FALSE(pod.pod->init_containers[1].stays);
    EXPECT_THAT(problems_of("containers: [{name: c}], initContainers: [{name: s, restartPolicy: always}]"),
                ElementsAre(HasSubstr("restartPolicy: got 'always', expected Always")));
}

TEST(containers, what_the_pod_asks_for_itself_counts) { // Kubernetes 1.34
    const std::string of_container = "containers: [{name: c, resources: {requests: {cpu: 1, memory: 10}}}], ";
    EXPECT_EQ(pod_with(of_container + "resources: {requests: {cpu: 8}}").cpu, milli_cpu{8000});
    EXPECT_EQ(pod_with(of_container + "resources: {requests: {cpu: 8}}").memory, bytes{10});
    EXPECT_EQ(pod_with(of_container + "resources: {limits: {cpu: 8}}").cpu, milli_cpu{1000});
    EXPECT_EQ(pod_with("containers: [{name: c}], resources: {limits: {cpu: 8}}").cpu, milli_cpu{8000});
    EXPECT_EQ(pod_with(of_container + "resources: {requests: {cpu: 8}}, overhead: {cpu: 1}").cpu, milli_cpu{9000});
    EXPECT_THAT(problems_of(of_container + "resources: {requests: {cpu: 500m}}"),
                ElementsAre(HasSubstr("spec.resources.requests.cpu")));
    EXPECT_THAT(problems_of(of_container + "resources: {limits: {nvidia.com/gpu: 1}}"),
                ElementsAre(HasSubstr("other resources are of containers")));
}

TEST(containers, what_is_no_amount_is_told_as_it_is_written) {
    EXPECT_THAT(problems_of(resources("limits: {nvidia.com/gpu: ''}")),
                ElementsAre(HasSubstr("nvidia.com/gpu: got '\"\"', expected a quantity")));
    EXPECT_THAT(
        problems_of(resources("limits: {nvidia.com/gpu: '{{ .Values.gpus }}'}")),
        ElementsAre(HasSubstr("nvidia.com/gpu: {{ .Values.gpus }} looks like a Helm template: render it first")));
    EXPECT_THAT(problems_of(resources("limits: {requests.nvidia.com/gpu: 1}")),
                ElementsAre(HasSubstr("got 'requests.nvidia.com/gpu', expected nvidia.com/gpu")));
    const auto replicas = [](const std::string& written) {
        const auto objects =
            read_manifests("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: " + written +
                               ", template: {spec: {containers: [{name: c}]}}}\n",
                           "f.yaml");
        return objects->at(0).problems.at(0).message();
    };
    EXPECT_THAT(replicas("'3'"),
                HasSubstr("got '3', expected a whole number from 0 to 1000000000: write 3 without quotes"));
    EXPECT_THAT(replicas("'three'"), testing::EndsWith("1000000000"));
    EXPECT_THAT(replicas("'{{ .Values.replicas }}'"), HasSubstr("render it first"));
}

TEST(containers, claims_are_the_pods) {
    const std::string container = "containers: [{name: c, resources: {claims: [{name: gpu}]}}]";
    EXPECT_THAT(problems_of(container),
                ElementsAre(HasSubstr("claims[0].name: got 'gpu', expected a name that spec.resourceClaims has")));
    const manifest pod = pod_with(container + ", resourceClaims: [{name: gpu, resourceClaimTemplateName: t}]");
    EXPECT_THAT(pod.problems, IsEmpty());
    EXPECT_THAT(pod.rules_ignored, ElementsAre("resource claims (spec.resourceClaims)"));
}

TEST(containers, ephemeral_ones_have_no_resources) {
    EXPECT_THAT(
        problems_of(
            "containers: [{name: c}], ephemeralContainers: [{name: e, resources: {limits: {nvidia.com/gpu: 1}}}]"),
        ElementsAre(
            HasSubstr("ephemeralContainers[0].resources.limits.nvidia.com/gpu: got '1', expected no nvidia.com/gpu")));
    EXPECT_THAT(problems_of("containers: [{name: c}], ephemeralContainers: [{name: e}]"), IsEmpty());
}

TEST(containers, a_volcano_job_without_tasks) {
    for (const char* const tasks : {"tasks: []", "tasks: null"}) {
        const auto objects =
            read_manifests("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\nspec: {" +
                               std::string{tasks} + "}\n",
                           "f.yaml");
        ASSERT_THAT(*objects, SizeIs(1));
        ASSERT_THAT(objects->at(0).problems, SizeIs(1));
        EXPECT_THAT(objects->at(0).problems[0].message(),
                    HasSubstr("spec.tasks: missing; expected a list of at least one task"));
    }
}

TEST(containers, amounts_keep_their_text_and_line) {
    const auto objects = read_manifests("kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n"
                                        "    resources:\n      limits:\n        nvidia.com/gpumem: 8Gi\n",
                                        "f.yaml");
    const manifest& pod = objects->at(0);
    EXPECT_EQ(kubernetes::written_of(pod.pod->containers[0], "nvidia.com/gpumem", 0), "8Gi");
    const error problem{.code = error_code::out_of_range,
                        .where = "pod p, container c",
                        .field = "nvidia.com/gpumem",
                        .value = "8Gi",
                        .expected = ""};
    EXPECT_EQ(place_of(pod, problem), "f.yaml:8");
    EXPECT_EQ(place_of(pod, {.code = error_code::missing, .where = "", .field = "", .value = "", .expected = ""}),
              "f.yaml:1");
}

TEST(containers, a_volcano_cron_job_has_tasks) {
    const auto objects = read_manifests(
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: CronJob\nmetadata: {name: j}\nspec: {jobTemplate: {spec: {"
        "minAvailable: 2, tasks: [{name: t, replicas: 3, template: {spec: {containers: [{name: c}]}}}]}}}\n",
        "f.yaml");
    ASSERT_THAT(*objects, SizeIs(1));
    EXPECT_EQ(objects->at(0).name, "j/t");
    EXPECT_EQ(objects->at(0).replicas, 3);
    EXPECT_EQ(objects->at(0).min_available, 2);
    EXPECT_THAT(objects->at(0).problems, IsEmpty());
}

} // namespace
} // namespace vgpualloc::kube
