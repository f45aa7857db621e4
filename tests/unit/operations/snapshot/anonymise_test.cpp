#include "vgpuops/snapshot/anonymise.hpp"

#include <gtest/gtest.h>

#include "../clusters.hpp"
#include "vgpuops/snapshot/normalise.hpp"

namespace {

using namespace cluster_test;
namespace snapshots = vgpuops::snapshots;

std::string nameless(const std::string& text) {
    const auto documents = snapshots::cluster_documents(text, "f.yaml");
    EXPECT_TRUE(documents.has_value()) << documents.error().message();
    const auto list = snapshots::normalised(*documents, {});
    return snapshots::file_text(snapshots::anonymised(list, snapshot_of(snapshots::file_text(list))));
}

std::string decided_otherwise(const std::string& before, const std::string& after) {
    auto old_state = snapshot_of(before);
    auto new_state = snapshot_of(after);
    return snapshots::decided_otherwise(old_state, new_state);
}

/// A node with labels and a taint, in front of the status.
std::string labelled(const std::string& name, const std::string& labels) {
    std::string text = card_node(name, 2);
    const std::string own = "labels: {kubernetes.io/hostname: " + name + "}";
    text.replace(text.find(own), own.size(), "labels: {kubernetes.io/hostname: " + name + ", " + labels + "}");
    return text;
}

TEST(anonymise, no_name_stays_and_every_decision_does) {
    const std::string text =
        labelled("zeta-node", "secret.corp/tier: gold, secret.corp/gen: '12'") +
        labelled("eta-node", "secret.corp/tier: tin, secret.corp/gen: '7'") +
        running_pod("runs-zeta", "zeta-node", 1, 20000) +
        pod_object("by-label", 3000, {.spec = "nodeSelector: {secret.corp/tier: gold},"}) +
        pod_object("by-host", 3000, {.spec = "nodeSelector: {kubernetes.io/hostname: eta-node},"}) +
        pod_object("by-number", 3000,
                   {.spec =
                        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
                        "[{matchExpressions: [{key: secret.corp/gen, operator: Gt, values: ['9']}]}]}}},"}) +
        pod_object("by-field", 3000,
                   {.spec =
                        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
                        "[{matchFields: [{key: metadata.name, operator: In, values: [eta-node]}]}]}}},"}) +
        pod_object("by-uuid", 3000,
                   {.annotations = "volcano.sh/vgpu-use-gpuuuid: GPU-eta-node-1, secret.corp/owner: alice,"}) +
        pod_object("stray", 10, {.spec = "nodeName: vanished-node,"}) +
        "---\nkind: Queue\nmetadata: {name: gold-queue}\n";
    const std::string file = nameless(text);
    for (const char* const name : {"zeta", "eta-node", "runs", "by-", "secret", "gold", "tin", "alice", "vanished",
                                   "'12'", "stray", "\"ns\"", "GPU-"}) {
        EXPECT_EQ(file.find(name), std::string::npos) << name << "\n" << file;
    }
    EXPECT_NE(file.find("NVIDIA A100-SXM4-40GB"), std::string::npos);
    EXPECT_EQ(decided_otherwise(text, file), "");
    EXPECT_EQ(nameless(file), file) << "pseudonyms are their own pseudonyms";
}

TEST(anonymise, tells_a_cluster_that_is_decided_otherwise) {
    const std::string text = card_node("a", 2) + card_node("b", 2) + pod_object("p", 3000);
    EXPECT_EQ(decided_otherwise(text, card_node("a", 2) + card_node("b", 1) + pod_object("p", 3000)), "node 1");
    EXPECT_NE(decided_otherwise(text, card_node("a", 2) + card_node("b", 2) + pod_object("p", 3001)), "");
    EXPECT_NE(decided_otherwise(text, text + pod_object("q", 1)), "");
    EXPECT_NE(decided_otherwise(card_node("a", 2) + running_pod("r", "a", 0, 10),
                                card_node("a", 2) + running_pod("r", "a", 1, 10)),
              "");
}

TEST(anonymise, what_is_wrong_stays_wrong_and_has_no_names) {
    const std::string text =
        card_node("a", 1) +
        "---\nkind: Pod\nmetadata: {name: odd, labels: secret, annotations: [secret]}\nspec: {containers: secret, "
        "tolerations: secret, nodeSelector: [secret], affinity: secret, priority: secret}\n"
        "---\nkind: Pod\nmetadata: secret\nspec: secret\n"
        "---\nkind: Pod\nmetadata: {name: amounts}\nspec: {containers: [{name: m, resources: {limits: "
        "{volcano.sh/vgpu-number: secret, cpu: secretive}, secret: 1}}]}\n"
        "---\nkind: Node\nmetadata: {name: [secret]}\nspec: {taints: secret}\nstatus: secret\n";
    const std::string file = nameless(text);
    EXPECT_EQ(file.find("secret"), std::string::npos) << file;
    EXPECT_EQ(decided_otherwise(text, file), "");
}

} // namespace
