// What ClusterQueues leave to workloads.
#include "vgpualloc/kube/cluster_queues.hpp"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/core/rng.hpp"

namespace cluster_queues_test {
namespace {

using namespace vgpualloc::kube;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<manifest> read(const std::string& text) {
    auto objects = read_manifests(text, "f.yaml");
    EXPECT_TRUE(objects.has_value()) << objects.error().message();
    return objects ? *std::move(objects) : std::vector<manifest>{};
}

std::string local_queue(const std::string& name, const std::string& cluster_queue) {
    return "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: " + name +
           ", namespace: ns}\nspec: {clusterQueue: " + cluster_queue + "}\n";
}

/// What one pod set asks a queue for, of which nothing else is said.
queued_workload asking(resource_amounts requests, const std::string& queue = "q") {
    return {.ns = "ns", .local_queue = queue, .pod_sets = {{.requests = std::move(requests)}}};
}

/// A quota of one flavor, what of it is lent and borrowed at most (below 0: not said), and what is used.
struct drawn_queue {
    std::int64_t nominal = 0;
    std::int64_t borrowing = -1;
    std::int64_t lending = -1;
    std::int64_t used = 0;
};

std::string cluster_queue(const std::string& name, const drawn_queue& of) {
    std::string resource = "{name: nvidia.com/gpu, nominalQuota: " + std::to_string(of.nominal);
    if (of.borrowing >= 0) resource += ", borrowingLimit: " + std::to_string(of.borrowing);
    if (of.lending >= 0) resource += ", lendingLimit: " + std::to_string(of.lending);
    return "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: " + name +
           "}\nspec: {namespaceSelector: {}, cohort: all, resourceGroups: [{flavors: [{name: f, resources: [" +
           resource + "}]}]}]}\nstatus: {flavorsReservation: [{name: f, resources: [{name: nvidia.com/gpu, total: " +
           std::to_string(of.used) + "}]}]}\n";
}

/// Within its own limit, and all queues together within all quotas, where what a queue keeps for itself counts as used.
bool is_allowed(const std::vector<drawn_queue>& queues) {
    std::int64_t most = 0;
    std::int64_t taken = 0;
    for (const drawn_queue& of : queues) {
        if (of.borrowing >= 0 && of.used > of.nominal + of.borrowing) return false;
        const std::int64_t kept = of.lending < 0 ? 0 : std::max<std::int64_t>(of.nominal - of.lending, 0);
        most += of.nominal;
        taken += std::max(of.used, kept);
    }
    return taken <= most;
}

TEST(cluster_queues, lend_within_a_cohort_as_its_sums_allow) {
    vgpualloc::rng random{11};
    const auto below = [&](std::int64_t end) {
        return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(end)));
    };
    int allowed = 0;
    for (int i = 0; i < 400; ++i) {
        std::vector<drawn_queue> queues(2 + random.below(3));
        for (drawn_queue& of : queues) {
            of.nominal = below(6);
            if (random.below(2) == 0) of.borrowing = below(4);
            if (random.below(2) == 0) of.lending = below(of.nominal + 1);
            of.used = below(of.nominal + 2);
        }
        if (!is_allowed(queues)) continue; // it could not have come to this
        std::string text = local_queue("q", "c0");
        for (std::size_t n = 0; n < queues.size(); ++n) text += cluster_queue("c" + std::to_string(n), queues[n]);
        const std::int64_t asked = 1 + below(6);
        const auto objects = read(text);
        const std::string words = cluster_queues{objects}.ask(asking({{"nvidia.com/gpu", asked}})).because;
        queues.front().used += asked;
        ASSERT_EQ(words.empty(), is_allowed(queues)) << text << asked << "\n" << words;
        allowed += words.empty() ? 1 : 0;
    }
    EXPECT_GT(allowed, 50);
}

const std::string two_flavors = local_queue("q", "c") + R"(---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: c}
spec: {namespaceSelector: {}, resourceGroups: [{flavors: [
  {name: small, resources: [{name: nvidia.com/gpu, nominalQuota: 4}, {name: cpu, nominalQuota: 8}]},
  {name: large, resources: [{name: nvidia.com/gpu, nominalQuota: 4}, {name: cpu, nominalQuota: 32}]}]}]}
)";

TEST(cluster_queues, a_pod_set_has_one_flavor_for_all_resources_of_a_group) {
    const auto objects = read(two_flavors);
    cluster_queues queues{objects};
    EXPECT_THAT(queues.take(asking({{"nvidia.com/gpu", 4}, {"cpu", 16'000}})).because, IsEmpty());
    EXPECT_THAT(queues.take(asking({{"nvidia.com/gpu", 3}, {"cpu", 4'000}})).because, IsEmpty()) << "of the small one";
    EXPECT_EQ(queues.take(asking({{"nvidia.com/gpu", 1}, {"cpu", 5'000}})).because,
              "insufficient unused quota for cpu in flavor small, 1 more needed, "
              "insufficient unused quota for nvidia.com/gpu in flavor large, 1 more needed");
    EXPECT_THAT(queues.take(asking({{"nvidia.com/gpu", 1}})).because, IsEmpty())
        << "what was refused has taken nothing";
    EXPECT_THAT(queues.take(asking({{"nvidia.com/gpu", 1}})).because,
                HasSubstr("insufficient unused quota for nvidia.com/gpu in flavor small, 1 more needed"));
}

TEST(cluster_queues, what_cannot_be_let_in_at_all_is_told_apart) {
    const auto objects = read(two_flavors);
    const cluster_queues queues{objects};
    EXPECT_THAT(queues.ask(asking({{"nvidia.com/gpu", 5}})).because,
                HasSubstr("insufficient quota for nvidia.com/gpu in flavor small, request > maximum capacity (5 > 4)"));
    EXPECT_EQ(queues.ask(asking({{"amd.com/gpu", 1}})).because, "resource amd.com/gpu unavailable in ClusterQueue");
    EXPECT_EQ(queues.ask(asking({}, "other")).because, "LocalQueue other is not among the objects");
    EXPECT_EQ(queues.cluster_queue_of("ns", "q"), "c");
    EXPECT_THAT(queues.not_told("ns", "q"),
                testing::ElementsAre("flavors of ClusterQueue c: no object is a ResourceFlavor"));
}

std::string cohort(const std::string& name, const std::string& spec) {
    return "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: " + name + "}\nspec: {" + spec +
           "}\n";
}

std::string groups(int nominal, const std::string& flavor = "f", const std::string& more = "") {
    return "resourceGroups: [{flavors: [{name: " + flavor +
           ", resources: [{name: nvidia.com/gpu, nominalQuota: " + std::to_string(nominal) + more + "}]}]}]";
}

std::string queue_with(const std::string& name, const std::string& spec) {
    return local_queue("lq-" + name, name) +
           "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: " + name + "}\nspec: {" +
           spec + "}\n";
}

TEST(cluster_queues, cohorts_have_quota_of_their_own_and_lend_to_each_other) {
    const std::string open = "namespaceSelector: {}, ";
    const auto objects = read(cohort("left", "parentName: root, " + groups(2)) +
                              cohort("right", "parentName: root, " + groups(3, "f", ", lendingLimit: 1")) +
                              queue_with("a", open + "cohortName: left, " + groups(1)) +
                              queue_with("b", open + "cohortName: right, " + groups(4)));
    const cluster_queues queues{objects};
    EXPECT_THAT(queues.ask(asking({{"nvidia.com/gpu", 4}}, "lq-a")).because, IsEmpty()) << "1, 2 of left, 1 of right";
    EXPECT_THAT(queues.ask(asking({{"nvidia.com/gpu", 5}}, "lq-a")).because, HasSubstr("(5 > 4)"));
    EXPECT_THAT(queues.ask(asking({{"nvidia.com/gpu", 10}}, "lq-b")).because, IsEmpty()) << "7 of right, 3 of left";
    EXPECT_THAT(queues.ask(asking({{"nvidia.com/gpu", 11}}, "lq-b")).because, HasSubstr("(11 > 10)"));
    const auto circle = read(cohort("one", "parentName: other") + cohort("other", "parentName: one") +
                             queue_with("c", open + "cohortName: one, " + groups(4)));
    EXPECT_THAT(cluster_queues{circle}.ask(asking({{"nvidia.com/gpu", 1}}, "lq-c")).because,
                HasSubstr("ClusterQueue c is inactive: cohort one"));
}

const std::string flavors = R"(---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: first}
spec: {nodeLabels: {pool: first}, nodeTaints: [{key: t, value: v, effect: NoSchedule}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: second}
spec: {nodeLabels: {pool: second}, tolerations: [{key: t, operator: Exists}]}
)";
const std::string both_flavors =
    "resourceGroups: [{flavors: [{name: first, resources: [{name: nvidia.com/gpu, nominalQuota: 2}]}, "
    "{name: second, resources: [{name: nvidia.com/gpu, nominalQuota: 2}]}]}]";

TEST(cluster_queues, pods_get_a_flavor_that_their_rules_admit_and_its_node_selector) {
    const auto objects = read(flavors + queue_with("c", "namespaceSelector: {}, " + both_flavors));
    const cluster_queues queues{objects};
    const auto answered = [&](vgpualloc::host_rules rules) {
        queued_workload workload = asking({{"nvidia.com/gpu", 1}}, "lq-c");
        workload.pod_sets[0].rules = std::move(rules);
        return queues.ask(workload);
    };
    using selector = std::vector<std::pair<std::string, std::string>>;
    const auto intolerant = answered({});
    ASSERT_THAT(intolerant.because, IsEmpty());
    EXPECT_EQ(intolerant.rules[0].node_selector, (selector{{"pool", "second"}}));
    EXPECT_EQ(intolerant.rules[0].tolerations.size(), 1U);
    EXPECT_EQ(answered({.tolerations = {{.key = "t", .any_value = true}}}).rules[0].node_selector,
              (selector{{"pool", "first"}}));
    EXPECT_EQ(answered({.node_selector = {{"pool", "first"}}}).because,
              "untolerated taint t=v:NoSchedule in flavor first, flavor second doesn't match node affinity");
    EXPECT_THAT(answered({.node_selector = {{"zone", "z"}}}).because, IsEmpty()) << "no flavor says anything of zones";
    const auto named = read(flavors + queue_with("c", "namespaceSelector: {}, " + groups(2, "third")));
    EXPECT_EQ(cluster_queues{named}.ask(asking({{"nvidia.com/gpu", 1}}, "lq-c")).because,
              "ClusterQueue c is inactive: ResourceFlavor third is not among the objects");
}

TEST(cluster_queues, a_later_flavor_comes_before_borrowing_where_the_queue_says_so) {
    const std::string tolerant = "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: ";
    const std::string plain = tolerant + "first}\nspec: {nodeLabels: {pool: first}}\n" + tolerant +
                              "second}\nspec: {nodeLabels: {pool: second}}\n";
    const std::string lender = queue_with("d", "namespaceSelector: {}, cohortName: all, " + groups(2, "first"));
    for (const auto& [policy, pool] : {std::pair{"MayStopSearch", "first"}, std::pair{"TryNextFlavor", "second"}}) {
        const auto objects = read(
            plain + lender +
            queue_with(
                "c",
                std::string{"namespaceSelector: {}, cohortName: all, flavorFungibility: {whenCanBorrow: "} + policy +
                    "}, resourceGroups: [{flavors: [{name: first, resources: [{name: nvidia.com/gpu, nominalQuota: "
                    "0}]}, {name: second, resources: [{name: nvidia.com/gpu, nominalQuota: 2}]}]}]"));
        const auto answer = cluster_queues{objects}.ask(asking({{"nvidia.com/gpu", 1}}, "lq-c"));
        ASSERT_THAT(answer.because, IsEmpty());
        EXPECT_EQ(answer.rules[0].node_selector[0].second, pool) << policy;
    }
}

TEST(cluster_queues, a_queue_serves_the_namespaces_that_it_selects) {
    const auto because = [](const std::string& selector, const std::string& labels) {
        const auto objects = read("kind: Namespace\nmetadata: {name: ns, labels: {" + labels + "}}\n" +
                                  queue_with("c", selector + groups(2)));
        return cluster_queues{objects}.ask(asking({{"nvidia.com/gpu", 1}}, "lq-c")).because;
    };
    EXPECT_EQ(because("", ""), "namespace ns does not match the selector of ClusterQueue c") << "none is selected";
    EXPECT_EQ(because("namespaceSelector: {}, ", ""), "");
    EXPECT_EQ(because("namespaceSelector: {matchLabels: {team: red}}, ", "team: red"), "");
    EXPECT_NE(because("namespaceSelector: {matchLabels: {team: red}}, ", "team: blue"), "");
    EXPECT_EQ(because("namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ns}}, ", ""), "");
}

TEST(cluster_queues, nobody_overtakes_in_a_strict_queue) {
    const std::string workload =
        "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w, namespace: "
        "ns, creationTimestamp: '2026-11-25T13:00:00Z'}\nspec: {priority: 5, queueName: lq-c}\n";
    const auto objects =
        read(queue_with("c", "namespaceSelector: {}, queueingStrategy: StrictFIFO, " + groups(2)) + workload);
    cluster_queues queues{objects};
    queued_workload one = asking({{"nvidia.com/gpu", 1}}, "lq-c");
    EXPECT_EQ(queues.ask(one).because, "workload w waits, and nobody overtakes in ClusterQueue c (StrictFIFO)");
    one.priority = 6;
    EXPECT_THAT(queues.ask(one).because, IsEmpty()) << "a higher priority comes first";
    queued_workload large = asking({{"nvidia.com/gpu", 9}}, "lq-c");
    large.priority = 7;
    large.name = "large";
    EXPECT_THAT(queues.take(large).because, HasSubstr("maximum capacity"));
    EXPECT_EQ(queues.take(one).because, "workload large waits, and nobody overtakes in ClusterQueue c (StrictFIFO)");
}

} // namespace
} // namespace cluster_queues_test
