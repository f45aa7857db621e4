// Which pods of a cluster may be moved.
#include "vgpualloc/kube/mobility.hpp"

#include <gtest/gtest.h>

#include "unit/operations/clusters.hpp"

namespace {

namespace kube = vgpualloc::kube;
namespace clusters = cluster_test;

/// Whether the only pod of the objects, on card 0 of node a, may move.
bool moves(const std::string& metadata, const std::string& phase, const kube::mobility& rules = {}) {
    const auto all =
        clusters::objects(clusters::card_node("a", 1) + clusters::running_pod("p", "a", 0, 1000, metadata) +
                          "status: {phase: " + phase + "}\n");
    const auto state = kube::make_snapshot(all, {});
    EXPECT_TRUE(state && state->bound.size() == 1);
    return kube::may_move(state->bound[0], all[1], rules);
}

const std::string replica = "ownerReferences: [{kind: ReplicaSet, name: r, controller: true}],";

TEST(mobility, a_pod_moves_that_runs_and_that_somebody_makes_again) {
    EXPECT_TRUE(moves(replica, "Running"));
    EXPECT_FALSE(moves(replica, "Pending"));
    EXPECT_FALSE(moves("", "Running"));
    EXPECT_TRUE(moves("", "Running", {.without_controller = true}));
    EXPECT_FALSE(moves("ownerReferences: [{kind: DaemonSet, name: d, controller: true}],", "Running",
                       {.without_controller = true}))
        << "it belongs to its node";
    EXPECT_FALSE(moves(replica + "deletionTimestamp: '2026-01-01T00:00:00Z',", "Running"));
    EXPECT_FALSE(moves(replica, "Running", {.namespaces_kept = {"ns"}}));
    EXPECT_FALSE(moves(replica, "Running", {.labels = {{"app", "web"}}}));
    EXPECT_TRUE(moves(replica + "labels: {app: web, tier: x},", "Running", {.labels = {{"app", "web"}}}));
}

TEST(mobility, gates_are_named) {
    const auto all =
        clusters::objects(clusters::pod_object("p", 1, {.spec = "schedulingGates: [{name: g}, {name: h}],"}));
    const auto pod = kube::read_snapshot_pod(all[0], vgpualloc::dialect_set{});
    ASSERT_TRUE(pod);
    const auto gated = kube::why_held_back(*pod);
    ASSERT_TRUE(gated);
    EXPECT_EQ(gated->value, "g, h");
    EXPECT_FALSE(kube::why_held_back({}));
}

} // namespace
