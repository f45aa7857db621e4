#include "vgpusim/workload/kubernetes.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube_workloads.hpp"

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using vgpualloc::expected;
using vgpualloc::milli_gpu;
using vgpualloc::ticks;
using vgpusim::simulation_input;
using vgpusim_test::classes_of;
using vgpusim_test::empty_cluster;
using vgpusim_test::pod_object;
using vgpusim_test::vgpu_node;
using vgpusim_test::vgpu_spec;

const std::string classes_text =
    pod_object("small", vgpu_spec(1, 8192)) + pod_object("twin", vgpu_spec(1, 8192)) +
    pod_object("pair", vgpu_spec(2, 32768)) +
    "---\nkind: Job\nmetadata: {name: trio}\nspec:\n  parallelism: 3\n  template: {spec: " + vgpu_spec(1, 16384) +
    "}\n";

expected<simulation_input> build(const std::string& table,
                                 std::optional<std::vector<vgpusim::job_queue>> queues = std::nullopt) {
    const auto state = empty_cluster(vgpu_node("b", 2) + vgpu_node("a", 1));
    auto arrivals = vgputraces::read_arrivals(table, "a.csv");
    EXPECT_TRUE(arrivals) << arrivals.error().message();
    return vgpusim::build_kubernetes_workload(
        state,
        {.arrivals = *std::move(arrivals), .classes = classes_of(classes_text).value(), .queues = std::move(queues)});
}

std::string refusal_of(const std::string& table, std::optional<std::vector<vgpusim::job_queue>> queues = std::nullopt) {
    const auto input = build(table, std::move(queues));
    return input ? "none" : input.error().message();
}

TEST(kubernetes_workload, nodes_keep_their_order_and_pods_that_of_their_times) {
    const auto input = build("name,class,arrival,duration\nx,small,5,2\ny,pair,1,\nz,twin,5,0.5\n");
    ASSERT_TRUE(input) << input.error().message();
    EXPECT_EQ(input->nodes.nodes[0].name, "b");
    EXPECT_THAT(input->node_list_order, ElementsAre(0U, 1U));
    EXPECT_THAT(input->names, ElementsAre("y", "x", "z"));
    EXPECT_EQ(input->pods[1].arrival, ticks{5'000'000});
    EXPECT_EQ(input->pods[2].duration, ticks{500'000});
    EXPECT_FALSE(input->pods[0].duration);
    EXPECT_TRUE(input->jobs.empty()) << "every pod is a job of its own";
    EXPECT_TRUE(input->queues.empty());
}

TEST(kubernetes_workload, requests_are_kept_once_for_each_class_with_what_they_ask_for) {
    const auto input = build("name,class,arrival\nx,small,1\ny,small,2\nz,twin,3\np,pair,4\n");
    ASSERT_TRUE(input) << input.error().message();
    EXPECT_THAT(input->request_names, ElementsAre("small", "twin", "pair"));
    EXPECT_EQ(input->requests[0], input->requests[1]);
    std::vector<std::int64_t> milli;
    for (std::size_t i = 0; i < input->requested.size(); ++i) {
        milli.push_back(input->requested.milli(input->requested[i].larger()));
    }
    EXPECT_THAT(milli, ElementsAre(250, 250, 2000));
    ASSERT_EQ(input->typical.typical.size(), 2U) << "of equal requests of two classes there is one";
    EXPECT_EQ(input->typical.typical[0].weight + input->typical.typical[1].weight, 4);
}

TEST(kubernetes_workload, a_row_of_a_class_with_many_pods_is_a_job_of_numbered_pods) {
    const auto input = build("name,class,arrival,duration,estimate\nj,trio,1,10,\nx,small,1,4,6\n");
    ASSERT_TRUE(input) << input.error().message();
    EXPECT_THAT(input->names, ElementsAre("j-0", "j-1", "j-2", "x"));
    ASSERT_EQ(input->jobs.size(), 2U);
    EXPECT_EQ(input->jobs[0].pods, 3U);
    EXPECT_EQ(input->jobs[0].minimum, 3U);
    EXPECT_EQ(input->jobs[0].estimate, ticks{10'000'000}) << "nobody says another";
    EXPECT_EQ(input->jobs[1].estimate, ticks{6'000'000});
    EXPECT_THAT(input->members, ElementsAre(0U, 1U, 2U, 3U));
}

TEST(kubernetes_workload, rows_with_one_gang_are_one_job) {
    const auto input = build("name,class,arrival,duration,gang,priority\n"
                             "a,small,1,10,g,5\nb,small,2,3,,0\nc,trio,3,20,g,5\nd,small,4,,h,0\n");
    ASSERT_TRUE(input) << input.error().message();
    ASSERT_EQ(input->jobs.size(), 3U);
    EXPECT_EQ(input->jobs[0].pods, 4U);
    EXPECT_EQ(input->jobs[0].minimum, 4U);
    EXPECT_EQ(input->jobs[0].priority, 5);
    EXPECT_EQ(input->jobs[0].estimate, ticks{20'000'000});
    EXPECT_EQ(input->jobs[2].estimate, std::nullopt) << "a pod that stays, and nobody says how long";
    EXPECT_THAT(input->members, ElementsAre(0U, 2U, 3U, 4U, 1U, 5U));
    EXPECT_EQ(input->jobs[1].first, 4U);
}

TEST(kubernetes_workload, queues_are_those_of_the_list_or_those_that_rows_name) {
    const std::string table = "name,class,arrival,queue\na,small,1,prod\nb,small,2,\nc,small,3,dev\nd,small,4,prod\n";
    const auto input = build(table);
    ASSERT_TRUE(input) << input.error().message();
    std::vector<std::string> names;
    for (const auto& queue : input->queues) names.push_back(queue.name);
    EXPECT_THAT(names, ElementsAre("prod", "default", "dev"));
    EXPECT_EQ(input->jobs[3].queue, 0U);

    vgpusim::device_quota three_devices;
    three_devices.devices = 3;
    const std::vector<vgpusim::job_queue> listed{{.name = "dev", .guaranteed = three_devices, .limit = {}},
                                                 {.name = "default", .guaranteed = {}, .limit = {}},
                                                 {.name = "prod", .guaranteed = {}, .limit = {}}};
    const auto with_list = build(table, listed);
    ASSERT_TRUE(with_list) << with_list.error().message();
    EXPECT_EQ(with_list->jobs[0].queue, 2U);
    EXPECT_EQ(with_list->jobs[1].queue, 1U);
    EXPECT_EQ(with_list->queues[0].guaranteed.devices, 3);
    EXPECT_THAT(refusal_of(table, std::vector{listed[1]}), HasSubstr("a.csv:2: queue: got 'prod', expected one of"));
    EXPECT_THAT(refusal_of(table, std::vector{listed[0], listed[2]}),
                HasSubstr("a.csv:3: queue: missing; expected one of dev, prod"));
}

TEST(kubernetes_workload, an_error_names_line_and_column_of_the_table) {
    const std::string header = "name,class,arrival,queue,gang,priority\n";
    EXPECT_EQ(refusal_of(header + "a,small,1,,,\nb,large,0,,,\nc,large,2,,,\n"),
              "a.csv:3: class: got 'large', expected one of small, twin, pair, trio");
    EXPECT_THAT(refusal_of(header + "a,trio,1,,,\na-1,small,0,,,\n"), HasSubstr("name: got 'a-1'"));
    EXPECT_THAT(refusal_of(header + "a,small,9,x,g,\nb,small,1,y,g,\n"),
                HasSubstr("a.csv:3: queue: got 'y', expected queue 'x', as has gang g in line 2"));
    EXPECT_THAT(refusal_of(header + "a,small,1,x,g,1\nb,small,2,x,g,2\n"),
                HasSubstr("a.csv:3: priority: got '2', expected 1, as has gang g in line 2"));
}

TEST(kubernetes_workload, a_cluster_is_nodes_that_can_all_be_read) {
    const auto refusal = [](const std::string& yaml) {
        const auto state =
            vgpusim::make_empty_cluster(vgpusim_test::manifests(yaml), vgpualloc::dialect_set{}, "f.yaml");
        return state ? std::string{"none"} : state.error().message();
    };
    EXPECT_EQ(refusal(vgpu_node("a", 1)), "none");
    EXPECT_THAT(refusal(vgpu_node("a", 1) + vgpu_node("a", 2)), HasSubstr("got 'a', expected every object once"));
    EXPECT_THAT(refusal(vgpu_node("a", 1025)), HasSubstr("1024"));
    EXPECT_THAT(refusal(vgpu_node("a", 1) + pod_object("p", "{containers: [{name: c}]}")),
                HasSubstr("kind: got 'Pod', expected nodes without their pods"));
    EXPECT_THAT(refusal("---\nkind: Node\nmetadata: {name: a, annotations: {hami.io/node-nvidia-register: '[{'}}\n"),
                HasSubstr("hami.io/node-nvidia-register"));
    EXPECT_THAT(refusal(""), HasSubstr("f.yaml: missing; expected at least one object of kind Node"));
}

TEST(kubernetes_workload, pods_of_a_start_come_before_all_rows_and_keep_their_names) {
    const auto state = empty_cluster(vgpu_node("b", 2));
    const auto built = [&](const std::string& row_name) {
        vgpusim::cluster_start start{.nodes = state.nodes()};
        start.running.push_back({.name = "ns/x",
                                 .request = classes_of(classes_text)->front().templates.front().request,
                                 .priority = 3,
                                 .where = vgpualloc::placement{.node = vgpualloc::node_index{0}, .shares = {}},
                                 .duration = ticks{7}});
        start.waiting.push_back({.name = "ns/w", .request = start.running.front().request});
        return vgpusim::build_kubernetes_workload(
            state,
            {.arrivals = vgputraces::read_arrivals("name,class,arrival\n" + row_name + ",small,0\n", "a.csv").value(),
             .classes = classes_of(classes_text).value(),
             .queues = std::nullopt,
             .start = std::move(start)});
    };
    const auto input = built("r");
    ASSERT_TRUE(input) << input.error().message();
    EXPECT_THAT(input->names, ElementsAre("ns/x", "ns/w", "r"));
    EXPECT_EQ(input->running.size(), 1U);
    EXPECT_EQ(input->pods[0].duration, ticks{7});
    ASSERT_EQ(input->jobs.size(), 3U) << "a pod of the start has a priority";
    EXPECT_EQ(input->jobs[0].priority, 3);
    EXPECT_THAT(input->members, ElementsAre(0U, 1U, 2U));
    EXPECT_THAT(built("ns/w").error().message(),
                HasSubstr("got 'ns/w', expected a name that no pod of the cluster has"));
}

} // namespace
