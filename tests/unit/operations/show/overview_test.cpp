#include "vgpuops/show/overview.hpp"

#include <numeric>
#include <optional>

#include <gtest/gtest.h>

#include "../clusters.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpuops/show/headroom.hpp"
#include "vgpuops/show/pod_use.hpp"
#include "vgpuops/whatif/answer.hpp"

namespace {

using namespace cluster_test;
namespace show = vgpuops::show;

std::int64_t total_of(const auto& values) { return std::accumulate(values.begin(), values.end(), std::int64_t{0}); }

/// A cluster of random nodes, of which some take no pods, with pods that run where they fit and others that wait.
std::string random_cluster(vgpualloc::rng& random) {
    std::string text;
    const std::uint64_t nodes = 1 + random.below(5);
    for (std::uint64_t n = 0; n < nodes; ++n) {
        const int cards = static_cast<int>(1 + random.below(3));
        const std::string name = "n" + std::to_string(n);
        text += card_node(name, cards, random.below(3) == 0 ? "mig" : "hami-core");
        if (random.below(4) == 0) text += "spec: {unschedulable: true}\n";
        for (int card = 0; card < cards; ++card) {
            const int memory = static_cast<int>(1000 * (1 + random.below(39)));
            if (random.below(3) > 0) text += running_pod("r" + name + std::to_string(card), name, card, memory);
        }
    }
    for (std::uint64_t i = random.below(4); i > 0; --i) {
        text += pod_object("w" + std::to_string(i), static_cast<int>(1000 * (1 + random.below(45))));
    }
    return text;
}

/// A quarter of a campaign by hand, which has 1,000 clusters.
constexpr int clusters_drawn = clusters_to_draw(250);

TEST(show_overview, every_sum_holds_on_random_clusters) {
    vgpualloc::rng random{35};
    for (int i = 0; i < clusters_drawn; ++i) {
        const std::string text = random_cluster(random);
        const auto seen = show::overview_of(objects(text), {});
        ASSERT_TRUE(seen.has_value()) << seen.error().message();
        ASSERT_EQ(total_of(seen->parts), seen->gpus * 1000) << text;
        std::int64_t used = 0;
        for (const auto& row : seen->rows) ASSERT_EQ(total_of(row.parts), row.gpus * 1000) << text;
        for (const auto& user : seen->users) used += user.used;
        ASSERT_EQ(used, seen->parts[0]) << text;
        for (const auto& shape : seen->shapes) {
            ASSERT_EQ(total_of(shape.idle), seen->parts[1] + seen->parts[2]) << text;
            ASSERT_EQ(shape.idle.back(), seen->parts[2]) << text;
            ASSERT_EQ(shape.wrong.model + shape.wrong.layout + shape.wrong.rules, shape.idle[3]) << text;
        }
    }
}

/// How many of `count` pods like the first that waits `whatif` places, if nothing else waits.
std::int64_t placed_by_whatif(const std::string& without_waiting, const std::string& pod, std::int64_t count) {
    vgpuops::whatif::question question{.policy = "best_fit"};
    question.wanted.added_pods = objects(pod);
    question.wanted.added_pods.front().replicas = count;
    const auto answer = vgpuops::whatif::answer_of(objects(without_waiting), {}, question);
    EXPECT_TRUE(answer.has_value()) << answer.error().message();
    return answer ? answer->placed : -1;
}

TEST(show_overview, more_is_what_whatif_places_and_not_one_pod_more) {
    vgpualloc::rng random{36};
    for (int i = 0; i < clusters_drawn / 4; ++i) {
        std::string running = random_cluster(random);
        running = running.substr(0, running.find("---\nkind: Pod\nmetadata: { name: w"));
        const std::string pod = pod_object("w", static_cast<int>(500 * (1 + random.below(60))));
        const auto seen = show::overview_of(objects(running + pod), {});
        ASSERT_TRUE(seen.has_value()) << seen.error().message();
        for (const auto& shape : seen->shapes) {
            if (shape.wait == 0) continue;
            ASSERT_EQ(placed_by_whatif(running, pod, shape.more + 1), shape.more) << running << pod;
        }
    }
}

TEST(show_overview, what_fits_in_an_empty_cluster_is_not_never) {
    const std::string full = card_node("a", 1) + running_pod("r", "a", 0, 40960);
    auto state = snapshot_of(full + pod_object("w", 1000) + pod_object("x", 50000));
    show::headroom spare{state};
    const std::vector<const vgpualloc::pod_request*> requests{&state.pending[0].request, &state.pending[1].request};
    EXPECT_EQ(spare.fit_alone(requests), (std::vector<bool>{true, false}));
    EXPECT_EQ(spare.more_of(*requests[0]), 0) << "the pod that runs is there again";
}

TEST(show_overview, what_two_pods_have_of_a_card_is_divided_between_them) {
    const auto state =
        snapshot_of(card_node("a", 1) + running_pod("p", "a", 0, 10240) + running_pod("q", "a", 0, 20480));
    EXPECT_EQ(show::used_by_pods(state), (std::vector<std::int64_t>{250, 500}));
    EXPECT_EQ(show::asked_by(state, state.bound[0].pod.request), 250);
}

TEST(show_overview, a_pod_whose_gang_is_short_waits_for_its_gang) {
    const std::string group = "scheduling.k8s.io/group-name: g,";
    const std::string text = card_node("a", 1) + pod_object("p0", 30000, {.annotations = group}) +
                             pod_object("p1", 30000, {.annotations = group});
    const auto seen = show::overview_of(objects(text), {});
    ASSERT_TRUE(seen.has_value());
    ASSERT_EQ(seen->waiting.size(), 2U);
    EXPECT_EQ(seen->waiting[0].why, show::verdict::gang);
}

/// Labels of a card_node() beside its own.
std::string with_labels(std::string node, const std::string& labels) {
    return node.replace(node.find("}\n"), 1, ", " + labels + "}");
}

TEST(show_overview, used_is_the_same_by_whatever_it_is_counted_and_idle_adds_up_on_some_nodes) {
    vgpualloc::rng random{37};
    for (int i = 0; i < clusters_drawn / 10; ++i) {
        const std::string text = random_cluster(random) + with_labels(card_node("z", 2), "rack: r1") +
                                 running_pod("rz", "z", 0, 20000, "labels: {kueue.x-k8s.io/queue-name: q},");
        for (const char* const set : {"", "z", "n*", "rack", "!rack"}) {
            std::optional<std::int64_t> used;
            for (const char* const by : {"pool", "kind", "node", "rack", "resource", "namespace", "queue", "owner"}) {
                const auto seen = show::overview_of(objects(text), {}, {.nodes = set, .by = by});
                ASSERT_TRUE(seen.has_value()) << seen.error().message();
                std::int64_t sum = 0;
                for (const auto& row : seen->rows) sum += row.parts[0];
                for (const auto& row : seen->pod_rows) sum += row.used;
                ASSERT_EQ(sum, seen->parts[0]) << by << ", " << set << "\n" << text;
                ASSERT_EQ(used.value_or(sum), sum) << by << ", " << set << "\n" << text;
                used = sum;
                for (const auto& shape : seen->shapes) {
                    ASSERT_EQ(total_of(shape.idle), seen->parts[1] + seen->parts[2]) << set << "\n" << text;
                    ASSERT_EQ(shape.wrong.model + shape.wrong.layout + shape.wrong.rules, shape.idle[3]) << text;
                }
                ASSERT_EQ(seen->mean_wrong.model + seen->mean_wrong.layout + seen->mean_wrong.rules, seen->mean[3]);
            }
        }
    }
}

TEST(show_overview, a_set_of_nodes_is_a_cluster_of_its_own_but_for_verdicts) {
    const std::string some = card_node("a", 2) + running_pod("r", "a", 0, 30000);
    const std::string others = card_node("b", 1);
    const std::string waiting = pod_object("w", 40000);
    const auto alone = show::overview_of(objects(some + waiting), {});
    const auto chosen = show::overview_of(objects(some + others + waiting), {}, {.nodes = "a"});
    ASSERT_TRUE(alone && chosen);
    EXPECT_EQ(chosen->parts, alone->parts);
    ASSERT_EQ(chosen->shapes.size(), alone->shapes.size());
    for (std::size_t i = 0; i < alone->shapes.size(); ++i) {
        EXPECT_EQ(chosen->shapes[i].name, alone->shapes[i].name);
        EXPECT_EQ(chosen->shapes[i].more, alone->shapes[i].more);
        EXPECT_EQ(chosen->shapes[i].idle, alone->shapes[i].idle);
    }
    const auto full = show::overview_of(
        objects(some + others + running_pod("s", "a", 1, 40000) + running_pod("t", "b", 0, 1000) + waiting), {},
        {.nodes = "b"});
    ASSERT_TRUE(full.has_value());
    EXPECT_EQ(full->pods_run, 1);
    ASSERT_EQ(full->waiting.size(), 1U);
    EXPECT_EQ(full->waiting[0].why, show::verdict::scattered) << "what is free on node a counts";
}

TEST(show_overview, owners_are_the_topmost_that_the_objects_name) {
    const std::string made = "ownerReferences: [{kind: ReplicaSet, name: web-5d4f, controller: true}],";
    const std::string set = "---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web-5d4f, namespace: ns, "
                            "ownerReferences: [{kind: Deployment, name: site, controller: true}]}\nspec: {replicas: 1, "
                            "template: {spec: {containers: [{name: c, image: i}]}}}\n";
    const std::string pod = card_node("a", 1) + running_pod("p", "a", 0, 1000, made);
    const std::string hashed =
        card_node("a", 1) + running_pod("p", "a", 0, 1000, made + " labels: {pod-template-hash: 5d4f},");
    const auto owner_in = [](const std::string& text) {
        const auto seen = show::overview_of(objects(text), {}, {.by = "owner"});
        EXPECT_TRUE(seen && seen->pod_rows.size() == 1);
        return seen && !seen->pod_rows.empty() ? seen->pod_rows[0].name : "";
    };
    EXPECT_EQ(owner_in(pod), "ns/web-5d4f ReplicaSet");
    EXPECT_EQ(owner_in(pod + set), "ns/site Deployment");
    EXPECT_EQ(owner_in(hashed), "ns/web Deployment");
    EXPECT_EQ(owner_in(card_node("a", 1) + running_pod("p", "a", 0, 1000, " ")), "ns/p Pod");
}

} // namespace
