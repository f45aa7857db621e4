// Which pods nobody can evict, because of a budget.
#include "vgpualloc/kube/disruption_budgets.hpp"

#include <string>

#include <gtest/gtest.h>

#include "unit/operations/clusters.hpp"

namespace {

namespace kube = vgpualloc::kube;
using cluster_test::objects;

constexpr const char* none_left = "PodDisruptionBudget keep allows no disruption";

std::string budget_object(const std::string& spec, const std::string& status = "", const std::string& name = "keep") {
    return "---\nkind: PodDisruptionBudget\nmetadata: {name: " + name +
           ", namespace: ns}\nspec: {selector: {matchLabels: {app: web}}, " + spec + "}\n" +
           (status.empty() ? std::string{} : "status: {" + status + "}\n");
}

/// A pod of ReplicaSet r with label app=web.
std::string web_pod(const std::string& name, const std::string& controller = "ReplicaSet",
                    const std::string& status = "phase: Running") {
    return "---\nkind: Pod\nmetadata: {name: " + name +
           ", namespace: ns, labels: {app: web}, ownerReferences: [{kind: " + controller +
           ", name: r, controller: true}]}\nspec: {containers: [{name: m}]}\nstatus: {" + status + "}\n";
}

std::string web_pods(int count, const std::string& controller = "ReplicaSet") {
    std::string text;
    for (int i = 0; i < count; ++i) text += web_pod("w" + std::to_string(i), controller);
    return text;
}

/// Why pod ns/w0 of the objects cannot be evicted.
std::string why_kept(const std::string& yaml) {
    const auto all = objects(yaml);
    return kube::disruption_budgets{all}.why_kept("ns/w0");
}

TEST(disruption_budgets, the_status_decides_where_there_is_one) {
    EXPECT_EQ(why_kept(web_pods(3) + budget_object("minAvailable: 1", "disruptionsAllowed: 0")), none_left);
    EXPECT_EQ(why_kept(web_pods(1) + budget_object("minAvailable: 1", "disruptionsAllowed: 1")), "");
}

TEST(disruption_budgets, without_a_status_the_pods_that_run_are_counted) {
    EXPECT_EQ(why_kept(web_pods(2) + budget_object("minAvailable: 1")), "");
    EXPECT_EQ(why_kept(web_pods(2) + budget_object("minAvailable: 2")), none_left);
    EXPECT_EQ(why_kept(web_pods(2) + web_pod("p", "ReplicaSet", "phase: Pending") + budget_object("minAvailable: 2")),
              none_left)
        << "one that does not run is not healthy";
    EXPECT_EQ(why_kept(web_pods(2) + budget_object("maxUnavailable: 0")), none_left);
    EXPECT_EQ(why_kept(web_pods(2) + budget_object("maxUnavailable: 1")), "");
    EXPECT_EQ(why_kept(web_pods(2) + budget_object("minAvailable: 0")), "");
}

TEST(disruption_budgets, shares_are_rounded_up) {
    EXPECT_EQ(why_kept(web_pods(2) + budget_object("minAvailable: 51%")), none_left) << "2 of 2";
    EXPECT_EQ(why_kept(web_pods(2) + budget_object("minAvailable: 50%")), "");
    EXPECT_EQ(why_kept(web_pods(2) + budget_object("maxUnavailable: 1%")), "") << "1 of 2 may go";
    EXPECT_EQ(why_kept(web_pods(2) + budget_object("maxUnavailable: 0%")), none_left);
}

TEST(disruption_budgets, a_controller_says_how_many_pods_there_are_to_be) {
    const auto set = [](int replicas) {
        return "---\nkind: ReplicaSet\napiVersion: apps/v1\nmetadata: {name: r, namespace: ns, ownerReferences: "
               "[{kind: Deployment, name: d, controller: true}]}\nspec: {replicas: " +
               std::to_string(replicas) + ", template: {spec: {containers: [{name: m}]}}}\n";
    };
    EXPECT_EQ(why_kept(web_pods(3) + set(3) + budget_object("maxUnavailable: 1")), "");
    EXPECT_EQ(why_kept(web_pods(3) + set(4) + budget_object("maxUnavailable: 1")), none_left)
        << "one is missing already";
    EXPECT_EQ(why_kept(web_pods(3) + set(4) + budget_object("minAvailable: 75%")), none_left) << "3 of 4 have to run";
    const std::string deployment = "---\nkind: Deployment\napiVersion: apps/v1\nmetadata: {name: d, namespace: ns}\n"
                                   "spec: {replicas: 3, template: {spec: {containers: [{name: m}]}}}\n";
    EXPECT_EQ(why_kept(web_pods(3) + set(4) + deployment + budget_object("maxUnavailable: 1")), "")
        << "the top one counts";
}

TEST(disruption_budgets, what_has_no_scale_allows_none_unless_a_number_has_to_run) {
    EXPECT_EQ(why_kept(web_pods(3, "Job") + budget_object("maxUnavailable: 1")), none_left);
    EXPECT_EQ(why_kept(web_pods(3, "Job") + budget_object("minAvailable: 50%")), none_left);
    EXPECT_EQ(why_kept(web_pods(3, "Job") + budget_object("minAvailable: 1")), "");
}

TEST(disruption_budgets, pods_that_have_ended_have_their_controllers) {
    const std::string done = "---\nkind: Pod\nmetadata: {name: done, namespace: ns, labels: {app: web}, "
                             "ownerReferences: [{kind: Job, name: j, controller: true}]}\nspec: {containers: [{name: "
                             "m}]}\nstatus: {phase: Succeeded}\n";
    EXPECT_EQ(why_kept(web_pods(3) + done + budget_object("maxUnavailable: 1")), none_left) << "a Job has no scale";
    EXPECT_EQ(why_kept(web_pods(3) + done + budget_object("minAvailable: 2")), "");
    const std::string failed = web_pod("f0", "ReplicaSet", "phase: Failed");
    EXPECT_EQ(why_kept(web_pods(3) + failed + budget_object("maxUnavailable: 1")), "") << "it is none of the three";
}

TEST(disruption_budgets, one_that_cannot_be_computed_keeps_what_is_not_ready) {
    const std::string unready = web_pod("w0", "Job", "phase: Running, conditions: [{type: Ready, status: 'False'}]");
    const auto others = web_pod("w1", "Job") + web_pod("w2", "Job");
    EXPECT_EQ(why_kept(unready + others + budget_object("maxUnavailable: 50%")), none_left);
    EXPECT_EQ(why_kept(unready + others + budget_object("minAvailable: 2")), "");
}

TEST(disruption_budgets, two_budgets_are_refused_by_the_api_server) {
    const std::string two = budget_object("minAvailable: 0") + budget_object("minAvailable: 0", "", "too");
    EXPECT_EQ(why_kept(web_pods(2) + two), "several PodDisruptionBudgets: keep, too");
}

TEST(disruption_budgets, other_pods_are_free) {
    EXPECT_EQ(why_kept("---\nkind: Pod\nmetadata: {name: w0, namespace: ns, labels: {app: other}}\nspec: {containers: "
                       "[{name: m}]}\nstatus: {phase: Running}\n" +
                       budget_object("maxUnavailable: 0")),
              "");
    const std::string of_none = "---\nkind: PodDisruptionBudget\nmetadata: {name: keep, namespace: ns}\nspec: "
                                "{maxUnavailable: 0}\n";
    EXPECT_EQ(why_kept(web_pods(2) + of_none), "") << "no selector selects nothing";
    const std::string of_all = "---\nkind: PodDisruptionBudget\nmetadata: {name: keep, namespace: ns}\nspec: "
                               "{selector: {}, maxUnavailable: 0}\n";
    EXPECT_EQ(why_kept(web_pods(2) + of_all), none_left);
    const std::string elsewhere = "---\nkind: PodDisruptionBudget\nmetadata: {name: keep, namespace: x}\nspec: "
                                  "{selector: {}, maxUnavailable: 0}\n";
    EXPECT_EQ(why_kept(web_pods(2) + elsewhere), "");
    EXPECT_EQ(why_kept(web_pod("w0", "ReplicaSet", "phase: Pending") + of_all), "") << "it does not run yet";
}

TEST(disruption_budgets, a_pod_that_is_not_ready_goes_if_enough_others_are) {
    const std::string unready =
        web_pod("w0", "ReplicaSet", "phase: Running, conditions: [{type: Ready, status: 'False'}]");
    const auto others = web_pod("w1") + web_pod("w2");
    EXPECT_EQ(why_kept(unready + others + budget_object("minAvailable: 2")), "") << "two others are healthy";
    EXPECT_EQ(why_kept(unready + others + budget_object("minAvailable: 3")), none_left);
    EXPECT_EQ(why_kept(unready + others + budget_object("minAvailable: 3, unhealthyPodEvictionPolicy: AlwaysAllow")),
              "");
}

} // namespace
