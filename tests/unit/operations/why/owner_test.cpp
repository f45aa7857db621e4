#include "vgpuops/why/owner.hpp"

#include <gtest/gtest.h>

#include "../clusters.hpp"

namespace {

using namespace cluster_test;
namespace show = vgpuops::show;
namespace why = vgpuops::why;

std::string made_by(const std::string& kind, const std::string& name) {
    return "ownerReferences: [{kind: " + kind + ", name: " + name + ", controller: true}],";
}

/// A Deployment whose ReplicaSet is there: one pod runs, one fits nowhere as things are, and one never.
std::string deployment() {
    const std::string of_set = made_by("ReplicaSet", "web-1");
    return card_node("a", 1) + "---\nkind: ReplicaSet\nmetadata: {name: web-1, namespace: ns, " +
           made_by("Deployment", "web") + " uid: u}\n" + running_pod("web-1-a", "a", 0, 30000, of_set) +
           pod_object("web-1-b", 20000, {.metadata = of_set}) + pod_object("web-1-c", 50000, {.metadata = of_set}) +
           pod_object("other", 20000);
}

TEST(why_owner, has_its_pods_and_no_others) {
    const auto answered = why::owner_of(objects(deployment()), {}, "web");
    ASSERT_TRUE(answered.has_value() && *answered);
    const why::owner_answer& owner = **answered;
    EXPECT_EQ(owner.name + " " + owner.kind, "ns/web Deployment");
    EXPECT_EQ(owner.running.names, std::vector<std::string>{"ns/web-1-a"});
    EXPECT_EQ(owner.running.nodes, std::vector<std::string>{"a"});
    ASSERT_EQ(owner.waiting.groups.size(), 2U);
    EXPECT_EQ(owner.waiting.groups[0].verdict, show::verdict::all_used);
    EXPECT_EQ(owner.waiting.groups[1].verdict, show::verdict::never);
    EXPECT_EQ(owner.waiting.pods, 2);
}

TEST(why_owner, may_be_named_by_any_of_those_that_made_the_pods) {
    const auto set = why::owner_of(objects(deployment()), {}, "ns/web-1");
    ASSERT_TRUE(set.has_value() && *set);
    EXPECT_EQ((*set)->kind, "ReplicaSet");
    EXPECT_EQ((*set)->waiting.pods, 2);
    const auto nobody = why::owner_of(objects(deployment()), {}, "wob");
    ASSERT_TRUE(nobody.has_value());
    EXPECT_FALSE(nobody->has_value());
}

TEST(why_owner, of_two_namespaces_has_to_be_told_apart) {
    std::string elsewhere = pod_object("j-0", 1000, {.metadata = made_by("Job", "j")});
    const std::string here = elsewhere;
    elsewhere.replace(elsewhere.find("namespace: ns"), 13, "namespace: us");
    const auto answered = why::owner_of(objects(card_node("a", 1) + here + elsewhere), {}, "j");
    ASSERT_FALSE(answered.has_value());
    EXPECT_EQ(answered.error().message(),
              "--pod: got 'j', expected one owner of that name, with its namespace: ns/j, us/j");
}

TEST(why_owner, says_in_its_first_sentence_what_its_pods_do) {
    const auto answered = why::owner_of(objects(deployment()), {}, "web");
    ASSERT_TRUE(answered.has_value() && *answered);
    const std::string text = why::owner_text(**answered, {"c.yaml"});
    EXPECT_TRUE(text.starts_with("ns/web (Deployment): 1 pod runs, 2 wait: 1 all used, 1 never.\n")) << text;
    EXPECT_NE(text.find("would fit if: vgpusim why c.yaml --pod ns/web-1-b\n"), std::string::npos) << text;
    EXPECT_NE(why::owner_json(**answered).find("\"owner\": \"ns/web\""), std::string::npos);
}

} // namespace
