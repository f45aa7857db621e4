#include "vgpuops/snapshot/audit.hpp"

#include <gtest/gtest.h>

#include "../clusters.hpp"

namespace {

using namespace cluster_test;
namespace snapshots = vgpuops::snapshots;

snapshots::audit audit_of(const std::string& text) { return snapshots::audit_of(objects(text), snapshot_of(text)); }

std::string messages(const snapshots::audit& audited) {
    std::string text;
    for (const auto& problem : audited.differences) text += problem.message() + "\n";
    return text;
}

TEST(audit, finds_the_ledger_to_be_what_the_annotations_say) {
    const auto audited = audit_of(card_node("a", 2) + running_pod("r0", "a", 0, 20000) +
                                  running_pod("r1", "a", 1, 3000) + pod_object("waits", 1));
    EXPECT_EQ(messages(audited), "");
    ASSERT_EQ(audited.dialects.size(), 1U);
    const auto& entry = audited.dialects[0];
    EXPECT_EQ(entry.dialect, "volcano_vgpu");
    EXPECT_EQ(entry.counted, entry.annotated);
    EXPECT_EQ(entry.counted.memory_mib, 23000);
    EXPECT_EQ(entry.counted.devices, 2);
    EXPECT_EQ(entry.running, 2);
    EXPECT_EQ(entry.waiting, 1);
    EXPECT_EQ(audited.written_back, 2);
}

TEST(audit, names_who_has_a_device_that_is_given_out_twice) {
    const std::string text =
        messages(audit_of(card_node("a", 1) + running_pod("r0", "a", 0, 30000) + running_pod("r1", "a", 0, 30000)));
    EXPECT_NE(text.find("ns/r0 (slice 30000 MiB, compute not limited), ns/r1 (slice 30000 MiB"), std::string::npos)
        << text;
}

TEST(audit, tells_devices_and_nodes_that_are_not_there) {
    const std::string text = messages(
        audit_of(card_node("a", 1) + running_pod("lost", "gone", 0, 10) +
                 pod_object("odd", 10,
                            {.annotations = "volcano.sh/vgpu-ids-new: 'GPU-x,NVIDIA,10,0:'", .spec = "nodeName: a,"})));
    EXPECT_NE(text.find("ns/lost: node: got 'gone'"), std::string::npos) << text;
    EXPECT_NE(text.find("GPU-x"), std::string::npos) << text;
}

TEST(audit, tells_devices_of_containers_that_ask_for_none) {
    const std::string text =
        card_node("a", 2) + pod_object("odd", 10,
                                       {.annotations = "volcano.sh/vgpu-ids-new: "
                                                       "'GPU-a-0,NVIDIA,10,0:;GPU-a-1,NVIDIA,10,0:'",
                                        .spec = "nodeName: a, initContainers: [{name: i}],"});
    EXPECT_FALSE(audit_of(text).differences.empty());
}

TEST(audit, tells_a_ledger_that_counts_something_else_than_the_annotations) {
    const std::string text = card_node("a", 1) + running_pod("r", "a", 0, 10000);
    auto state = snapshot_of(text);
    ASSERT_TRUE(state.book->release(vgpualloc::pod_id{0}).has_value()); // a booking that went lost
    state.bound.own_items().clear();
    const auto audited = snapshots::audit_of(objects(text), state);
    EXPECT_NE(messages(audited).find("device GPU-a-0: got '0 MiB, cores 0, 0 containers'"), std::string::npos)
        << messages(audited);
    EXPECT_NE(audited.dialects[0].counted, audited.dialects[0].annotated);
}

} // namespace
