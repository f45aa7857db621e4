#include "vgpuops/whatif/catalog_kinds.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../clusters.hpp"
#include "vgpuops/whatif/answer.hpp"

namespace {

using namespace cluster_test;
namespace whatif = vgpuops::whatif;
using testing::HasSubstr;

const std::string waiting_objects = card_node("a", 1) + card_node("a100-40gb-hami_core-8", 0) +
                                    running_pod("r0", "a", 0, 40960) + pod_object("p0", 30000) +
                                    pod_object("p1", 30000) + pod_object("p2", 30000);

/// A question about kinds, and the objects of the nodes that stand for them.
class described {
public:
    explicit described(const std::string& yaml = waiting_objects)
        : objects_{objects(yaml)}, cluster_{snapshot_of(yaml)}, kinds_{objects_, cluster_, catalog_} {}

    std::string name_of(const std::string& kind) {
        const auto name = kinds_.node_for(kind, "--find-nodes");
        EXPECT_TRUE(name.has_value()) << name.error().message();
        return name.value_or("");
    }
    std::string refusal_of(const std::string& kind) {
        const auto name = kinds_.node_for(kind, "--find-nodes");
        return name ? "none" : name.error().message();
    }
    /// All nodes asked for, as a cluster.
    kube::snapshot nodes() {
        const auto made = std::move(kinds_).take_objects();
        auto state = kube::make_snapshot(made, {});
        EXPECT_TRUE(state.has_value() && state->warnings.empty());
        return *std::move(state);
    }

private:
    vgpualloc::hardware_catalog catalog_ = vgpualloc::built_in_catalog();
    std::vector<kube::manifest> objects_;
    kube::snapshot cluster_;
    whatif::catalog_kinds kinds_;
};

TEST(whatif_catalog_kinds, names_of_nodes_are_no_descriptions) {
    EXPECT_FALSE(whatif::is_described("gpu-node-1.example.org"));
    EXPECT_FALSE(whatif::is_described(""));
    EXPECT_TRUE(whatif::is_described("A100-40GB:mig:8"));
    EXPECT_TRUE(whatif::is_described("{}"));
}

TEST(whatif_catalog_kinds, what_is_left_open_is_as_in_the_cluster) {
    described question;
    EXPECT_EQ(question.name_of("H100-80GB:hami_core:4"), "h100-80gb-hami-core-4");
    const auto state = question.nodes();
    const auto& node = state.nodes().nodes.front();
    EXPECT_EQ(node.cpu, vgpualloc::milli_cpu{16000}); // as card_node() has it
    EXPECT_EQ(vgpualloc::mib_down(node.memory), 65536);
    ASSERT_EQ(state.devices.front().size(), 4U);
    EXPECT_EQ(state.devices.front()[3].dialect, "volcano_vgpu");
    EXPECT_EQ(state.devices.front()[3].registered.memory, vgpualloc::mib{81559}); // as the catalog has it
}

TEST(whatif_catalog_kinds, amounts_and_more_may_be_said) {
    described question;
    question.name_of("Ascend910B3:ascend_vir:2:4000:1024");
    question.name_of(R"({"kind": "T4", "device_memory_mib": 15360, "mode": "mps", "dialect": "hami", "devices": 1,
                         "prefix": "edge", "labels": {"a": "b"}})");
    const auto state = question.nodes();
    ASSERT_EQ(state.nodes().nodes.size(), 2U);
    EXPECT_EQ(state.nodes().nodes[0].cpu, vgpualloc::milli_cpu{4000});
    EXPECT_EQ(vgpualloc::mib_down(state.nodes().nodes[0].memory), 1024);
    EXPECT_EQ(state.nodes().nodes[1].name, "edge");
    EXPECT_EQ(*state.nodes().nodes[1].host.label("a"), "b");
    EXPECT_EQ(state.devices[1].front().dialect, "hami");
}

TEST(whatif_catalog_kinds, a_kind_has_one_node_and_a_name_that_no_other_has) {
    described question{card_node("t4-mps-1", 1)};
    const std::string kind = R"({"kind": "T4", "device_memory_mib": 15360, "mode": "mps", "devices": 1})";
    EXPECT_EQ(question.name_of(kind), "t4-mps-1-2");
    EXPECT_EQ(question.name_of(kind), "t4-mps-1-2");
    EXPECT_EQ(question.name_of(R"({"kind": "T4", "device_memory_mib": 1000, "mode": "mps", "devices": 1})"),
              "t4-mps-1-3");
    EXPECT_EQ(question.nodes().nodes().nodes.size(), 2U);
}

// A 310P's node says what its devices are in a ConfigMap.
TEST(whatif_catalog_kinds, every_mode_is_counted_with_its_devices) {
    for (const char* kind :
         {"A100-40GB:hami_core:3", "A100-40GB:mig:3", "A100-40GB:mps:3", "Ascend910B3:ascend_vir:3",
          "Ascend310P:mindcluster_310p:3", R"({"kind": "A100-40GB", "mode": "cce", "dialect": "cce", "devices": 3})",
          R"({"kind": "A100-40GB", "mode": "exclusive", "dialect": "nvidia", "devices": 3})"}) {
        const auto answered =
            whatif::answer_of(objects(waiting_objects), {}, {.wanted = {.added_nodes = {{.kind = kind, .nodes = 2}}}});
        ASSERT_TRUE(answered.has_value()) << answered.error().message();
        EXPECT_EQ(answered->after.nodes, 4) << kind;
        EXPECT_EQ(answered->after.devices, 7) << kind;
    }
}

TEST(whatif_catalog_kinds, the_smallest_number_is_found_and_one_less_tried) {
    const auto answered =
        whatif::answer_of(objects(waiting_objects), {}, {.find_kind = "A100-40GB:hami_core:2:16000:65536"});
    ASSERT_TRUE(answered && answered->kind && answered->kind->found.nodes);
    EXPECT_EQ(*answered->kind->found.nodes, 2);
    EXPECT_FALSE(answered->kind->found.one_less.empty());
    EXPECT_EQ(answered->kind->kind, "a100-40gb-hami-core-2");
    EXPECT_EQ(answered->refused, 0);
    EXPECT_EQ(answered->after.nodes, 4);
}

TEST(whatif_catalog_kinds, what_is_no_description_is_refused_with_what_is_one) {
    described question;
    for (const char* kind : {"A100-40GB:mig", "A100-40GB:mig:", ":mig:8", "A100-40GB:mig:8:1", "A100-40GB:mig:x",
                             "A100-40GB:mig:8:1:2:3", "A100-40GB:mig:1e3", "A100-40GB:mig:99999999999999999999"}) {
        EXPECT_THAT(question.refusal_of(kind), HasSubstr("--find-nodes: got '" + std::string{kind} +
                                                         "', expected MODEL:MODE:DEVICES, MODEL:MODE:DEVICES:CPU"));
    }
    EXPECT_THAT(question.refusal_of("A100-4OGB:mig:8"),
                HasSubstr("--find-nodes: kind: got 'A100-4OGB', expected a GPU"));
    EXPECT_THAT(question.refusal_of("A100-40GB:mug:8"), HasSubstr("mode: got 'mug', expected one of hami_core, mig"));
    EXPECT_THAT(question.refusal_of("A100-40GB:mig:1025"), HasSubstr("devices: got '1025', expected a whole number"));
    EXPECT_THAT(question.refusal_of("A100-40GB:mig:1:-1:0"), HasSubstr("cpu_milli: got '-1'"));
    EXPECT_THAT(question.refusal_of(R"({"count": 3})"), HasSubstr("count"));
    EXPECT_THAT(question.refusal_of(R"({"kinds": 3})"), HasSubstr("kinds: unknown key"));
    EXPECT_THAT(question.refusal_of(R"({"kind": 3, "mode": "mig", "devices": 1})"), HasSubstr("kind"));
    EXPECT_THAT(question.refusal_of("{\"kind\": "), HasSubstr("--find-nodes:1:"));
    EXPECT_TRUE(question.refusal_of("Ascend910C:ascend_vir:3").find("an even number") != std::string::npos);
}

} // namespace
