// The dialect of NVIDIA's own device plugin.
#include "vgpualloc/dialect/nvidia.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "requirements.hpp"
#include "support.hpp"
#include "vgpualloc/dialect/all.hpp"

namespace {

using namespace vgpualloc;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using vgpualloc::test::pod_of;

kubernetes::node node_of(kubernetes::text_map allocatable, kubernetes::text_map labels = {}) {
    return {.name = "n",
            .labels = std::move(labels),
            .annotations = {},
            .allocatable = std::move(allocatable),
            .capacity = {}};
}

kubernetes::container asking(const std::string& resource, std::int64_t amount) {
    return {.name = "c", .limits = {{resource, amount}}, .requests = {{resource, amount}}};
}

// FINDINGS 3
TEST(nvidia_dialect, a_unit_is_a_device) {
    const auto spoken = dialects::nvidia::make({});
    auto node =
        node_of({{"nvidia.com/gpu", "2"}, {"nvidia.com/mig-1g.5gb", "1"}}, {{"nvidia.com/gpu.product", "Tesla-T4"},
                                                                            {"nvidia.com/gpu.memory", "15360"},
                                                                            {"nvidia.com/mig-1g.5gb.memory", "4864"}});
    node.capacity = {{"nvidia.com/gpu", "3"}};
    const auto reading = spoken->read_node({.object = node});
    EXPECT_THAT(reading.problems, IsEmpty());
    EXPECT_THAT(reading.warnings, IsEmpty());
    ASSERT_THAT(reading.devices, SizeIs(4));
    EXPECT_EQ(reading.devices[0].uuid, "n/gpu/0");
    EXPECT_EQ(reading.devices[0].model, "Tesla-T4");
    EXPECT_EQ(reading.devices[0].family, "NVIDIA");
    EXPECT_EQ(reading.devices[0].mode, "exclusive");
    EXPECT_EQ(reading.devices[0].memory, mib{15360});
    EXPECT_TRUE(reading.devices[1].healthy);
    EXPECT_FALSE(reading.devices[2].healthy) << "capacity only";
    EXPECT_EQ(reading.devices[3].uuid, "n/mig-1g.5gb/0");
    EXPECT_EQ(reading.devices[3].family, "nvidia.com/mig-1g.5gb");
    EXPECT_EQ(reading.devices[3].model, "mig-1g.5gb") << "no label says the product";
    EXPECT_EQ(reading.devices[3].memory, mib{4864});

    kubernetes::node written{.name = "n", .labels = {}, .annotations = {}, .allocatable = {}, .capacity = {}};
    kubernetes::text_map config_map;
    spoken->write_node(reading.devices, written, config_map);
    EXPECT_EQ(spoken->read_node({.object = written}).devices, reading.devices);
    EXPECT_THAT(config_map, IsEmpty());
}

TEST(nvidia_dialect, replicas_that_take_turns_are_slots_of_a_gpu) {
    test::covers({"R048", "R049"});
    const auto spoken = dialects::nvidia::make({});
    const kubernetes::text_map labels{{"nvidia.com/gpu.product", "Tesla-T4-SHARED"},
                                      {"nvidia.com/gpu.memory", "15360"},
                                      {"nvidia.com/gpu.sharing-strategy", "time-slicing"},
                                      {"nvidia.com/gpu.replicas", "4"}};
    for (const char* const resource : {"nvidia.com/gpu", "nvidia.com/gpu.shared"}) {
        auto node = node_of({{resource, "4"}}, labels);
        node.capacity = {{resource, "8"}};
        const auto reading = spoken->read_node({.object = node});
        EXPECT_THAT(reading.warnings, IsEmpty());
        ASSERT_THAT(reading.devices, SizeIs(2)) << resource;
        EXPECT_EQ(reading.devices[0].mode, "time_slicing");
        EXPECT_EQ(reading.devices[0].slots, 4);
        EXPECT_EQ(reading.devices[0].memory, mib{15360});
        EXPECT_TRUE(reading.devices[0].healthy);
        EXPECT_FALSE(reading.devices[1].healthy) << "capacity only";
        kubernetes::node written{.name = "n", .labels = {}, .annotations = {}, .allocatable = {}, .capacity = {}};
        kubernetes::text_map config_map;
        spoken->write_node(reading.devices, written, config_map);
        EXPECT_EQ(spoken->read_node({.object = written}).devices, reading.devices);
    }
    auto of_mps = labels;
    of_mps["nvidia.com/gpu.sharing-strategy"] = "mps";
    for (const auto& [amount, other] : {std::pair{"6", labels}, {"8", of_mps}}) {
        const auto units = spoken->read_node({.object = node_of({{"nvidia.com/gpu", amount}}, other)});
        EXPECT_EQ(std::to_string(units.devices.size()), amount)
            << "a unit is a device, and a warning says that it is none";
        EXPECT_THAT(units.warnings, SizeIs(1));
        EXPECT_EQ(units.devices.front().mode, "exclusive");
    }
}

TEST(nvidia_dialect, gpus_that_others_describe_are_theirs) { // FINDINGS 3
    const auto spoken = dialects::nvidia::make({});
    auto node = node_of({{"nvidia.com/gpu", "2"}});
    node.annotations = {{"hami.io/node-nvidia-register", "[]"}};
    EXPECT_THAT(spoken->read_node({.object = node}).devices, IsEmpty());
    EXPECT_THAT(
        spoken->read_node({.object = node_of({{"nvidia.com/gpu", "2"}, {"volcano.sh/gpu-number", "2"}})}).devices,
        IsEmpty());
    EXPECT_THAT(
        spoken->read_node({.object = node_of({{"nvidia.com/gpu", "2"}, {"volcano.sh/gpu-number", "0"}})}).devices,
        SizeIs(2));
    for (const char* const key : {dialects::volcano_vgpu::register_annotation, dialects::cce::register_annotation}) {
        node.annotations = {{key, "[]"}};
        EXPECT_THAT(spoken->read_node({.object = node}).devices, IsEmpty()) << key;
    }
    for (const std::string& resource :
         {dialects::volcano_vgpu::options{}.count_name, dialects::cce::options{}.memory_name,
          dialects::gpushare::options{}.memory_name}) {
        const auto shared = node_of({{"nvidia.com/gpu", "2"}, {resource, "2"}});
        EXPECT_THAT(spoken->read_node({.object = shared}).devices, IsEmpty()) << resource;
    }
}

TEST(nvidia_dialect, amounts_that_no_node_has) {
    const auto spoken = dialects::nvidia::make({});
    for (const char* const written : {"1025", "-1", "many", "1e30"}) {
        const auto reading = spoken->read_node({.object = node_of({{"nvidia.com/gpu", written}})});
        EXPECT_THAT(reading.devices, IsEmpty()) << written;
        ASSERT_THAT(reading.problems, SizeIs(1)) << written;
        EXPECT_THAT(reading.problems[0].message(),
                    HasSubstr(std::string{"allocatable nvidia.com/gpu: got '"} + written));
    }
    EXPECT_THAT(spoken->read_node({.object = node_of({{"nvidia.com/gpu", "1024"}})}).devices, SizeIs(1024));
}

TEST(nvidia_dialect, what_pods_ask_for) { // FINDINGS 3
    const auto spoken = dialects::nvidia::make({});
    EXPECT_FALSE(spoken->requests(pod_of({asking("nvidia.com/gpu", 1)}))) << "dialect hami reads it";
    const auto pod = pod_of(
        {asking("nvidia.com/mig-1g.5gb", 2), asking("nvidia.com/gpu.shared", 1), asking("nvidia.com/mig-7g.40gb", 0)});
    EXPECT_TRUE(spoken->requests(pod));
    const auto request = spoken->read_pod(pod);
    ASSERT_TRUE(request.has_value()) << request.error().message();
    ASSERT_THAT(request->containers, SizeIs(2));
    EXPECT_EQ(request->containers[0].count, 2);
    EXPECT_EQ(request->containers[0].family, "nvidia.com/mig-1g.5gb");
    EXPECT_EQ(request->containers[1].family, "nvidia.com/gpu.shared");
    const auto wrong = spoken->read_pod(pod_of({asking("nvidia.com/mig-1g.5gb", 1025)}));
    ASSERT_FALSE(wrong.has_value());
    EXPECT_EQ(wrong.error().field, "nvidia.com/mig-1g.5gb");
}

/// As kube-scheduler counts: an init container that ends needs its own and those of the sidecars before it, and only
/// what that is more than all run with later is asked for beside it.
TEST(nvidia_dialect, init_containers_count_as_kube_scheduler_counts_them) { // FINDINGS 5
    const auto spoken = dialects::nvidia::make({});
    const std::string mig = "nvidia.com/mig-1g.5gb";
    const auto sidecar = [&](std::int64_t amount) {
        auto container = asking(mig, amount);
        container.stays = true;
        return container;
    };
    const auto counts = [&](std::vector<kubernetes::container> init_containers, std::vector<std::int64_t> amounts) {
        std::vector<kubernetes::container> containers;
        for (const std::int64_t amount : amounts) containers.push_back(asking(mig, amount));
        auto pod = pod_of(std::move(containers));
        pod.init_containers = std::move(init_containers);
        EXPECT_TRUE(spoken->requests(pod));
        const auto request = spoken->read_pod(pod);
        std::vector<std::int64_t> result;
        for (const auto& entry : request->containers) result.push_back(entry.count);
        return result;
    };
    EXPECT_THAT(counts({asking(mig, 1)}, {1}), ElementsAre(1));
    EXPECT_THAT(counts({asking(mig, 2)}, {1, 1}), ElementsAre(1, 1)) << "the containers together";
    EXPECT_THAT(counts({asking(mig, 3), asking(mig, 2)}, {1, 1}), ElementsAre(1, 1, 1)) << "one after the other";
    EXPECT_THAT(counts({sidecar(1)}, {1}), ElementsAre(1, 1));
    EXPECT_THAT(counts({sidecar(1), asking(mig, 2)}, {1}), ElementsAre(1, 1, 1)) << "beside the sidecar";
    EXPECT_THAT(counts({asking(mig, 2), sidecar(1)}, {1}), ElementsAre(1, 1)) << "before the sidecar";
    EXPECT_THAT(counts({asking(mig, 2)}, {}), ElementsAre(2));
    auto pod = pod_of({});
    pod.init_containers = {asking(mig, 1025)};
    EXPECT_FALSE(spoken->read_pod(pod).has_value());
}

TEST(nvidia_dialect, reads_gpus_where_hami_has_another_name_for_them) {
    auto config = make_dialect_config();
    config.devices.hami = dialects::hami::options{.count_name = "example.com/gpu"};
    const dialect_set dialects{config};
    const auto asked = dialects.asked_by(pod_of({asking("nvidia.com/gpu", 1)}));
    ASSERT_THAT(asked, SizeIs(1));
    EXPECT_EQ(dialects[asked[0]].name(), "nvidia");
}

} // namespace
