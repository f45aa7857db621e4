#include "vgpuops/snapshot/normalise.hpp"

#include <gtest/gtest.h>

#include "../clusters.hpp"

namespace {

using namespace cluster_test;
namespace snapshots = vgpuops::snapshots;

std::string written(const std::string& text) {
    const auto documents = snapshots::cluster_documents(text, "f.yaml");
    EXPECT_TRUE(documents.has_value()) << documents.error().message();
    return snapshots::file_text(snapshots::normalised(*documents, {}));
}

TEST(normalise, keeps_what_decides_and_reads_as_the_same_cluster) {
    const std::string text =
        card_node("a", 2) + running_pod("runs", "a", 1, 20000) +
        pod_object(
            "waits", 3000,
            {.spec = "priority: 7, nodeSelector: {kubernetes.io/hostname: a}, tolerations: [{operator: Exists}],"}) +
        "---\nkind: ResourceQuota\nmetadata: {name: q, namespace: ns}\n";
    const std::string file = written(text);
    EXPECT_EQ(snapshots::difference_of(snapshot_of(text), snapshot_of(file)), "");
    EXPECT_EQ(file.find("secret/image"), std::string::npos);
    EXPECT_EQ(written(file), file) << "a normalised file is its own";
}

TEST(normalise, leaves_out_pods_that_have_ended_and_objects_told_twice) {
    const std::string text = card_node("a", 1) + card_node("a", 2) + pod_object("ended", 10) +
                             "status: {phase: Succeeded}\n" + pod_object("waits", 10) + pod_object("waits", 20) +
                             "---\nkind: ConfigMap\nmetadata: {name: other}\n";
    const auto state = snapshot_of(written(text));
    EXPECT_EQ(state.nodes().nodes.size(), 1U);
    EXPECT_EQ(state.nodes().nodes[0].devices.size(), 1U);
    ASSERT_EQ(state.pending.size(), 1U);
    EXPECT_EQ(state.pending[0].name, "waits");
    EXPECT_EQ(written(text).find("ConfigMap"), std::string::npos);
}

TEST(normalise, keeps_what_cannot_be_read_as_it_is) {
    const std::string text =
        card_node("a", 1) + "---\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [], tolerations: 3}\n";
    const auto before = snapshot_of(text);
    const auto after = snapshot_of(written(text));
    ASSERT_TRUE(before.pending[0].failure && after.pending[0].failure);
    EXPECT_EQ(before.pending[0].failure->expected, after.pending[0].failure->expected);
    EXPECT_EQ(before.warnings.size(), after.warnings.size());
}

TEST(normalise, says_the_first_difference) {
    const std::string one = card_node("a", 1) + pod_object("waits", 10);
    EXPECT_EQ(snapshots::difference_of(snapshot_of(one), snapshot_of(card_node("a", 2) + pod_object("waits", 10))),
              "node a");
    EXPECT_EQ(snapshots::difference_of(snapshot_of(one), snapshot_of(card_node("a", 1) + pod_object("waits", 11))),
              "pod ns/waits");
    const std::string runs = card_node("a", 1) + running_pod("r", "a", 0, 10);
    const std::string more = card_node("a", 1) + running_pod("r", "a", 0, 11);
    EXPECT_NE(snapshots::difference_of(snapshot_of(runs), snapshot_of(more)), "");
}

TEST(normalise, refuses_what_is_no_object) {
    const auto documents = snapshots::cluster_documents("- 1\n", "f.yaml");
    ASSERT_FALSE(documents.has_value());
    EXPECT_EQ(documents.error().message().substr(0, 8), "f.yaml:1");
}

} // namespace
