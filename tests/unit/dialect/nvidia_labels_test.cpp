// What labels of clouds, and the device plugin's configuration, say of nodes without those of GPU feature discovery.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "vgpualloc/dialect/nvidia.hpp"

namespace {

using namespace vgpualloc;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

kubernetes::node cloud_node(const std::string& gpus, kubernetes::text_map labels) {
    kubernetes::node result{
        .name = "n", .labels = std::move(labels), .annotations = {}, .allocatable = {}, .capacity = {}};
    if (!gpus.empty()) result.allocatable = result.capacity = {{"nvidia.com/gpu", gpus}};
    return result;
}

dialects::node_reading read_node(const kubernetes::node& node, const char* plugin_config = nullptr) {
    if (plugin_config == nullptr) return dialects::nvidia::make({})->read_node({.object = node});
    const auto config = with_device_config(make_dialect_config(), plugin_config, "plugin.json");
    EXPECT_TRUE(config.has_value()) << config.error().message();
    return dialect_set{*config}.find("nvidia")->read_node({.object = node});
}

kubernetes::text_map gke(const std::string& model, const std::string& count, kubernetes::text_map more = {}) {
    more["cloud.google.com/gke-accelerator"] = model;
    if (!count.empty()) more["cloud.google.com/gke-accelerator-count"] = count;
    return more;
}

kubernetes::text_map karpenter(const std::string& name, const std::string& count, const std::string& memory) {
    return {{"karpenter.k8s.aws/instance-gpu-manufacturer", "nvidia"},
            {"karpenter.k8s.aws/instance-gpu-name", name},
            {"karpenter.k8s.aws/instance-gpu-count", count},
            {"karpenter.k8s.aws/instance-gpu-memory", memory}};
}

TEST(nvidia_cloud_labels, gke_says_model_and_replicas) {
    const auto whole = read_node(cloud_node("8", gke("nvidia-tesla-a100", "8")));
    ASSERT_THAT(whole.devices, SizeIs(8));
    EXPECT_EQ(whole.devices[0].model, "NVIDIA-A100-SXM4-40GB");
    EXPECT_EQ(whole.devices[0].mode, "exclusive");
    EXPECT_EQ(whole.devices[0].memory, mib{40960}) << "by the catalog";
    EXPECT_THAT(whole.warnings, IsEmpty());
    const auto turns = read_node(cloud_node("8", gke("nvidia-l4", "2",
                                                     {{"cloud.google.com/gke-gpu-sharing-strategy", "time-sharing"},
                                                      {"cloud.google.com/gke-max-shared-clients-per-gpu", "4"}})));
    ASSERT_THAT(turns.devices, SizeIs(2));
    EXPECT_EQ(turns.devices[0].mode, "time_slicing");
    EXPECT_EQ(turns.devices[0].slots, 4);
    EXPECT_TRUE(turns.devices[0].units.one_per_container) << "GKE refuses a container that asks for two";
    const auto clients = read_node(cloud_node("10", gke("nvidia-l4", "",
                                                        {{"cloud.google.com/gke-gpu-sharing-strategy", "mps"},
                                                         {"cloud.google.com/gke-max-shared-clients-per-gpu", "10"}})));
    ASSERT_THAT(clients.devices, SizeIs(1)) << "the count follows from the units";
    EXPECT_EQ(clients.devices[0].mode, "mps");
}

TEST(nvidia_cloud_labels, gke_says_how_gpus_are_cut) {
    const kubernetes::text_map cut{{"cloud.google.com/gke-gpu-partition-size", "1g.5gb"}};
    const auto reading = read_node(cloud_node("14", gke("nvidia-tesla-a100", "2", cut)));
    ASSERT_THAT(reading.devices, SizeIs(2));
    EXPECT_EQ(reading.devices[0].mode, "mig");
    EXPECT_EQ(reading.devices[0].model, "NVIDIA-A100-SXM4-40GB");
    EXPECT_EQ(reading.devices[0].geometry.at(0).kinds.at(0).count, 7);
    EXPECT_THAT(reading.warnings, IsEmpty());
    auto shared_parts = cut;
    shared_parts["cloud.google.com/gke-max-shared-clients-per-gpu"] = "3";
    const auto replicas = read_node(cloud_node("42", gke("nvidia-tesla-a100", "2", shared_parts)));
    ASSERT_THAT(replicas.devices, SizeIs(2)) << "three replicas of each instance";
    EXPECT_EQ(replicas.devices[0].geometry.at(0).kinds.at(0).count, 21);
}

TEST(nvidia_cloud_labels, models_have_the_names_of_their_drivers) {
    const auto model_of = [](kubernetes::text_map labels) {
        return read_node(cloud_node("1", std::move(labels))).devices.at(0).model;
    };
    EXPECT_EQ(model_of(gke("nvidia-a100-80gb", "1")), "NVIDIA-A100-SXM4-80GB");
    EXPECT_EQ(model_of(gke("nvidia-h100-mega-80gb", "1")), "NVIDIA-H100-80GB-HBM3");
    EXPECT_EQ(model_of(gke("nvidia-h200-141gb", "1")), "NVIDIA-H200");
    EXPECT_EQ(model_of(gke("nvidia-x900", "1")), "nvidia-x900") << "a GPU that nothing here knows";
    EXPECT_EQ(model_of(karpenter("a100", "1", "40960")), "NVIDIA-A100-SXM4-40GB");
    EXPECT_EQ(model_of(karpenter("a100", "1", "81920")), "NVIDIA-A100-SXM4-80GB");
    EXPECT_EQ(model_of(karpenter("v100", "1", "32768")), "Tesla-V100-SXM2-32GB");
    EXPECT_EQ(model_of({{"karpenter.azure.com/sku-gpu-name", "T4"}, {"karpenter.azure.com/sku-gpu-count", "1"}}),
              "Tesla-T4");
    EXPECT_EQ(model_of({{"eks.amazonaws.com/instance-gpu-name", "l40s"}}), "NVIDIA-L40S");
    EXPECT_EQ(model_of({{"k8s.amazonaws.com/accelerator", "nvidia-tesla-v100"}}), "Tesla-V100-SXM2-16GB");
    EXPECT_EQ(model_of({{"k8s.amazonaws.com/accelerator", "true"}}), "");
    EXPECT_EQ(model_of({{"kubernetes.azure.com/accelerator", "nvidia"}}), "") << "neither model nor count";
    EXPECT_EQ(model_of({{"karpenter.k8s.aws/instance-gpu-name", "radeon-pro-v520"},
                        {"karpenter.k8s.aws/instance-gpu-manufacturer", "amd"}}),
              "");
}

TEST(nvidia_cloud_labels, those_of_feature_discovery_win) {
    auto labels = karpenter("a10g", "4", "22888");
    labels.insert({{"nvidia.com/gpu.product", "NVIDIA-A10G-SHARED"},
                   {"nvidia.com/gpu.memory", "23028"},
                   {"nvidia.com/gpu.count", "4"},
                   {"nvidia.com/gpu.replicas", "10"}});
    const auto reading = read_node(cloud_node("40", labels), R"({"sharing": {"timeSlicing":
        {"resources": [{"name": "nvidia.com/gpu", "replicas": 5}]}}})");
    ASSERT_THAT(reading.devices, SizeIs(4));
    EXPECT_EQ(reading.devices[0].memory, mib{23028});
    EXPECT_EQ(reading.devices[0].slots, 10) << "and not as the configuration has it";
    EXPECT_THAT(reading.warnings, IsEmpty());
}

TEST(nvidia_cloud_labels, the_plugins_configuration_says_how_many_replicas_there_are) {
    const char* const ten = R"({"version": "v1", "sharing": {"timeSlicing":
        {"resources": [{"name": "nvidia.com/gpu", "replicas": 10}]}}})";
    const char* const ten_by_mps = R"({"sharing": {"mps": {"resources": [{"name": "gpu", "replicas": 10}]},
        "timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}}})";
    const auto node = cloud_node("40", karpenter("a10g", "4", "22888"));
    const auto without_config = read_node(node);
    EXPECT_THAT(without_config.devices, SizeIs(40));
    ASSERT_THAT(without_config.warnings, SizeIs(1));
    EXPECT_THAT(
        without_config.warnings[0].message(),
        HasSubstr("node n: karpenter.k8s.aws/instance-gpu-count: got '4', expected 40, as many as the node has"));
    EXPECT_THAT(without_config.warnings[0].message(), HasSubstr("--config"));
    const auto turns = read_node(node, ten);
    ASSERT_THAT(turns.devices, SizeIs(4));
    EXPECT_EQ(turns.devices[0].mode, "time_slicing");
    EXPECT_EQ(turns.devices[0].model, "NVIDIA-A10G");
    EXPECT_EQ(turns.devices[0].memory, mib{22888});
    EXPECT_THAT(turns.warnings, IsEmpty());
    const auto clients = read_node(node, ten_by_mps);
    ASSERT_THAT(clients.devices, SizeIs(4)) << "the plugin looks at timeSlicing only without mps";
    EXPECT_EQ(clients.devices[0].mode, "mps");
    EXPECT_TRUE(clients.devices[0].units.one_per_container);
    const auto whole = read_node(cloud_node("8", karpenter("a100", "8", "40960")), ten);
    EXPECT_THAT(whole.devices, SizeIs(8)) << "a label counts as many GPUs as there are units";
    EXPECT_THAT(whole.warnings, IsEmpty());
    EXPECT_THAT(read_node(cloud_node("20", {}), ten).devices, SizeIs(2)) << "no label says anything";
    const auto odd = read_node(cloud_node("8", {}), ten);
    EXPECT_THAT(odd.devices, SizeIs(8));
    ASSERT_THAT(odd.warnings, SizeIs(1));
    EXPECT_THAT(odd.warnings[0].message(),
                HasSubstr("nvidia.com/gpu: got '8', expected a multiple of the 10 replicas"));
    EXPECT_THAT(read_node(cloud_node("8", gke("nvidia-l4", "8")), ten).devices, SizeIs(8)) << "GKE has its own plugin";
}

TEST(nvidia_cloud_labels, a_configuration_counts_a_resource_once) {
    const auto twice = with_device_config(make_dialect_config(), R"({"sharing": {"timeSlicing": {"resources":
        [{"name": "nvidia.com/gpu", "replicas": 2}, {"name": "gpu", "replicas": 3}]}}})",
                                          "plugin.json");
    ASSERT_FALSE(twice.has_value());
    EXPECT_EQ(twice.error().code, error_code::duplicate);
    const auto none = with_device_config(
        make_dialect_config(), R"({"sharing": {"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": 0}]}}})",
        "plugin.json");
    ASSERT_FALSE(none.has_value());
    EXPECT_EQ(none.error().code, error_code::out_of_range);
}

/// Pods are read unit by unit where the configuration alone says that units share a GPU.
TEST(nvidia_cloud_labels, pods_ask_for_replicas_that_the_configuration_makes) {
    const auto node = cloud_node("20", {});
    kubernetes::pod pod;
    pod.containers.emplace_back().requests = {{"nvidia.com/gpu", 3}};
    pod.containers.front().limits = pod.containers.front().requests;
    const auto entries = [&](const dialect_set& base) {
        const kubernetes::node* const nodes[] = {&node};
        const dialect_set dialects = base.for_nodes(nodes);
        return dialects[dialects.asked_by(pod).at(0)].read_pod(pod)->containers.size();
    };
    EXPECT_EQ(entries(dialect_set{}), 1);
    const auto config = with_device_config(make_dialect_config(), R"({"sharing": {"timeSlicing":
        {"resources": [{"name": "nvidia.com/gpu", "replicas": 10}]}}})",
                                           "plugin.json");
    EXPECT_EQ(entries(dialect_set{*config}), 3);
}

TEST(nvidia_cloud_labels, gpus_of_a_plugin_that_is_down_are_out_of_service) {
    const auto health = [](const kubernetes::node& node) {
        std::string words;
        for (const device_registration& device : read_node(node).devices) {
            words += device.mode + (device.healthy ? "+ " : "- ");
        }
        return words;
    };
    const kubernetes::text_map discovery{{"nvidia.com/gpu.product", "NVIDIA-L40S"}, {"nvidia.com/gpu.count", "2"}};
    EXPECT_EQ(health(cloud_node("0", discovery)), "exclusive- exclusive- ");
    EXPECT_EQ(health(cloud_node("", discovery)), "exclusive- exclusive- ") << "no resource at all";
    EXPECT_EQ(health(cloud_node("", gke("nvidia-l4", "1"))), "exclusive- ");
    EXPECT_EQ(health(cloud_node("", karpenter("l4", "1", "22888"))), "exclusive- ");
    EXPECT_EQ(health(cloud_node("1", discovery)), "exclusive+ ") << "some are registered";
    auto operated = discovery;
    operated["nvidia.com/gpu.deploy.device-plugin"] = "false";
    EXPECT_EQ(health(cloud_node("", operated)), "") << "the GPU operator gives the node no plugin";
    auto shared_gpus = discovery;
    shared_gpus["nvidia.com/gpu.replicas"] = "4";
    EXPECT_EQ(health(cloud_node("0", shared_gpus)), "time_slicing- time_slicing- ");
    kubernetes::text_map cut{{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB"},
                             {"nvidia.com/gpu.count", "2"},
                             {"nvidia.com/mig.strategy", "mixed"},
                             {"nvidia.com/mig-1g.5gb.count", "14"}};
    EXPECT_EQ(health(cloud_node("0", cut)), "mig- mig- ");
    auto of_hami = cloud_node("0", discovery);
    of_hami.annotations = {{"hami.io/node-nvidia-register", "[]"}};
    EXPECT_EQ(health(of_hami), "");
    const auto reading = read_node(cloud_node("0", discovery));
    ASSERT_THAT(reading.warnings, SizeIs(1));
    EXPECT_EQ(reading.warnings[0].message(), "node n: nvidia.com/gpu: the device plugin registers 0 of 2 GPUs, which "
                                             "label nvidia.com/gpu.count counts; they are out of service");
}

} // namespace
