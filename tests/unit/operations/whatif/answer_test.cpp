#include "vgpuops/whatif/answer.hpp"

#include <memory>
#include <string_view>

#include <gtest/gtest.h>

#include "../clusters.hpp"

namespace {

using namespace cluster_test;
namespace whatif = vgpuops::whatif;

const std::string three_pods_of_four = card_node("a", 2) + card_node("b", 2) + running_pod("r0", "a", 0, 20000) +
                                       running_pod("r1", "a", 1, 30000) + running_pod("r2", "b", 0, 40960) +
                                       pod_object("p0", 30000) + pod_object("p1", 30000);

vgpualloc::expected<whatif::answer> asked(const whatif::question& question,
                                          const std::string& text = three_pods_of_four) {
    return whatif::answer_of(objects(text), {}, question);
}

const whatif::pod_answer& of(const whatif::answer& answered, const std::string& name) {
    for (const auto& entry : answered.pods) {
        if (entry.asked.pod.name == name) return entry;
    }
    ADD_FAILURE() << "no answer for " << name;
    return answered.pods.front();
}

TEST(whatif_answer, places_what_fits_and_says_why_the_rest_does_not) {
    const auto answered = asked({});
    ASSERT_TRUE(answered.has_value());
    EXPECT_EQ(answered->placed, 1);
    EXPECT_EQ(of(*answered, "p0").placed.at(0).shares.at(0).uuid, "GPU-b-1");
    const auto& refused = of(*answered, "p1");
    EXPECT_EQ(refused.why, "0/2 nodes are available: 2 insufficient_device_memory.");
    ASSERT_EQ(refused.classes.size(), 1U);
    EXPECT_EQ(refused.classes[0].nodes, 2);
    EXPECT_EQ(refused.classes[0].closest.available, 20960);
    EXPECT_EQ(answered->before.pods, 3);
    EXPECT_EQ(answered->after.pods, 4);
    EXPECT_EQ(answered->after.memory_used_mib - answered->before.memory_used_mib, 30000);
}

TEST(whatif_answer, is_the_same_from_a_cluster_that_was_read_before) {
    const auto cluster = objects(three_pods_of_four);
    auto state = kube::make_snapshot(cluster, {});
    ASSERT_TRUE(state.has_value());
    const auto start = std::make_shared<const kube::snapshot>(*std::move(state));
    for (const char* const policy : {"bid_price", "best_fit"}) {
        const auto learned = whatif::learned_policies(*start, {.policy = policy});
        ASSERT_TRUE(learned.has_value());
        EXPECT_EQ(*learned != nullptr, std::string_view{policy} == "bid_price");
        for (const whatif::changes& wanted :
             {whatif::changes{}, whatif::changes{.drained = {"a"}}, whatif::changes{.failed = {{.node = "b"}}},
              whatif::changes{.added_nodes = {{.kind = "a", .nodes = 2}}},
              whatif::changes{.added_pods = objects(pod_object("more", 20000))}, whatif::changes{.anew = true}}) {
            const auto read_anew = whatif::answer_of(cluster, {}, {.wanted = wanted, .policy = policy});
            const auto from_start = whatif::answer_of(
                cluster, {}, {.wanted = wanted, .policy = policy, .start = start, .learned = *learned});
            ASSERT_TRUE(read_anew && from_start);
            EXPECT_EQ(whatif::answer_json(*from_start), whatif::answer_json(*read_anew));
        }
    }
    EXPECT_EQ(start->book->live_count(), 3U) << "nothing of the answers is in it";
}

TEST(whatif_answer, a_pod_that_nothing_makes_again_stops) {
    const std::string bare = card_node("a", 1) + card_node("b", 1) + running_pod("r", "a", 0, 20000, " ");
    const auto answered = asked({.wanted = {.drained = {"a"}}}, bare);
    ASSERT_TRUE(answered.has_value());
    ASSERT_EQ(answered->ended.size(), 1U);
    EXPECT_EQ(answered->ended[0].name, "ns/r");
    EXPECT_EQ(answered->ended[0].node, "a");
    EXPECT_EQ(answered->placed, 0);
}

TEST(whatif_answer, says_where_the_pods_of_a_drained_node_go) {
    const auto answered = asked({.wanted = {.drained = {"b"}}});
    ASSERT_TRUE(answered.has_value());
    const auto& moved = of(*answered, "r2");
    EXPECT_EQ(moved.asked.origin, whatif::pod_origin::evicted);
    EXPECT_EQ(moved.asked.from, "b");
    EXPECT_EQ(moved.refused, 1);
    EXPECT_EQ(moved.why, "0/2 nodes are available: 1 node_unschedulable, 1 insufficient_device_memory.");
}

TEST(whatif_answer, finds_nodes_and_places_on_so_many) {
    const auto answered = asked({.wanted = {.failed = {{.node = "b"}}}, .find_kind = "b"});
    ASSERT_TRUE(answered.has_value());
    ASSERT_TRUE(answered->kind && answered->kind->found.nodes);
    EXPECT_EQ(*answered->kind->found.nodes, 2);
    EXPECT_EQ(answered->refused, 0);
    EXPECT_EQ(answered->after.nodes, 3);
    EXPECT_EQ(whatif::answer_json(*answered),
              whatif::answer_json(*asked({.wanted = {.failed = {{.node = "b"}}}, .find_kind = "b"})));
}

TEST(whatif_answer, says_what_an_empty_node_answers_to_a_pod_that_never_fits) {
    const auto answered = asked({.find_kind = "a"}, three_pods_of_four + pod_object("huge", 50000));
    ASSERT_TRUE(answered.has_value());
    ASSERT_EQ(answered->kind->never.size(), 1U);
    EXPECT_EQ(answered->kind->never[0], "insufficient_device_memory: wanted 50000 MiB, available 40960 MiB");
    EXPECT_NE(whatif::answer_text(*answered).find("never, as it is"), std::string::npos);
}

TEST(whatif_answer, takes_kinds_from_templates) {
    const auto answered =
        asked({.wanted = {.added_nodes = {{.kind = "big", .nodes = 1}}}, .templates = objects(card_node("big", 8))});
    ASSERT_TRUE(answered.has_value());
    EXPECT_EQ(answered->before.nodes, 2);
    EXPECT_EQ(answered->after.devices, 12);
    EXPECT_EQ(answered->refused, 0);
}

TEST(whatif_answer, refuses_kinds_templates_and_policies_that_are_not_there) {
    EXPECT_EQ(asked({.find_kind = "c"}).error().message(),
              "--find-nodes: got 'c', expected a node of the cluster: a, b");
    EXPECT_NE(
        asked({.templates = objects(card_node("t", 1)), .find_kind = "c"}).error().message().find("or a template: t"),
        std::string::npos);
    EXPECT_NE(asked({.templates = objects(card_node("a", 1))}).error().message().find("no other template has"),
              std::string::npos);
    EXPECT_NE(asked({.templates = objects(pod_object("p", 1))}).error().message().find("an object of kind Node"),
              std::string::npos);
    EXPECT_FALSE(asked({.policy = "nope"}).has_value());
}

TEST(whatif_answer, words_hold_no_control_characters_of_names) {
    const std::string odd = "---\nkind: Node\nmetadata: {name: \"n\\u001b[31m\"}\nstatus: {allocatable: {cpu: '1'}}\n";
    const auto answered = asked({}, three_pods_of_four + odd);
    ASSERT_TRUE(answered.has_value());
    EXPECT_EQ(whatif::answer_text(*answered).find('\x1b'), std::string::npos);
}

TEST(whatif_answer, pods_that_a_quota_holds_back_wait_and_never_start) {
    const std::string quota =
        "---\nkind: ResourceQuota\nmetadata: {name: q, namespace: ns}\nspec: {hard: "
        "{requests.volcano.sh/vgpu-number: '1'}}\nstatus: {used: {requests.volcano.sh/vgpu-number: "
        "'0'}}\n";
    whatif::question question;
    question.wanted.added_pods = objects(pod_object("first", 100) + pod_object("second", 100));
    const auto answered = asked(question, card_node("a", 1) + quota);
    ASSERT_TRUE(answered.has_value());
    EXPECT_EQ(answered->placed, 1);
    EXPECT_EQ(answered->refused, 0);
    EXPECT_EQ(answered->held_back, 1);
    EXPECT_EQ(whatif::count_fates(*answered).waiting[static_cast<std::size_t>(vgpuops::show::verdict::quota)], 1);
    const std::string text = whatif::answer_text(*answered);
    EXPECT_NE(text.find("1 pod starts, 0 stop; 1 still waits (1 quota)."), std::string::npos) << text;
    EXPECT_NE(text.find(". ns/second  quota: requests.volcano.sh/vgpu-number 1 of 1 used, 1 more needed"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("not looked at"), std::string::npos) << text;
}

TEST(whatif_answer, what_a_budget_keeps_stays_on_a_drained_node) {
    const std::string budget =
        "---\nkind: PodDisruptionBudget\nmetadata: {name: keep, namespace: ns}\nspec: {selector: {}, "
        "maxUnavailable: 0}\n";
    std::string cluster = three_pods_of_four;
    for (const char* const name : {"r0", "r1", "r2"}) {
        const auto begin = cluster.find(std::string{"name: "} + name);
        cluster.insert(cluster.find("---", begin), "status: {phase: Running}\n");
    }
    const auto drained = asked({.wanted = {.drained = {"b"}}}, cluster + budget);
    ASSERT_TRUE(drained.has_value());
    ASSERT_EQ(drained->not_evicted.size(), 1U);
    EXPECT_EQ(drained->not_evicted[0].name, "ns/r2");
    EXPECT_EQ(drained->not_evicted[0].node, "b");
    EXPECT_NE(whatif::answer_text(*drained).find("not evicted, so kubectl drain waits for ever: ns/r2 "
                                                 "(PodDisruptionBudget keep allows no\n    disruption)\n"),
              std::string::npos);
    const auto failed = asked({.wanted = {.failed = {{.node = "b"}}}}, cluster + budget);
    ASSERT_TRUE(failed.has_value());
    EXPECT_TRUE(failed->not_evicted.empty()) << "a failure asks no budget";
    EXPECT_EQ(of(*failed, "r2").asked.origin, whatif::pod_origin::evicted);
}

} // namespace
