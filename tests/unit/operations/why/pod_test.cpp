#include "vgpuops/why/pod.hpp"

#include <set>

#include <gtest/gtest.h>

#include "random_clusters.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpuops/whatif/answer.hpp"
#include "vgpuops/whatif/moves.hpp"

namespace {

using namespace cluster_test;
namespace show = vgpuops::show;
namespace why = vgpuops::why;
namespace whatif = vgpuops::whatif;

/// A campaign by hand had 250.
constexpr int clusters_to_draw_in_release = 100;
constexpr int clusters_drawn = clusters_to_draw(clusters_to_draw_in_release);

/// Whether a node takes the pod w1 as things are.
bool allocator_places(const kube::snapshot& state) {
    const auto policies = vgpualloc::make_policies("best_fit", "", {});
    vgpualloc::allocator decider{*state.book, policies->pair()};
    return decider.decide(*decider.intern(state.pending.front().request)).has_value();
}

/// Whether `whatif` starts w1 on these objects, as other people would call it.
bool whatif_starts(const std::vector<kube::manifest>& cluster, const whatif::changes& wanted) {
    const auto answered = whatif::answer_of(cluster, {}, {.wanted = wanted});
    EXPECT_TRUE(answered.has_value()) << answered.error().message();
    if (!answered) return false;
    for (const auto& entry : answered->pods) {
        if (entry.asked.pod.name == "w1") return !entry.placed.empty();
    }
    return false;
}

/// The change, really made: by whatif's options, or in the object of the pod.
bool starts_when_made(const std::string& text, const why::tried_change& change) {
    std::vector<kube::manifest> cluster = objects(text);
    whatif::changes wanted;
    for (kube::manifest& object : cluster) {
        if (object.name != "w1") continue;
        if (change.what.starts_with("gate ")) object.gates.clear();
        if (change.what.starts_with("it tolerates team=dev:NoSchedule")) {
            object.rules.tolerations.push_back({.key = "team", .value = "dev"});
        }
        if (change.what == "it does not ask for pool=dev") object.rules.node_selector.clear();
    }
    if (!change.command.empty() && change.command[0] == "whatif") {
        const std::string& argument = change.command[2];
        if (change.command[1] == "--uncordon") wanted.uncordoned = {argument};
        if (change.command[1] == "--add-nodes") {
            wanted.added_nodes = {{.kind = argument.substr(0, argument.find('=')), .nodes = 1}};
        }
    }
    return whatif_starts(cluster, wanted);
}

/// Whether moves make room for w1.
bool has_plan(const std::string& text) {
    auto state = snapshot_of(text);
    const kube::snapshot_pod pod = state.pending.front();
    const auto planned = whatif::plan_room(state, objects(text), pod, {});
    return planned && planned->found && !planned->moves.empty();
}

TEST(why_pod, fits_now_is_what_the_allocator_places_and_changes_do_what_they_say) {
    vgpualloc::rng random{52};
    std::set<std::string> sorts; // of changes that were met
    for (int i = 0; i < clusters_drawn; ++i) {
        const std::string text = random_cluster_with_rules(random, 1);
        const auto answered = why::pod_of(objects(text), {}, "ns/w1");
        ASSERT_TRUE(answered.has_value()) << answered.error().message() << text;
        const auto state = snapshot_of(text);
        const bool is_gated = !state.pending.front().gates.empty();
        ASSERT_EQ(answered->verdict == show::verdict::fits_now, !is_gated && allocator_places(state)) << text;
        if (is_gated) {
            ASSERT_EQ(answered->verdict, show::verdict::gate) << text;
        }
        bool has_node_that_fits = false;
        for (const why::node_reasons& node : answered->nodes) {
            has_node_that_fits = has_node_that_fits || node.word == why::node_reason::fits;
        }
        ASSERT_EQ(has_node_that_fits, allocator_places(state)) << text;
        for (const why::tried_change& change : answered->changes) {
            sorts.insert(change.command.empty() ? change.what.substr(0, 7) : change.command[0] + change.command.at(1));
            const bool is_plan = !change.command.empty() && change.command[0] == "plan";
            ASSERT_TRUE(is_plan ? has_plan(text) : starts_when_made(text, change)) << change.what << text;
        }
    }
    if (clusters_drawn < clusters_to_draw_in_release) return; // of fewer, not every sort is met
    EXPECT_EQ(sorts, (std::set<std::string>{"gate ex", "it does", "it tole", "plan--pod", "whatif--add-nodes",
                                            "whatif--uncordon"}));
}

TEST(why_pod, other_pods_that_wait_may_take_what_a_change_brings) {
    const std::string cordoned = card_node("a", 1) + "spec: {unschedulable: true}\n";
    const std::string first = "creationTimestamp: '2026-01-01T00:00:00Z',";
    const std::string later = "creationTimestamp: '2026-01-02T00:00:00Z',";
    const std::string text = cordoned + pod_object("w1", 30000, {.metadata = later});
    EXPECT_EQ(why::pod_of(objects(text), {}, "w1")->changes.size(), 2U) << "uncordon, or a node more";
    const std::string contested = text + pod_object("w0", 30000, {.metadata = first});
    const auto answered = why::pod_of(objects(contested), {}, "w1");
    ASSERT_TRUE(answered.has_value());
    EXPECT_TRUE(answered->changes.empty()) << "the older pod gets the node";
}

TEST(why_pod, a_pod_that_others_keep_away_is_told_who_they_are_and_what_would_help) {
    const std::string db = "labels: {app: db},";
    const std::string apart = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                              "[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}]}},";
    const std::string text = card_node("a", 1) + card_node("b", 1) + running_pod("db-0", "a", 0, 1000, db) +
                             running_pod("db-1", "b", 0, 1000, db) + pod_object("w1", 1000, {.spec = apart});
    const auto answered = why::pod_of(objects(text), {}, "w1");
    ASSERT_TRUE(answered.has_value());
    EXPECT_EQ(answered->verdict, show::verdict::not_allowed);
    EXPECT_EQ(answered->because, "a would take it; anti-affinity with ns/db-0 there");
    std::vector<std::string> changes;
    for (const why::tried_change& change : answered->changes) changes.push_back(change.what + ": " + change.then);
    EXPECT_EQ(changes, (std::vector<std::string>{"one of ns/db-[0-1] ends: then it fits", "1 node more like a: ",
                                                 "it has no pod anti-affinity: a or b takes it now"}));
    EXPECT_EQ(answered->not_looked_at, std::vector<std::string>{});
}

/// The answer about a pod or a template of a file.
why::pod_answer of_file(const std::string& cluster, const std::string& file) {
    auto answered = why::pod_of_file(objects(cluster), {}, objects(file), "f.yaml");
    EXPECT_TRUE(answered.has_value()) << answered.error().message();
    return answered ? *std::move(answered) : why::pod_answer{};
}

/// A template of `pods` pods that each ask for so much of a card.
std::string deployment(int pods, int memory) {
    return "---\nkind: Deployment\nmetadata: {name: d, namespace: ns}\nspec: {replicas: " + std::to_string(pods) +
           ", template: {spec: {containers: [{name: main, image: i, resources: {limits: {volcano.sh/vgpu-number: 1, "
           "volcano.sh/vgpu-memory: " +
           std::to_string(memory) + "}}}]}}}\n";
}

TEST(why_pod, a_file_is_answered_as_if_its_pods_were_made_now) {
    const std::string cluster = card_node("a", 1) + running_pod("r", "a", 0, 10000);
    EXPECT_EQ(of_file(cluster, pod_object("new", 20000)).verdict, show::verdict::fits_now);
    const auto waits = of_file(cluster, pod_object("new", 35000));
    EXPECT_EQ(waits.verdict, show::verdict::all_used);
    ASSERT_FALSE(waits.changes.empty());
    EXPECT_EQ(waits.changes.back().command,
              (std::vector<std::string>{"whatif", "--add-pods", "f.yaml", "--add-nodes", "a=1"}));
    EXPECT_TRUE(why::pod_text(waits, {"c.yaml"}).starts_with("ns/new of f.yaml would wait, all used: "));
}

TEST(why_pod, of_a_template_the_pods_that_fit_are_counted_and_the_next_is_told) {
    const std::string cluster = card_node("a", 2);
    const auto all = of_file(cluster, deployment(2, 30000));
    EXPECT_EQ(all.verdict, show::verdict::fits_now);
    EXPECT_EQ(all.fitting, 2);
    const auto some = of_file(cluster, deployment(7, 30000));
    EXPECT_EQ(some.verdict, show::verdict::all_used);
    EXPECT_EQ(some.pods, 7);
    EXPECT_EQ(some.fitting, 2);
    // Five have no place, and a node like a has room for two.
    ASSERT_EQ(some.changes.size(), 1U);
    EXPECT_EQ(some.changes[0].what, "3 nodes more like a");
    EXPECT_TRUE(why::pod_text(some, {}).starts_with(
        "ns/d of f.yaml (Deployment, 7 pods): 2 fit now, and 5 would wait, all used: "));
    whatif::changes wanted;
    wanted.added_pods = objects(deployment(7, 30000));
    for (const std::int64_t nodes : {2, 3}) {
        wanted.added_nodes = {{.kind = "a", .nodes = nodes}};
        const auto answered = whatif::answer_of(objects(cluster), {}, {.wanted = wanted});
        ASSERT_TRUE(answered.has_value());
        EXPECT_EQ(answered->refused, nodes == 3 ? 0 : 1) << nodes;
    }
}

TEST(why_pod, a_file_has_to_have_one_object_with_pods) {
    const std::string cluster = card_node("a", 1);
    for (const std::string& file :
         {std::string{"---\nkind: ConfigMap\nmetadata: {name: c}\n"}, pod_object("a", 1000) + pod_object("b", 1000)}) {
        const auto answered = why::pod_of_file(objects(cluster), {}, objects(file), "f.yaml");
        ASSERT_FALSE(answered.has_value());
        EXPECT_TRUE(answered.error().message().starts_with(
            "--pod: got 'f.yaml', expected one object that is or makes a pod; the file has "));
    }
}

TEST(why_pod, names_pods_that_are_spelled_alike) {
    const std::string text = card_node("a", 1) + pod_object("train-1", 1000) + pod_object("serve", 1000);
    const auto answered = why::pod_of(objects(text), {}, "trian-1");
    ASSERT_FALSE(answered.has_value());
    EXPECT_EQ(answered.error().message(),
              "--pod: got 'trian-1', expected a pod of the cluster; near: ns/train-1, ns/serve");
}

TEST(why_pod, a_pod_that_runs_says_where) {
    const auto answered = why::pod_of(objects(card_node("a", 1) + running_pod("r", "a", 0, 1000)), {}, "ns/r");
    ASSERT_TRUE(answered.has_value());
    EXPECT_EQ(why::pod_text(*answered, {"c.yaml"}), "ns/r runs on a.\n");
}

TEST(why_pod, arguments_of_commands_are_quoted_for_a_shell) {
    const std::string text = card_node("a", 1) + "spec: {unschedulable: true}\n" + pod_object("w1", 30000);
    const auto answered = why::pod_of(objects(text), {}, "w1");
    ASSERT_TRUE(answered.has_value());
    EXPECT_NE(why::pod_text(*answered, {"my file.yaml"}).find("vgpusim whatif 'my file.yaml' --uncordon a"),
              std::string::npos);
}

} // namespace
