#include "vgpusim/workload/cluster_start.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube_workloads.hpp"
#include "vgpualloc/kube/snapshot.hpp"

namespace {

using vgpualloc::ticks;
using vgpusim::cluster_start;
using vgpusim::pod_ends;

constexpr ticks one_second{1'000'000};

const std::string node_text = R"(
apiVersion: v1
kind: Node
metadata: {name: gpu-node, labels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB, nvidia.com/gpu.count: "4"}}
status:
  allocatable: {cpu: "32", memory: 64Gi, pods: "20", nvidia.com/gpu: "4"}
  capacity: {cpu: "32", memory: 64Gi, pods: "20", nvidia.com/gpu: "4"}
  conditions: [{type: Ready, status: "True"}]
)";

/// A pod of `gpus` whole GPUs and one CPU that was created at that minute of an hour.
std::string pod_text(const std::string& name, int gpus, const std::string& minute, const std::string& more_of_spec = "",
                     const std::string& more_of_metadata = "") {
    const std::string amounts =
        "{cpu: \"1\"" + (gpus > 0 ? ", nvidia.com/gpu: \"" + std::to_string(gpus) + "\"" : "") + "}";
    return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           ", namespace: a, creationTimestamp: \"2026-11-26T08:" + minute + ":00Z\"" + more_of_metadata + "}\nspec: {" +
           more_of_spec + "containers: [{name: c, resources: {limits: " + amounts + ", requests: " + amounts +
           "}}]}\nstatus: {phase: Running}\n";
}

const std::string on_node = "nodeName: gpu-node, ";

class started_cluster {
public:
    explicit started_cluster(const std::string& pods, const std::string& table, pod_ends ends = {}) {
        auto objects = vgpualloc::kube::read_manifests(node_text + pods, "cluster.yaml");
        EXPECT_TRUE(objects) << objects.error().message();
        auto state = vgpualloc::kube::make_snapshot(*objects, vgpualloc::dialect_set{});
        EXPECT_TRUE(state) << state.error().message();
        const auto arrivals = vgputraces::read_arrivals("name,class,arrival,duration\n" + table, "a.csv");
        EXPECT_TRUE(arrivals) << arrivals.error().message();
        const auto classes = vgpusim_test::classes_of(
            "kind: Pod\nmetadata: {name: one}\nspec: {containers: [{name: c, resources: {limits: {cpu: \"1\", "
            "nvidia.com/gpu: \"1\"}}}]}\n");
        EXPECT_TRUE(classes) << classes.error().message();
        answer = vgpusim::start_of(*state, *objects, *arrivals, *classes, ends);
    }

    vgpualloc::expected<cluster_start> answer;
};

TEST(cluster_start, pods_with_devices_keep_them_and_others_keep_the_host) {
    const started_cluster cluster{pod_text("x", 1, "00", on_node) + pod_text("host", 0, "00", on_node) +
                                      pod_text("waits", 1, "30"),
                                  "r,one,0,60\n"};
    ASSERT_TRUE(cluster.answer) << cluster.answer.error().message();
    const cluster_start& start = *cluster.answer;
    ASSERT_EQ(start.running.size(), 1U);
    EXPECT_EQ(start.running[0].name, "a/x");
    ASSERT_TRUE(start.running[0].where);
    EXPECT_EQ(start.running[0].where->shares.size(), 1U);
    ASSERT_EQ(start.waiting.size(), 1U);
    EXPECT_EQ(start.waiting[0].name, "a/waits");
    EXPECT_EQ(start.nodes.nodes[0].cpu, vgpualloc::milli_cpu{31'000});
    EXPECT_EQ(start.nodes.nodes[0].pods_max, 19);
}

TEST(cluster_start, a_drawn_end_is_of_a_row_that_lasts_longer_than_the_pod_has_run) {
    // x has run 30 minutes when the newest pod was created: of the rows 600 s, 1,801 s and 1,801 s only two are left.
    const started_cluster cluster{pod_text("x", 1, "00", on_node) + pod_text("new", 1, "30", on_node),
                                  "r,one,0,600\ns,one,0,1801\nt,one,0,1801\n"};
    ASSERT_TRUE(cluster.answer) << cluster.answer.error().message();
    EXPECT_EQ(cluster.answer->running[0].duration, one_second);
    EXPECT_TRUE(cluster.answer->running[1].duration == 600 * one_second ||
                cluster.answer->running[1].duration == 1801 * one_second);
}

TEST(cluster_start, a_pod_that_outlives_its_class_stays_and_so_does_one_of_no_class) {
    const started_cluster cluster{pod_text("x", 1, "00", on_node) + pod_text("two", 2, "30", on_node), "r,one,0,600\n"};
    ASSERT_TRUE(cluster.answer) << cluster.answer.error().message();
    EXPECT_FALSE(cluster.answer->running[0].duration);
    EXPECT_FALSE(cluster.answer->running[1].duration);
    EXPECT_EQ(cluster.answer->counts.outlived, 1);
    EXPECT_EQ(cluster.answer->counts.of_no_class, 1);
}

TEST(cluster_start, rows_are_drawn_alike_often) {
    int short_ends = 0;
    constexpr int seeds = 400;
    for (int seed = 0; seed < seeds; ++seed) {
        const started_cluster cluster{pod_text("x", 1, "00", on_node),
                                      "r,one,0,1\ns,one,0,2\nt,one,0,2\nu,one,0,\n",
                                      {.seed = static_cast<std::uint64_t>(seed)}};
        ASSERT_TRUE(cluster.answer);
        if (cluster.answer->running[0].duration == one_second) ++short_ends;
    }
    EXPECT_NEAR(short_ends, seeds / 4, 35); // four standard deviations of 8.7
}

TEST(cluster_start, pods_of_one_job_end_together_and_those_of_a_replica_set_do_not) {
    const auto owned = [](const std::string& kind) {
        return ", ownerReferences: [{apiVersion: batch/v1, kind: " + kind + ", name: o, controller: true}]";
    };
    std::string rows;
    for (int i = 1; i <= 200; ++i) rows += "r" + std::to_string(i) + ",one,0," + std::to_string(i) + "\n";
    const started_cluster job{
        pod_text("x", 1, "00", on_node, owned("Job")) + pod_text("y", 1, "00", on_node, owned("Job")), rows};
    ASSERT_TRUE(job.answer);
    EXPECT_EQ(job.answer->running[0].duration, job.answer->running[1].duration);
    const started_cluster set{pod_text("x", 1, "00", on_node, owned("ReplicaSet")) +
                                  pod_text("y", 1, "00", on_node, owned("ReplicaSet")),
                              rows};
    ASSERT_TRUE(set.answer);
    EXPECT_NE(set.answer->running[0].duration, set.answer->running[1].duration);
}

TEST(cluster_start, a_table_knows_ends_and_names_only_pods_that_run) {
    pod_ends ends{.from = pod_ends::source::table,
                  .known = {{.pod = "a/x", .line = 2, .end = 5 * one_second}},
                  .table_name = "ends.csv"};
    const std::string pods = pod_text("x", 1, "00", on_node) + pod_text("y", 1, "00", on_node);
    const started_cluster cluster{pods, "r,one,0,600\n", ends};
    ASSERT_TRUE(cluster.answer) << cluster.answer.error().message();
    EXPECT_EQ(cluster.answer->running[0].duration, 5 * one_second);
    EXPECT_FALSE(cluster.answer->running[1].duration);
    ends.known.push_back({.pod = "a/gone", .line = 3, .end = one_second});
    const started_cluster refused{pods, "r,one,0,600\n", ends};
    ASSERT_FALSE(refused.answer);
    EXPECT_EQ(refused.answer.error().message(),
              "ends.csv:3: pod: got 'a/gone', expected a pod with devices that runs in the cluster, as namespace/name");
}

TEST(cluster_start, pods_behind_a_gate_are_left_out) {
    const started_cluster cluster{pod_text("held", 1, "00", "schedulingGates: [{name: later}], "), "r,one,0,600\n"};
    ASSERT_TRUE(cluster.answer) << cluster.answer.error().message();
    EXPECT_TRUE(cluster.answer->waiting.empty());
    EXPECT_EQ(cluster.answer->counts.held_back, 1);
}

} // namespace
