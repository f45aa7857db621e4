// Room for a pod of a living cluster: the plan, who may move, and that the cluster goes on meanwhile.
#include "vgpualloc/operate/room.hpp"

#include <gtest/gtest.h>

#include "unit/operations/clusters.hpp"

namespace {

using namespace cluster_test;
using vgpualloc::error_code;
using vgpualloc::live_cluster;
using vgpualloc::operate::room_options;
using vgpualloc::operate::room_question;

std::string controlled(const std::string& name, int card, int memory) {
    return running_pod(name, "a", card, memory,
                       "uid: u-" + name + ", ownerReferences: [{kind: ReplicaSet, name: r, controller: true}],") +
           "status: {phase: Running}\n";
}

std::unique_ptr<live_cluster> following(const std::string& yaml) {
    auto live = live_cluster::make({.policy = "binpack"});
    EXPECT_TRUE(live) << live.error().message();
    for (const auto& object : objects(yaml)) (*live)->upsert(object);
    return *std::move(live);
}

const std::string two_halves = card_node("a", 2) + controlled("q", 0, 15'000) + controlled("r", 1, 15'000);

TEST(room, names_the_pods_that_move_and_where_the_one_that_waits_goes) {
    const auto live = following(two_halves + pod_object("p", 30'000));
    auto question = room_question::ask(*live, "ns/p", {});
    ASSERT_TRUE(question) << question.error().message();
    EXPECT_TRUE(live->remove_pod("u-q")) << "the cluster goes on while a plan is made";
    const auto room = question->answer();
    ASSERT_TRUE(room);
    ASSERT_EQ(room->moves.size(), 1U);
    EXPECT_TRUE(room->fewest_moves);
    const auto& move = room->moves[0];
    EXPECT_EQ(move.uid, "u-" + move.pod.substr(3));
    EXPECT_EQ(move.from.node, "a");
    ASSERT_EQ(move.from.shares.size(), 1U);
    EXPECT_NE(move.from.shares[0].uuid, move.to.shares[0].uuid);
    EXPECT_EQ(room->where.shares.at(0).uuid, move.from.shares[0].uuid) << "the pod gets the card that is left";
    EXPECT_GT(move.cost.downtime, vgpualloc::ticks{0});
}

TEST(room, says_why_there_is_none) {
    const auto live = following(two_halves + pod_object("p", 30'000));
    auto without_moves = room_question::ask(*live, "ns/p", {.budget = {.moves_max = 0}});
    ASSERT_TRUE(without_moves);
    const auto none = without_moves->answer();
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().reason, vgpualloc::plan::no_room_reason::none_within_moves);
    auto kept = room_question::ask(*live, "ns/p", {.movable = {.namespaces_kept = {"ns"}}});
    EXPECT_FALSE(kept->answer()) << "nobody may move";
}

TEST(room, is_asked_for_a_pod_that_waits) {
    const auto live =
        following(two_halves + pod_object("p", 30'000) +
                  pod_object("gated", 1, {.spec = "schedulingGates: [{name: g}],"}) + pod_object("odd", -1));
    const auto code_of = [&](const std::string& uid) { return room_question::ask(*live, uid, {}).error().code; };
    EXPECT_EQ(code_of("nobody"), error_code::unknown_name);
    EXPECT_EQ(code_of("u-q"), error_code::unsupported) << "it has something";
    EXPECT_EQ(code_of("ns/gated"), error_code::unsupported);
    EXPECT_FALSE(room_question::ask(*live, "ns/odd", {})) << "no scheduler can serve it";
}

} // namespace
