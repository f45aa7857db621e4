// Which jobs the Queues of Volcano let in. tests/cli/queues_recorded_test.py compares with Volcano itself.
#include "vgpualloc/kube/volcano_queues.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/kube/queue_book.hpp"

namespace volcano_queues_test {
namespace {

using namespace vgpualloc::kube;
using testing::ElementsAre;

std::vector<manifest> read(const std::string& text) {
    auto objects = read_manifests(text, "f.yaml");
    EXPECT_TRUE(objects.has_value()) << objects.error().message();
    return objects ? *std::move(objects) : std::vector<manifest>{};
}

std::string pod_template(int gpus) {
    return "{spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: " + std::to_string(gpus) + "}}}]}}";
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

/// A cluster of one node with these GPUs; 64 CPUs.
std::string node(int gpus) {
    return "---\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '64', memory: 256Gi, pods: '110', "
           "nvidia.com/gpu: '" +
           std::to_string(gpus) + "'}}\n";
}

std::string queue(const std::string& name, const std::string& spec, const std::string& state = "Open") {
    return "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: " + name + "}\nspec: {" +
           spec + "}\nstatus: {state: " + state + "}\n";
}

std::string group(const std::string& name, const std::string& in, const std::string& least, const std::string& phase) {
    return "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: " + name +
           ", namespace: ns}\nspec: {minMember: 1, queue: " + in +
           (least.empty() ? "" : ", minResources: {" + least + "}") + "}\nstatus: {phase: " + phase + "}\n";
}

std::string pod(const std::string& name, const std::string& in_group, int gpus, const std::string& on = "") {
    return "---\nkind: Pod\nmetadata: {name: " + name +
           ", namespace: ns, annotations: {scheduling.k8s.io/group-name: " + in_group + "}}\nspec: {" +
           (on.empty() ? "" : "nodeName: " + on + ", ") +
           "schedulerName: volcano, containers: [{name: c, resources: {limits: {nvidia.com/gpu: " +
           std::to_string(gpus) + "}}}]}\n";
}

/// How many of five pods of a Volcano Job are let in, and why no more.
std::pair<std::int64_t, std::string> of_five(const std::string& objects, const std::string& in, int minimum = 1) {
    const auto cluster = read(objects);
    const auto added = read(volcano_job("j", 5, minimum, in));
    queue_book book{cluster, added};
    const std::vector<std::int64_t> pods = let_in(book, added);
    return {pods.at(0) + pods.at(1), book.admit(added[1], 4).because};
}

TEST(volcano_queues, keep_what_other_queues_are_guaranteed) {
    const std::string guaranteed = queue("other", "guarantee: {resource: {nvidia.com/gpu: 6}}");
    EXPECT_EQ(of_five(node(8) + queue("v", "weight: 1") + guaranteed, "v"),
              std::pair(std::int64_t{2}, std::string{"nvidia.com/gpu 2 of 2 used, 1 more needed"}));
    EXPECT_EQ(of_five(node(8) + queue("v", "guarantee: {resource: {nvidia.com/gpu: 2}}") + guaranteed, "v").first, 2);
    EXPECT_EQ(of_five(node(8) + queue("v", "capability: {nvidia.com/gpu: 1}") + guaranteed, "v").first, 1);
    EXPECT_EQ(of_five(node(8) + queue("v", "weight: 1"), "v").first, 5) << "without guarantees, nodes alone decide";
}

TEST(volcano_queues, count_what_groups_that_are_let_in_need_at_the_least) {
    const std::string start = node(16) + queue("v", "capability: {nvidia.com/gpu: 8}");
    const std::string waiting = group("g", "v", "nvidia.com/gpu: 6", "Inqueue");
    EXPECT_EQ(of_five(start + waiting, "v", 2).first, 5) << "once it is in, only what runs counts";
    EXPECT_EQ(of_five(start + waiting, "v", 3),
              std::pair(std::int64_t{0}, std::string{"nvidia.com/gpu 6 of 8 used, 1 more needed"}));
    EXPECT_EQ(of_five(start + group("g", "v", "nvidia.com/gpu: 6", "Pending"), "v", 3).first, 5);
    // What runs beyond the least is elastic.
    const std::string runs = group("g", "v", "nvidia.com/gpu: 2", "Running") + pod("p", "g", 6, "n1");
    EXPECT_EQ(of_five(start + runs, "v", 2).first, 2);
    EXPECT_EQ(of_five(start + runs, "v", 3).first, 0) << "in, but too few to start";
}

TEST(volcano_queues, share_the_cluster_by_weights) {
    const std::string other = group("g", "other", "", "Running") + pod("p", "g", 2, "n1") + pod("q", "g", 9);
    EXPECT_EQ(of_five(node(8) + queue("v", "weight: 1") + queue("other", "weight: 3") + other, "v"),
              std::pair(std::int64_t{2}, std::string{"nvidia.com/gpu 2 of 2 used, 1 more needed"}));
    EXPECT_EQ(of_five(node(8) + queue("v", "weight: 3") + queue("other", "weight: 1") + other, "v").first, 5)
        << "more than it asks for is nobody's";
}

TEST(volcano_queues, let_a_group_without_a_least_in) {
    const auto cluster =
        read(node(8) + queue("v", "capability: {nvidia.com/gpu: 1}") + queue("odd", "weight: 1", "Unknown"));
    const auto added = read(group("free", "v", "", "Pending") + group("large", "v", "nvidia.com/gpu: 2", "Pending") +
                            group("in", "v", "nvidia.com/gpu: 2", "Inqueue") + pod("a", "large", 1) +
                            pod("b", "in", 1) + pod("c", "free", 1) + volcano_job("k", 2, 1, "odd"));
    queue_book book{cluster, added};
    EXPECT_EQ(book.admit(added[3], 1).pods, 0) << "its minResources decide, not its pod";
    EXPECT_EQ(book.admit(added[3], 1).because, "nvidia.com/gpu 0 of 1 used, 1 more needed");
    EXPECT_EQ(book.admit(added[4], 1).pods, 1) << "it was let in before";
    EXPECT_EQ(book.admit(added[5], 1).pods, 0);
    EXPECT_EQ(book.admit(added[5], 1).because, "nvidia.com/gpu 1 of 1 used, 1 more needed");
    EXPECT_EQ(book.admit(added[6], 1).because, "it is in state Unknown");
}

TEST(volcano_queues, let_nobody_in_whom_the_cluster_has_no_room_for) {
    const std::string full = group("g", "v", "nvidia.com/gpu: 8", "Running") + pod("p", "g", 8, "n1");
    const std::string objects = node(8) + queue("v", "weight: 1") + queue("w", "weight: 1") + full;
    EXPECT_EQ(of_five(objects, "w", 2).second, "nvidia.com/gpu of all nodes is overused: nvidia.com/gpu 8 of 9 used, 1 "
                                               "more needed (1.2 times what nodes have)");
    const auto cluster = read(objects);
    const auto added = read(volcano_job("j", 5, 2, "w"));
    queue_book book{cluster, added};
    book.forget_nodes();
    EXPECT_THAT(let_in(book, added), ElementsAre(1, 4));
    EXPECT_THAT(book.not_looked_at(), ElementsAre("shares of all nodes in Queue w"));
}

} // namespace
} // namespace volcano_queues_test
