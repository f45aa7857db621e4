// MIG layouts by name, and nodes that are cut by them.
#include "vgpualloc/dialect/nvidia_layouts.hpp"

#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.hpp"
#include "vgpualloc/catalog/mig.hpp"

namespace nvidia_layouts_test {

using namespace vgpualloc;
namespace nvidia = dialects::nvidia;
using testing::ElementsAre;
using testing::HasSubstr;

const mig_model& model_named(const char* name) { return **find_model(built_in_mig_catalog(), name); }

/// "all-balanced: 1 x 3g.40gb, 1 x 2g.20gb, 2 x 1g.10gb".
std::vector<std::string> words_of(const std::vector<nvidia::layout>& layouts) {
    std::vector<std::string> words;
    for (const nvidia::layout& entry : layouts) {
        std::string text = entry.name + ":";
        for (const nvidia::layout_part& part : entry.parts) {
            text += (text.ends_with(':') ? " " : ", ") + std::to_string(part.instances) + " x " + part.profile;
        }
        words.push_back(std::move(text));
    }
    return words;
}

kubernetes::node node_with(const std::string& product, int gpus, const std::string& strategy = "") {
    kubernetes::node node{.name = "n",
                          .labels = {{"nvidia.com/gpu.product", product},
                                     {"nvidia.com/gpu.count", std::to_string(gpus)},
                                     {"nvidia.com/gpu.memory", "81920"},
                                     {"zone", "a"}},
                          .annotations = {},
                          .allocatable = {{"nvidia.com/gpu", std::to_string(gpus)}, {"cpu", "96"}},
                          .capacity = {{"nvidia.com/gpu", std::to_string(gpus)}, {"cpu", "96"}}};
    if (!strategy.empty()) node.labels["nvidia.com/mig.strategy"] = strategy;
    return node;
}

/// Cuts the node; the refusal, or nothing.
std::string cut(kubernetes::node& node, const std::string& layout) {
    const auto done = nvidia::cut_node(node, layout, {});
    return done ? "" : done.error().message();
}

// As default-mig-parted-config.yaml of the GPU operator has them.
TEST(nvidia_layouts, names_and_instances_are_those_of_the_mig_manager) {
    EXPECT_THAT(words_of(nvidia::layouts_of(model_named("A100-80GB"))),
                ElementsAre("all-disabled:", "all-1g.10gb: 7 x 1g.10gb", "all-1g.10gb.me: 1 x 1g.10gb+me",
                            "all-1g.20gb: 4 x 1g.20gb", "all-2g.20gb: 3 x 2g.20gb", "all-3g.40gb: 2 x 3g.40gb",
                            "all-4g.40gb: 1 x 4g.40gb", "all-7g.80gb: 1 x 7g.80gb",
                            "all-balanced: 1 x 3g.40gb, 1 x 2g.20gb, 2 x 1g.10gb"));
    EXPECT_THAT(words_of(nvidia::layouts_of(model_named("A30-24GB"))),
                ElementsAre("all-disabled:", "all-1g.6gb: 4 x 1g.6gb", "all-1g.6gb.me: 1 x 1g.6gb+me",
                            "all-2g.12gb: 2 x 2g.12gb", "all-2g.12gb.me: 1 x 2g.12gb+me", "all-4g.24gb: 1 x 4g.24gb",
                            "all-balanced: 1 x 2g.12gb, 2 x 1g.6gb"));
}

TEST(nvidia_layouts, a_node_is_cut_and_whole_again) {
    const kubernetes::node before = node_with("NVIDIA-A100-SXM4-80GB", 4, "mixed");
    kubernetes::node node = before;
    ASSERT_EQ(cut(node, "all-balanced"), "");
    EXPECT_EQ(node.allocatable, (kubernetes::text_map{{"cpu", "96"},
                                                      {"nvidia.com/mig-1g.10gb", "8"},
                                                      {"nvidia.com/mig-2g.20gb", "4"},
                                                      {"nvidia.com/mig-3g.40gb", "4"}}));
    EXPECT_EQ(node.capacity, node.allocatable);
    EXPECT_EQ(node.labels.at("nvidia.com/mig.config"), "all-balanced");
    EXPECT_EQ(node.labels.at("nvidia.com/mig-3g.40gb.product"), "NVIDIA-A100-SXM4-80GB-MIG-3g.40gb");
    EXPECT_EQ(node.labels.at("zone"), "a");
    EXPECT_EQ(nvidia::gpus_of(node, {})->layout, "all-balanced");
    ASSERT_EQ(cut(node, "all-disabled"), "");
    EXPECT_EQ(node.labels.erase("nvidia.com/mig.config"), 1U);
    EXPECT_EQ(node.labels, before.labels);
    EXPECT_EQ(node.allocatable, before.allocatable);
}

TEST(nvidia_layouts, a_node_of_strategy_single_counts_instances_as_gpus) {
    kubernetes::node node = node_with("NVIDIA-A100-SXM4-80GB", 4, "single");
    EXPECT_THAT(cut(node, "all-balanced"), HasSubstr("a layout of one profile, as the node's MIG strategy is single"));
    ASSERT_EQ(cut(node, "all-2g.20gb"), "");
    EXPECT_EQ(node.allocatable.at("nvidia.com/gpu"), "12");
    EXPECT_EQ(node.labels.at("nvidia.com/gpu.product"), "NVIDIA-A100-SXM4-80GB-MIG-2g.20gb");
    EXPECT_EQ(nvidia::gpus_of(node, {})->gpus, 4);
    ASSERT_EQ(cut(node, "all-3g.40gb"), "");
    EXPECT_EQ(node.allocatable.at("nvidia.com/gpu"), "8");
    ASSERT_EQ(cut(node, "all-disabled"), "");
    EXPECT_EQ(node.allocatable.at("nvidia.com/gpu"), "4");
}

// Of every model, every layout is read back as it was cut, on as many GPUs, from every other layout.
TEST(nvidia_layouts, every_layout_of_the_catalog_is_read_as_it_was_cut) {
    std::set<std::string> models;
    for (const mig_model& model : built_in_mig_catalog().models) {
        kubernetes::node node = node_with(model.name, 3, "mixed");
        for (const nvidia::layout& wanted : nvidia::layouts_of(model)) {
            ASSERT_EQ(cut(node, wanted.name), "") << model.name;
            const auto gpus = nvidia::gpus_of(node, {});
            ASSERT_TRUE(gpus.has_value()) << model.name << ' ' << wanted.name << ": " << gpus.error().message();
            EXPECT_EQ(gpus->gpus, 3) << model.name << ' ' << wanted.name;
            EXPECT_EQ(gpus->layout, wanted.name) << model.name;
            EXPECT_TRUE(nvidia::places_of(model, wanted.parts).has_value()) << model.name << ' ' << wanted.name;
            models.insert(model.name);
        }
    }
    EXPECT_EQ(models.size(), built_in_mig_catalog().models.size());
}

TEST(nvidia_layouts, what_cannot_be_cut_is_refused_with_what_can) {
    kubernetes::node node = node_with("NVIDIA-A100-SXM4-80GB", 4);
    EXPECT_THAT(cut(node, "all-1g.5gb"), HasSubstr("node n: got 'all-1g.5gb', expected a layout of A100-80GB: "
                                                   "all-disabled, all-1g.10gb, "));
    EXPECT_EQ(node.allocatable.at("nvidia.com/gpu"), "4") << "nothing has changed";
    EXPECT_THAT(cut(node, ""),
                HasSubstr("node n: got 'mig', expected mig:LAYOUT with a layout of A100-80GB: all-disabled"));
    kubernetes::node t4 = node_with("Tesla-T4", 4);
    EXPECT_THAT(cut(t4, "all-1g.10gb"),
                HasSubstr("got 'Tesla-T4', expected a GPU that the catalog has MIG profiles of"));
    kubernetes::node nameless = node_with("", 4);
    EXPECT_THAT(cut(nameless, "all-1g.10gb"),
                HasSubstr("node n: no label says which GPUs it has; expected a GPU that"));
    kubernetes::node shared = node_with("NVIDIA-A100-SXM4-80GB-SHARED", 8);
    shared.labels["nvidia.com/gpu.replicas"] = "2";
    EXPECT_THAT(cut(shared, "all-1g.10gb"), HasSubstr("got 'time_slicing'"));
    kubernetes::node none{.name = "n", .labels = {}, .annotations = {}, .allocatable = {{"cpu", "1"}}, .capacity = {}};
    EXPECT_THAT(cut(none, "all-1g.10gb"), HasSubstr("a node with GPUs of NVIDIA's own device plugin"));
}

} // namespace nvidia_layouts_test
