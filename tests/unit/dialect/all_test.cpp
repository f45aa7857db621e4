// The list of dialects, the set of one cluster, and what a configuration makes of them.
#include "vgpualloc/dialect/all.hpp"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.hpp"

namespace {

using namespace vgpualloc;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using vgpualloc::test::limited;
using vgpualloc::test::pod_of;

TEST(dialect_list, names_are_different_and_those_of_the_dialects) {
    const dialect_config config;
    std::set<std::string_view> names;
    for (const dialect_entry& entry : dialect_list) {
        EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
        EXPECT_FALSE(entry.summary.empty()) << entry.name;
        if (entry.make == nullptr) continue;
        EXPECT_EQ(entry.make(config)->name(), entry.name);
    }
}

TEST(dialect_list, a_set_has_those_that_spell_kubernetes_objects_in_the_order_of_the_list) {
    const dialect_set dialects;
    std::size_t position = 0;
    for (const dialect_entry& entry : dialect_list) {
        if (entry.make == nullptr) {
            EXPECT_EQ(dialects.find(entry.name), nullptr) << entry.name;
            continue;
        }
        EXPECT_EQ(&dialects[position++], dialects.find(entry.name)) << entry.name;
    }
    EXPECT_EQ(position, dialects.size());
    EXPECT_EQ(dialects.find("unknown"), nullptr);
}

TEST(dialect_list, every_dialect_reads_nothing_from_objects_of_others) {
    const dialect_set dialects;
    const kubernetes::node node{.name = "n", .labels = {}, .annotations = {}, .allocatable = {}, .capacity = {}};
    const auto pod = pod_of({limited({})});
    for (const auto& spoken : dialects) {
        const auto reading = spoken->read_node({.object = node});
        EXPECT_THAT(reading.devices, IsEmpty()) << spoken->name();
        EXPECT_THAT(reading.problems, IsEmpty()) << spoken->name();
        EXPECT_THAT(reading.warnings, IsEmpty()) << spoken->name();
        EXPECT_FALSE(spoken->requests(pod)) << spoken->name();
        EXPECT_THAT(spoken->read_assignment(pod, {}).problems, IsEmpty()) << spoken->name();
        EXPECT_EQ(spoken->binding_node(pod), "") << spoken->name();
        EXPECT_EQ(spoken->extended_of(node), 0) << spoken->name();
        EXPECT_EQ(spoken->extended_of(pod), 0) << spoken->name();
        EXPECT_THAT(spoken->resources(), Not(IsEmpty())) << spoken->name();
    }
}

TEST(dialect_set, a_pod_may_ask_in_several) {
    const dialect_set dialects;
    const auto both = dialects.asked_by(pod_of({limited({{"volcano.sh/vgpu-number", 1}, {"nvidia.com/gpu", 1}})}));
    ASSERT_THAT(both, SizeIs(2));
    EXPECT_EQ(dialects[both[0]].name(), "volcano_vgpu");
    EXPECT_EQ(dialects[both[1]].name(), "hami");
}

TEST(dialect_set, a_pod_is_being_bound_where_an_annotation_says_unless_that_failed) {
    const dialect_set dialects;
    auto pod = pod_of({});
    pod.annotations = {{"hami.io/vgpu-node", "n1"}, {"volcano.sh/vgpu-node", "n0"}};
    EXPECT_EQ(dialects.binding_node(pod), "n0") << "the first of the list";
    pod.annotations["volcano.sh/bind-phase"] = "failed";
    EXPECT_EQ(dialects.binding_node(pod), "n1");
    pod.annotations["hami.io/bind-phase"] = "failed";
    EXPECT_EQ(dialects.binding_node(pod), "");
}

TEST(dialect_set, resources_of_a_vendor_that_nobody_reads_are_told) {
    const dialect_set dialects;
    const auto words_of = [&](const std::string& resource) {
        auto pod = pod_of({{.name = "c", .limits = {{resource, 1}}, .requests = {{resource, 1}}}});
        const auto problems = dialects.mistaken_resources(pod);
        return problems.empty() ? std::string{} : problems.front().message();
    };
    EXPECT_EQ(words_of("volcano.sh/vgpu-number"), "");
    EXPECT_EQ(words_of("example.com/anything"), "");
    EXPECT_THAT(words_of("volcano.sh/vgpu-numbr"), HasSubstr("volcano.sh/vgpu-number, which is most likely meant"));
    EXPECT_THAT(words_of("volcano.sh/vgpu-cores"),
                HasSubstr("volcano.sh/vgpu-number or volcano.sh/vgpu-memory in the limits"));
    EXPECT_THAT(words_of("nvidia.com/priority"), HasSubstr("nvidia.com/gpu beside it"));
    EXPECT_THAT(words_of("huawei.com/npu-core"), HasSubstr("label ring-controller.atlas"));
}

TEST(dialect_set, resources_that_nobody_reads_are_named) {
    const dialect_set dialects;
    auto pod = pod_of({{.name = "c",
                        .limits = {},
                        .requests = {{"hygon.com/dcunum", 1},
                                     {"nvidia.com/mig-1g.5gb", 2}, // NVIDIA's own plugin
                                     {"nvidia.com/gpu", 1},
                                     {"example.kubernetes.io/own", 1}}}});
    pod.init_containers = {{.name = "i", .limits = {}, .requests = {{"volcano.sh/vgpu-number", 4}}}};
    std::vector<std::string> told;
    for (const auto& unread : dialects.resources_not_read(pod)) {
        told.push_back(unread.container + ": " + unread.resource + " " + unread.amount + unread.ignored);
    }
    EXPECT_THAT(told, ElementsAre("init container i: volcano.sh/vgpu-number 4volcano_vgpu",
                                  "container c: example.kubernetes.io/own 1", "container c: hygon.com/dcunum 1"));
}

TEST(dialect_set, deviceshare_serves_what_its_arguments_enable) {
    const dialect_set dialects;
    dialects::volcano::plugin_arguments arguments;
    const auto pod = pod_of({limited({{"volcano.sh/gpu-number", 1}})});
    EXPECT_TRUE(dialects.check_enabled(arguments, "", pod).has_value()) << "it asks for no device";
    EXPECT_EQ(dialects.check_enabled(arguments, "gpushare", pod).error().expected,
              "argument deviceshare.GPUNumberEnable: true");
    arguments.gpu_number = true;
    EXPECT_TRUE(dialects.check_enabled(arguments, "gpushare", pod).has_value());
    EXPECT_EQ(dialects.check_enabled(arguments, "hami", pod).error().expected,
              "a dialect that plugin deviceshare serves: volcano_vgpu, gpushare, ascend_hami, mindcluster");
}

TEST(dialect_set, vgpualloc_serves_everything_that_no_argument_is_about) {
    const dialect_set dialects;
    dialects::volcano::plugin_arguments arguments;
    const auto pod = pod_of({limited({{"volcano.sh/gpu-number", 1}})});
    EXPECT_TRUE(dialects.check_served(arguments, "gpushare", pod).has_value()) << "nothing is enabled: everything is";
    arguments.vgpu = true;
    EXPECT_EQ(dialects.check_served(arguments, "gpushare", pod).error().expected,
              "argument deviceshare.GPUNumberEnable: true");
    EXPECT_TRUE(dialects.check_served(arguments, "volcano_vgpu", pod).has_value());
    EXPECT_TRUE(dialects.check_served(arguments, "hami", pod).has_value()) << "it has no argument";
    EXPECT_TRUE(dialects.check_served(arguments, "", pod).has_value()) << "it asks for no device";
    arguments = {.preset_virtual_devices = true};
    EXPECT_EQ(dialects.check_served(arguments, "mindcluster", pod).error().field, "presetVirtualDevice");
}

TEST(dialect_config, a_device_configuration_replaces_names_and_npus) {
    const auto base = make_dialect_config();
    EXPECT_FALSE(base.devices.vnpus.empty()) << "those of the catalog";
    const auto changed = with_device_config(
        base, R"({"nvidia":{"resourceCountName":"example.com/gpus","resourceMemoryName":"example.com/mem",
                  "gpuMemoryFactor":10},"vnpus":[]})",
        "f.json");
    ASSERT_TRUE(changed.has_value()) << changed.error().message();
    EXPECT_THAT(changed->devices.vnpus, IsEmpty());
    EXPECT_FALSE(changed->off.empty());
    for (const switched_off& entry : changed->off) EXPECT_EQ(entry.by, "f.json") << entry.resource;
    EXPECT_THAT(notes_of(*changed), ElementsAre(HasSubstr("f.json switches off")));
    const dialect_set dialects{*changed};
    EXPECT_TRUE(dialects.find("volcano_vgpu")->requests(pod_of({limited({{"example.com/gpus", 1}})})));
    EXPECT_THAT(dialects.find("volcano_vgpu")->notes(), ElementsAre(HasSubstr("units of 10 MiB")));
    EXPECT_THAT(dialects.find("ascend_hami")->resources(), IsEmpty());
    EXPECT_FALSE(with_device_config(base, "{", "f.json").has_value());
}

TEST(dialect_config, configurations_add_up_and_what_none_of_them_names_stays) {
    const auto base = make_dialect_config();
    const std::string vgpu = R"({"nvidia":{"resourceCountName":"example.com/gpus","gpuMemoryFactor":1}})";
    const std::string npus = R"({"vnpus":[{"commonWord":"A","resourceName":"a/A","memoryAllocatable":1,
                                           "memoryCapacity":1,"aiCore":1}]})";
    const auto first = with_device_config(base, vgpu, "first");
    ASSERT_TRUE(first.has_value()) << first.error().message();
    EXPECT_EQ(first->devices.vnpus, base.devices.vnpus) << "nobody has named NPUs";
    const auto second = with_device_config(*first, npus, "second");
    ASSERT_TRUE(second.has_value()) << second.error().message();
    EXPECT_THAT(second->devices.vnpus, SizeIs(1));
    EXPECT_EQ(second->devices.vgpu, first->devices.vgpu);
    EXPECT_TRUE(with_device_config(*second, vgpu, "third").has_value()) << "it says the same";

    const auto renamed =
        with_device_config(*second, R"({"nvidia":{"resourceCountName":"b/b","gpuMemoryFactor":1}})", "x");
    ASSERT_FALSE(renamed.has_value());
    EXPECT_EQ(renamed.error().message(), "x: nvidia: the same as in first, which configures it too");
    const auto other = with_device_config(*second, R"({"vnpus":[{"commonWord":"B","resourceName":"a/A",
        "memoryAllocatable":1,"memoryCapacity":1,"aiCore":1}]})",
                                          "x");
    ASSERT_FALSE(other.has_value());
    EXPECT_EQ(other.error().message(),
              "x: vnpus: got 'B, a/A', expected the same as in second, which configures it too");
    const auto soft = with_device_config(*second, R"({"vnpus":{"hamiVnpuCore":true}})", "x");
    ASSERT_FALSE(soft.has_value());
    EXPECT_EQ(soft.error().field, "vnpus.hamiVnpuCore");
    const auto newer = with_device_config(*second, R"({"vnpus":{"hamiVersion":"2.10"}})", "x");
    ASSERT_FALSE(newer.has_value());
    EXPECT_EQ(newer.error().field, "vnpus.hamiVersion");
}

TEST(dialect_set, what_pods_need_and_nodes_offer) {
    const dialect_set dialects;
    auto pod = pod_of({{.name = "c", .limits = {}, .requests = {{"example.com/a", 1}, {"example.com/none", 0}}}});
    pod.init_containers = {{.name = "i", .limits = {}, .requests = {{"example.com/b", 1}, {"kubernetes.io/c", 1}}}};
    EXPECT_THAT(dialects.resources_needed(pod), ElementsAre("example.com/a", "example.com/b", "kubernetes.io/c"));
    EXPECT_THAT(dialects.resources_needed(pod_of({limited({{"nvidia.com/gpumem", 1}})})),
                testing::Contains("nvidia.com/gpu"));
    const kubernetes::node node{.name = "n",
                                .labels = {},
                                .annotations = {},
                                .allocatable = {{"a/b", "1k"}, {"a/c", "0"}, {"a/d", "x"}, {"cpu", "4"}},
                                .capacity = {}};
    EXPECT_THAT(dialects.resources_offered(node), ElementsAre("a/b"));
}

} // namespace
