// Pod affinity, anti-affinity and topology spread: as they are read, and which pods they look at.
#include "support.hpp"

#include <string>
#include <vector>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/pod_sets.hpp"
#include "vgpualloc/kube/snapshot.hpp"

namespace vgpualloc::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

manifest pod_with_spec(const std::string& labels, const std::string& lines, const std::string& name = "p",
                       const std::string& ns = "team") {
    const std::string text = "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", namespace: " + ns +
                             ", labels: " + labels + "}\nspec:\n  containers: [{name: c}]\n" + lines;
    auto objects = read_manifests(text, "f.yaml");
    if (!objects) throw std::runtime_error{objects.error().message()};
    return objects->front();
}

std::string term(const std::string& inner) {
    return "  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, " +
           inner + "}]}}\n";
}

/// The names of those pods that are in the set of the first one's anti-affinity.
std::vector<std::string> kept_away(const manifest& with_rule, const std::vector<manifest>& others,
                                   const std::string& namespaces = "") {
    pod_sets sets;
    auto all = read_manifests(namespaces.empty() ? "kind: Namespace\nmetadata: {name: team}\n" : namespaces, "n.yaml");
    if (!all) throw std::runtime_error{all.error().message()};
    sets.add_namespaces(*all);
    sets.add_namespaces(others);
    sets.add_rules_of(with_rule);
    std::vector<std::string> names;
    for (const manifest& other : others) {
        const auto peers = sets.peers_of(
            {.ns = other.ns, .labels = other.pod->labels, .terminating = other.terminating}, other.peers.get());
        EXPECT_TRUE(peers.has_value());
        if (peers && !peers->empty() && (*peers)->is_in(0)) names.push_back(other.name);
    }
    return names;
}

const std::vector<manifest>& others() {
    static const std::vector<manifest> all{
        pod_with_spec("{app: db, rev: '1'}", "", "db1"), pod_with_spec("{app: db, rev: '2'}", "", "db2"),
        pod_with_spec("{app: web}", "", "web"),          pod_with_spec("{}", "", "bare"),
        pod_with_spec("{app: db}", "", "far", "other"),
    };
    return all;
}

TEST(peers, selectors_select_as_kubernetes_selects) {
    struct row {
        std::string inner;
        std::vector<std::string> names;
    };
    const std::vector<row> rows{
        {"labelSelector: {matchLabels: {app: db}}", {"db1", "db2"}},
        {"labelSelector: {matchExpressions: [{key: app, operator: In, values: [db, web]}]}", {"db1", "db2", "web"}},
        {"labelSelector: {matchExpressions: [{key: app, operator: NotIn, values: [db]}]}", {"web", "bare"}},
        {"labelSelector: {matchExpressions: [{key: rev, operator: Exists}]}", {"db1", "db2"}},
        {"labelSelector: {matchExpressions: [{key: rev, operator: DoesNotExist}]}", {"web", "bare"}},
        {"labelSelector: {}", {"db1", "db2", "web", "bare"}},
        {"namespaces: [other]", {}},
        {"labelSelector: {matchLabels: {app: db}}, namespaces: [other]", {"far"}},
        {"labelSelector: {matchLabels: {app: db}}, namespaces: [other, team]", {"db1", "db2", "far"}},
        {"labelSelector: {matchLabels: {app: db}}, namespaceSelector: {}", {"db1", "db2", "far"}},
        {"labelSelector: {matchLabels: {app: db}}, namespaceSelector: {matchLabels: "
         "{kubernetes.io/metadata.name: other}}",
         {"far"}},
        {"labelSelector: {matchLabels: {app: db}}, matchLabelKeys: [rev]", {"db1"}},
        {"labelSelector: {matchLabels: {app: db}}, mismatchLabelKeys: [rev]", {"db2"}},
        {"labelSelector: {matchLabels: {app: db}}, matchLabelKeys: [none-such]", {"db1", "db2"}},
    };
    for (const row& asked_for : rows) {
        const manifest with_rule = pod_with_spec("{app: x, rev: '1'}", term(asked_for.inner));
        ASSERT_THAT(with_rule.problems, IsEmpty()) << asked_for.inner;
        EXPECT_EQ(kept_away(with_rule, others()), asked_for.names) << asked_for.inner;
    }
}

TEST(peers, namespaces_are_selected_by_their_labels) {
    const manifest with_rule = pod_with_spec(
        "{}", term("labelSelector: {matchLabels: {app: db}}, namespaceSelector: {matchLabels: {stage: live}}"));
    EXPECT_THAT(kept_away(with_rule, others(), "kind: Namespace\nmetadata: {name: other, labels: {stage: live}}\n"),
                ElementsAre("far"));
    EXPECT_THAT(kept_away(with_rule, others()), IsEmpty());
}

TEST(peers, spread_leaves_out_pods_that_are_being_deleted_and_an_empty_selector_selects_none) {
    const auto spread = [](const std::string& selector) {
        return "  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, "
               "labelSelector: " +
               selector + "}]\n";
    };
    std::vector<manifest> with_one_leaving = others();
    with_one_leaving[0].terminating = true;
    EXPECT_THAT(kept_away(pod_with_spec("{}", spread("{matchLabels: {app: db}}")), with_one_leaving),
                ElementsAre("db2"));
    EXPECT_THAT(kept_away(pod_with_spec("{}", term("labelSelector: {matchLabels: {app: db}}")), with_one_leaving),
                ElementsAre("db1", "db2"));
    EXPECT_THAT(kept_away(pod_with_spec("{}", spread("{}")), others()), IsEmpty());
}

TEST(peers, what_is_a_wish_is_named_and_what_is_required_is_not) {
    const manifest pod = pod_with_spec(
        "{}", "  affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, "
              "podAffinityTerm: {topologyKey: zone}}]}, podAntiAffinity: "
              "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {}}]}}\n"
              "  topologySpreadConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]\n");
    EXPECT_THAT(pod.problems, IsEmpty());
    EXPECT_THAT(pod.rules_ignored,
                ElementsAre("preferred pod affinity (spec.affinity.podAffinity)",
                            "topology spread that may be given up (spec.topologySpreadConstraints)"));
    ASSERT_NE(pod.peers, nullptr);
    EXPECT_THAT(pod.peers->apart, SizeIs(1));
    EXPECT_THAT(pod.peers->spread, IsEmpty());
}

TEST(peers, what_the_api_server_refuses_is_a_problem) {
    struct row {
        std::string lines;
        std::string field;
        std::string expected;
    };
    const std::string spread = "  topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: ";
    const std::string anti = "  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [";
    const std::string at_anti = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].";
    const std::vector<row> rows{
        {spread + "DoNotSchedule}]\n", "spec.topologySpreadConstraints[0].maxSkew", "1 or more"},
        {spread + "Maybe, maxSkew: 1}]\n", "spec.topologySpreadConstraints[0].whenUnsatisfiable", "ScheduleAnyway"},
        {spread + "DoNotSchedule, maxSkew: 1, nodeTaintsPolicy: Perhaps}]\n",
         "spec.topologySpreadConstraints[0].nodeTaintsPolicy", "Honor or Ignore"},
        {anti + "{labelSelector: {}}]}}\n", at_anti + "topologyKey", "the label that makes the domains"},
        {anti + "{topologyKey: zone, labelSelector: {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}}]}}\n",
         at_anti + "labelSelector.matchExpressions[0].operator", "In, NotIn, Exists or DoesNotExist"},
    };
    for (const row& refused : rows) {
        const manifest pod = pod_with_spec("{}", refused.lines);
        ASSERT_THAT(pod.problems, SizeIs(1)) << refused.lines;
        EXPECT_EQ(pod.problems[0].field, refused.field);
        EXPECT_THAT(pod.problems[0].expected, HasSubstr(refused.expected));
    }
}

TEST(peers, pods_that_a_snapshot_is_told_of_later_count_and_are_counted) {
    const std::string node = "kind: Node\nmetadata: {name: n1, labels: {zone: a, nvidia.com/gpu.count: '2', "
                             "nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}}\nstatus: {allocatable: {cpu: '8', "
                             "memory: 8Gi, pods: '10', nvidia.com/gpu: '2'}}\n";
    auto objects = read_manifests(node, "n.yaml");
    ASSERT_TRUE(objects.has_value());
    objects->push_back(pod_with_spec("{app: db}", "  nodeName: n1\n", "runs"));
    auto state = make_snapshot(*objects, dialect_set{make_dialect_config()});
    ASSERT_TRUE(state.has_value()) << state.error().message();
    EXPECT_TRUE(state->bound[0].pod.request.peers.empty());
    const manifest later = pod_with_spec("{}", term("labelSelector: {matchLabels: {app: db}}"), "later");
    const auto unexpected_pod = read_snapshot_pod(later, *state);
    ASSERT_TRUE(unexpected_pod.has_value());
    EXPECT_THAT(unexpected_pod->rules_ignored, ElementsAre(anti_affinity_ignored));
    state->expect_pods({&later, 1});
    const auto expected_pod = read_snapshot_pod(later, *state);
    ASSERT_TRUE(expected_pod.has_value());
    EXPECT_THAT(expected_pod->rules_ignored, IsEmpty());
    ASSERT_FALSE(expected_pod->request.peers.empty());
    ASSERT_FALSE(state->bound[0].pod.request.peers.empty());
    EXPECT_TRUE(state->bound[0].pod.request.peers->is_in(expected_pod->request.peers->rules[0].set));
    EXPECT_EQ(state->book->booking_of(pod_id{0}).peers, state->bound[0].pod.request.peers);
}

} // namespace
} // namespace vgpualloc::kube
