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

const std::string a100_40 = "NVIDIA-A100-SXM4-40GB";
const std::string a100_80 = "NVIDIA-A100-SXM4-80GB";

/// What `node` is after its devices were written and read again.
std::vector<device_registration> read_again(const dialect& spoken, const std::vector<device_registration>& devices) {
    kubernetes::node written{.name = "n", .labels = {}, .annotations = {}, .allocatable = {}, .capacity = {}};
    kubernetes::text_map config_map;
    spoken.write_node(devices, written, config_map);
    EXPECT_THAT(config_map, IsEmpty());
    return spoken.read_node({.object = written}).devices;
}

/// The instances of a board: "1g.5gb x 2, 3g.20gb x 1".
std::string instances_of(const device_registration& board) {
    std::string text;
    for (const mig_kind& kind : board.geometry.at(0).kinds) {
        text += (text.empty() ? "" : ", ") + kind.name + " x " + std::to_string(kind.count);
    }
    return text;
}

std::vector<std::string> boards_of(const dialects::node_reading& reading) {
    std::vector<std::string> boards;
    for (const device_registration& device : reading.devices) {
        boards.push_back(device.mode == "mig" ? instances_of(device) : device.mode);
    }
    return boards;
}

TEST(nvidia_dialect, a_unit_of_whole_gpus_is_a_device) {
    const auto spoken = dialects::nvidia::make({});
    auto node = node_of({{"nvidia.com/gpu", "2"}},
                        {{"nvidia.com/gpu.product", "Tesla-T4"}, {"nvidia.com/gpu.memory", "15360"}});
    node.capacity = {{"nvidia.com/gpu", "3"}};
    const auto reading = spoken->read_node({.object = node});
    EXPECT_THAT(reading.problems, IsEmpty());
    EXPECT_THAT(reading.warnings, IsEmpty());
    ASSERT_THAT(reading.devices, SizeIs(3));
    EXPECT_EQ(reading.devices[0].uuid, "n/gpu/0");
    EXPECT_EQ(reading.devices[0].model, "Tesla-T4");
    EXPECT_EQ(reading.devices[0].family, "NVIDIA");
    EXPECT_EQ(reading.devices[0].mode, "exclusive");
    EXPECT_EQ(reading.devices[0].memory, mib{15360});
    EXPECT_TRUE(reading.devices[1].healthy);
    EXPECT_FALSE(reading.devices[2].healthy) << "capacity only";
    EXPECT_EQ(read_again(*spoken, reading.devices), reading.devices);
}

TEST(nvidia_dialect, instances_of_strategy_mixed_are_parts_of_their_gpus) {
    const auto spoken = dialects::nvidia::make({});
    const kubernetes::text_map labels{
        {"nvidia.com/gpu.product", a100_80},      {"nvidia.com/gpu.count", "8"},
        {"nvidia.com/gpu.replicas", "0"},         {"nvidia.com/gpu.memory", "81920"},
        {"nvidia.com/mig.strategy", "mixed"},     {"nvidia.com/mig-1g.10gb.count", "56"},
        {"nvidia.com/mig-1g.10gb.replicas", "1"}, {"nvidia.com/mig-1g.10gb.product", a100_80 + "-MIG-1g.10gb"},
        {"nvidia.com/mig-1g.10gb.memory", "9728"}};
    const auto reading = spoken->read_node({.object = node_of({{"nvidia.com/mig-1g.10gb", "56"}}, labels)});
    EXPECT_THAT(reading.warnings, IsEmpty());
    ASSERT_THAT(reading.devices, SizeIs(8));
    for (const device_registration& board : reading.devices) {
        EXPECT_EQ(board.mode, "mig");
        EXPECT_EQ(board.family, "nvidia.com/mig") << "nobody gets it by asking for nvidia.com/gpu";
        EXPECT_EQ(board.model, a100_80);
        EXPECT_EQ(board.memory, mib{81920});
        EXPECT_EQ(board.slots, 7);
        EXPECT_EQ(instances_of(board), "1g.10gb x 7");
        EXPECT_EQ(board.geometry[0].kinds[0].memory, mib{9728});
        EXPECT_EQ(board.units, (unit_rules{.order = unit_order::distributed}));
    }
    EXPECT_EQ(reading.devices[7].uuid, "n/mig/7");
    EXPECT_EQ(read_again(*spoken, reading.devices), reading.devices);
}

TEST(nvidia_dialect, gpus_of_a_node_are_cut_alike_if_they_can_be) {
    const auto spoken = dialects::nvidia::make({});
    const auto boards = [&](kubernetes::text_map amounts, const std::string& count, const std::string& product) {
        kubernetes::text_map labels{{"nvidia.com/mig.strategy", "mixed"}};
        if (!count.empty()) labels["nvidia.com/gpu.count"] = count;
        if (!product.empty()) labels["nvidia.com/gpu.product"] = product;
        return boards_of(spoken->read_node({.object = node_of(std::move(amounts), std::move(labels))}));
    };
    const kubernetes::text_map balanced{{"nvidia.com/gpu", "1"},
                                        {"nvidia.com/mig-1g.5gb", "4"},
                                        {"nvidia.com/mig-2g.10gb", "2"},
                                        {"nvidia.com/mig-3g.20gb", "2"}};
    const std::string alike = "1g.5gb x 2, 2g.10gb x 1, 3g.20gb x 1";
    EXPECT_THAT(boards(balanced, "3", a100_40), ElementsAre("exclusive", alike, alike)) << "the third is whole";
    EXPECT_THAT(boards(balanced, "", a100_40), ElementsAre("exclusive", alike, alike)) << "as few as hold them";
    EXPECT_THAT(boards({{"nvidia.com/mig-7g.40gb", "1"}, {"nvidia.com/mig-1g.5gb", "7"}}, "2", a100_40),
                ElementsAre("1g.5gb x 0, 7g.40gb x 1", "1g.5gb x 7, 7g.40gb x 0"));
    EXPECT_THAT(boards({{"nvidia.com/mig-3g.20gb", "3"}}, "1", a100_40), SizeIs(2)) << "one cannot hold three";
    EXPECT_THAT(boards({{"nvidia.com/mig-1g.5gb", "8"}}, "", ""), SizeIs(2)) << "no model: seven slices";
    EXPECT_THAT(boards({{"nvidia.com/mig-1g.5gb", "3"}}, "2", a100_40), ElementsAre("1g.5gb x 2", "1g.5gb x 1"));
    EXPECT_THAT(boards({{"nvidia.com/mig-odd", "2"}}, "", ""), ElementsAre("odd x 1", "odd x 1"));
    EXPECT_THAT(boards({{"nvidia.com/mig-1g.10gb.me", "1"}, {"nvidia.com/mig-1g.10gb", "6"}}, "1", a100_80),
                ElementsAre("1g.10gb x 6, 1g.10gb+me x 1"));
}

/// Feature discovery counts instances there, so GPUs are the count over those of one GPU, rounded up.
TEST(nvidia_dialect, instances_of_strategy_single_are_units_of_gpus) {
    const auto spoken = dialects::nvidia::make({});
    const auto read = [&](const std::string& units, const std::string& profile, const std::string& memory) {
        return spoken->read_node(
            {.object = node_of({{"nvidia.com/gpu", units}}, {{"nvidia.com/gpu.product", a100_80 + "-MIG-" + profile},
                                                             {"nvidia.com/gpu.count", units},
                                                             {"nvidia.com/gpu.replicas", "1"},
                                                             {"nvidia.com/gpu.memory", memory},
                                                             {"nvidia.com/mig.strategy", "single"}})});
    };
    const auto reading = read("56", "1g.10gb", "9728");
    EXPECT_THAT(reading.warnings, IsEmpty());
    ASSERT_THAT(reading.devices, SizeIs(8));
    EXPECT_EQ(reading.devices[0].family, "NVIDIA");
    EXPECT_EQ(reading.devices[0].uuid, "n/gpu/0");
    EXPECT_EQ(reading.devices[0].model, a100_80);
    EXPECT_EQ(instances_of(reading.devices[0]), "1g.10gb x 7");
    EXPECT_EQ(reading.devices[0].geometry[0].kinds[0].memory, mib{9728});
    EXPECT_GE(reading.devices[0].memory, mib{81000}) << "of the GPU, not of the instance";
    EXPECT_EQ(read_again(*spoken, reading.devices), reading.devices);
    EXPECT_THAT(read("9", "3g.40gb", "40192").devices, SizeIs(5));
    EXPECT_THAT(read("4", "1g.20gb", "19968").devices, SizeIs(1));
    EXPECT_THAT(read("0", "INVALID", "0").devices, IsEmpty());
}

TEST(nvidia_dialect, instances_that_are_gone_are_those_of_whole_gpus_first) {
    const auto spoken = dialects::nvidia::make({});
    auto node = node_of({{"nvidia.com/mig-1g.5gb", "12"}},
                        {{"nvidia.com/gpu.product", a100_40}, {"nvidia.com/gpu.count", "3"}});
    node.capacity = {{"nvidia.com/mig-1g.5gb", "21"}};
    const auto reading = spoken->read_node({.object = node});
    ASSERT_THAT(reading.devices, SizeIs(3));
    EXPECT_THAT(boards_of(reading), ElementsAre("1g.5gb x 7", "1g.5gb x 5", "1g.5gb x 7"));
    EXPECT_TRUE(reading.devices[1].healthy);
    EXPECT_FALSE(reading.devices[2].healthy) << "all of its seven";
}

TEST(nvidia_dialect, replicas_that_take_turns_are_slots_of_a_gpu) {
    test::covers({"R048", "R049"});
    const auto spoken = dialects::nvidia::make({});
    const kubernetes::text_map labels{{"nvidia.com/gpu.product", "Tesla-T4-SHARED"},
                                      {"nvidia.com/gpu.memory", "15360"},
                                      {"nvidia.com/gpu.sharing-strategy", "time-slicing"},
                                      {"nvidia.com/gpu.replicas", "4"}};
    auto of_before_0_15 = labels; // which had no other strategy
    of_before_0_15.erase("nvidia.com/gpu.sharing-strategy");
    auto counted = of_before_0_15;
    counted.erase("nvidia.com/gpu.replicas");
    counted["nvidia.com/gpu.count"] = "2";
    for (const auto& labelled : {labels, of_before_0_15, counted}) {
        for (const char* const resource : {"nvidia.com/gpu", "nvidia.com/gpu.shared"}) {
            auto node = node_of({{resource, "4"}}, labelled);
            node.capacity = {{resource, "8"}};
            const auto reading = spoken->read_node({.object = node});
            EXPECT_THAT(reading.warnings, IsEmpty());
            ASSERT_THAT(reading.devices, SizeIs(2)) << resource;
            EXPECT_EQ(reading.devices[0].mode, "time_slicing");
            EXPECT_EQ(reading.devices[0].slots, 4);
            EXPECT_EQ(reading.devices[0].memory, mib{15360});
            EXPECT_EQ(reading.devices[0].units, (unit_rules{.order = unit_order::distributed}));
            EXPECT_TRUE(reading.devices[0].healthy);
            EXPECT_FALSE(reading.devices[1].healthy) << "capacity only";
            EXPECT_EQ(read_again(*spoken, reading.devices), reading.devices);
        }
    }
    const auto units = spoken->read_node({.object = node_of({{"nvidia.com/gpu", "6"}}, labels)});
    EXPECT_THAT(units.devices, SizeIs(6)) << "a unit is a device, and a warning says that it is none";
    EXPECT_THAT(units.warnings, SizeIs(1));
    EXPECT_EQ(units.devices.front().mode, "exclusive");
}

TEST(nvidia_dialect, replicas_of_mps_are_clients_of_a_gpu) {
    test::covers({"R048", "R050"});
    const auto spoken = dialects::nvidia::make({});
    const auto reading = spoken->read_node(
        {.object = node_of({{"nvidia.com/gpu", "8"}}, {{"nvidia.com/gpu.product", "NVIDIA-A30-SHARED"},
                                                       {"nvidia.com/gpu.memory", "24576"},
                                                       {"nvidia.com/gpu.count", "2"},
                                                       {"nvidia.com/gpu.sharing-strategy", "mps"},
                                                       {"nvidia.com/gpu.replicas", "4"}})});
    EXPECT_THAT(reading.warnings, IsEmpty());
    ASSERT_THAT(reading.devices, SizeIs(2));
    EXPECT_EQ(reading.devices[0].mode, "mps");
    EXPECT_EQ(reading.devices[0].slots, 4);
    EXPECT_EQ(reading.devices[0].memory, mib{24576});
    EXPECT_EQ(reading.devices[0].units, (unit_rules{.order = unit_order::distributed, .one_per_container = true}));
    EXPECT_EQ(read_again(*spoken, reading.devices), reading.devices);
}

/// A GPU takes as many clients as its driver and generation do: 60 from CUDA 13.1 on, 48 before, 16 before Volta.
TEST(nvidia_dialect, labels_say_how_many_clients_mps_takes) {
    const auto spoken = dialects::nvidia::make({});
    const auto clients = [&](const kubernetes::text_map& more) {
        kubernetes::text_map labels{{"nvidia.com/gpu.product", "NVIDIA-A30-SHARED"},
                                    {"nvidia.com/gpu.sharing-strategy", "mps"},
                                    {"nvidia.com/gpu.replicas", "60"}};
        labels.insert(more.begin(), more.end());
        const auto reading = spoken->read_node({.object = node_of({{"nvidia.com/gpu", "60"}}, labels)});
        EXPECT_THAT(reading.devices, SizeIs(1));
        return reading.devices.at(0).clients_max;
    };
    const std::pair<const std::string, std::string> ampere{"nvidia.com/gpu.compute.major", "8"};
    const std::pair<const std::string, std::string> cuda_13{"nvidia.com/cuda.runtime-version.major", "13"};
    EXPECT_EQ(clients({ampere, cuda_13, {"nvidia.com/cuda.runtime-version.minor", "1"}}), 60);
    EXPECT_EQ(clients({ampere, cuda_13, {"nvidia.com/cuda.runtime-version.minor", "0"}}), 48);
    EXPECT_EQ(clients({ampere, cuda_13}), 48) << "13.0, for all that it says";
    EXPECT_EQ(clients({ampere, {"nvidia.com/cuda.runtime.major", "13"}, {"nvidia.com/cuda.runtime.minor", "1"}}), 60);
    EXPECT_EQ(clients({{"nvidia.com/gpu.compute.major", "6"}, cuda_13}), 16);
    EXPECT_EQ(clients({cuda_13}), 0) << "no label says the GPU's generation";
    EXPECT_EQ(clients({{"nvidia.com/gpu.compute.major", "eight"}}), 0);
    const kubernetes::text_map turns{{"nvidia.com/gpu.replicas", "4"}, ampere};
    EXPECT_EQ(spoken->read_node({.object = node_of({{"nvidia.com/gpu", "4"}}, turns)}).devices.at(0).clients_max, 0)
        << "they take turns";
}

TEST(nvidia_dialect, replicas_of_instances_are_parts_of_them) {
    const auto spoken = dialects::nvidia::make({});
    const auto reading = spoken->read_node(
        {.object = node_of({{"nvidia.com/mig-3g.20gb", "8"}}, {{"nvidia.com/gpu.product", a100_40},
                                                               {"nvidia.com/gpu.count", "2"},
                                                               {"nvidia.com/mig-3g.20gb.replicas", "2"},
                                                               {"nvidia.com/mig-3g.20gb.memory", "19968"}})});
    ASSERT_THAT(reading.devices, SizeIs(2));
    const mig_kind& kind = reading.devices[0].geometry[0].kinds[0];
    EXPECT_EQ(kind.count, 4);
    EXPECT_EQ(kind.replicas, 2);
    EXPECT_EQ(kind.memory, mib{9984});
    EXPECT_EQ(kind.slices, (requested_share{.memory = {1, 4}, .compute = {3, 14}}));
    EXPECT_EQ(read_again(*spoken, reading.devices), reading.devices);
}

TEST(nvidia_dialect, of_a_renamed_resource_the_labels_have_the_name_before) {
    const auto spoken = dialects::nvidia::make({});
    const auto reading = spoken->read_node(
        {.object = node_of({{"nvidia.com/mig-1g.5gb.shared", "28"}}, {{"nvidia.com/gpu.product", a100_40},
                                                                      {"nvidia.com/gpu.count", "1"},
                                                                      {"nvidia.com/mig-1g.5gb.replicas", "4"},
                                                                      {"nvidia.com/mig-1g.5gb.memory", "4864"}})});
    EXPECT_THAT(reading.warnings, IsEmpty());
    ASSERT_THAT(reading.devices, SizeIs(1)) << "seven instances of one GPU";
    const mig_kind& kind = reading.devices[0].geometry[0].kinds[0];
    EXPECT_EQ(kind.name, "1g.5gb+shared") << "as pods name it";
    EXPECT_EQ(std::pair(kind.count, kind.replicas), std::pair(std::int64_t{28}, std::int64_t{4}));
    EXPECT_EQ(kind.slices, (requested_share{.memory = {1, 32}, .compute = {1, 28}}));
    kubernetes::pod pod;
    pod.containers.emplace_back().requests = {{"nvidia.com/mig-1g.5gb.shared", 1}};
    EXPECT_EQ(spoken->read_pod(pod)->containers.at(0).profile, kind.name);
    EXPECT_EQ(read_again(*spoken, reading.devices), reading.devices);
}

TEST(nvidia_dialect, more_replicas_of_instances_than_a_gpu_can_count_are_left_out) {
    const auto spoken = dialects::nvidia::make({});
    const auto reading = spoken->read_node(
        {.object = node_of({{"nvidia.com/mig-1g.5gb", "140"}}, {{"nvidia.com/gpu.product", a100_40},
                                                                {"nvidia.com/gpu.count", "2"},
                                                                {"nvidia.com/mig-1g.5gb.replicas", "10"}})});
    ASSERT_THAT(reading.devices, SizeIs(2));
    for (const device_registration& device : reading.devices) {
        EXPECT_EQ(device.geometry[0].kinds[0].count, 63) << "nine of ten of each of seven";
        EXPECT_EQ(device.geometry[0].kinds[0].slices.compute, (fraction{1, 70})) << "a replica is what it is";
    }
    EXPECT_THAT(reading.warnings, SizeIs(2));
}

TEST(nvidia_dialect, a_replica_that_is_not_healthy_is_one_less_on_its_gpu) {
    const auto spoken = dialects::nvidia::make({});
    const kubernetes::text_map labels{{"nvidia.com/gpu.product", "Tesla-T4-SHARED"},
                                      {"nvidia.com/gpu.count", "4"},
                                      {"nvidia.com/gpu.sharing-strategy", "time-slicing"},
                                      {"nvidia.com/gpu.replicas", "8"}};
    auto node = node_of({{"nvidia.com/gpu", "31"}}, labels);
    node.capacity = {{"nvidia.com/gpu", "32"}};
    const auto reading = spoken->read_node({.object = node});
    EXPECT_THAT(reading.warnings, IsEmpty());
    ASSERT_THAT(reading.devices, SizeIs(4));
    EXPECT_EQ(reading.devices[0].slots, 8);
    EXPECT_EQ(reading.devices[3].slots, 7);
    EXPECT_TRUE(reading.devices[3].healthy);
    auto cut = node_of(
        {{"nvidia.com/mig-1g.5gb", "27"}},
        {{"nvidia.com/gpu.product", a100_40}, {"nvidia.com/gpu.count", "1"}, {"nvidia.com/mig-1g.5gb.replicas", "4"}});
    cut.capacity = {{"nvidia.com/mig-1g.5gb", "28"}};
    const auto instances = spoken->read_node({.object = cut});
    ASSERT_THAT(instances.devices, SizeIs(1));
    EXPECT_EQ(instances.devices[0].geometry[0].kinds[0].count, 27);
}

/// Its configuration says how it gives units out.
TEST(nvidia_dialect, the_plugins_configuration_says_how_it_gives_units_out) {
    const kubernetes::text_map labels{{"nvidia.com/gpu.product", "Tesla-T4-SHARED"}, {"nvidia.com/gpu.replicas", "4"}};
    const auto node = node_of({{"nvidia.com/gpu", "8"}}, labels);
    const auto rules = [&](const char* json) -> expected<unit_rules> {
        const auto config = with_device_config(make_dialect_config(), json, "c.json");
        if (!config) return unexpected(config.error());
        EXPECT_THAT(config->devices.warnings, IsEmpty());
        return dialect_set{*config}.find("nvidia")->read_node({.object = node}).devices.at(0).units;
    };
    EXPECT_EQ(*rules(R"({"version": "v1", "flags": {"plugin": {"sharedDevicesAllocationPolicy": "packed"}}})"),
              (unit_rules{.order = unit_order::packed}));
    EXPECT_EQ(*rules(R"({"version": "v1", "flags": {"migStrategy": "none"}, "sharing": {"timeSlicing":
                         {"failRequestsGreaterThanOne": true, "resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}}})"),
              (unit_rules{.order = unit_order::distributed, .one_per_container = true}));
    const auto wrong = rules(R"({"flags": {"plugin": {"sharedDevicesAllocationPolicy": "tight"}}})");
    ASSERT_FALSE(wrong.has_value());
    EXPECT_THAT(wrong.error().message(), HasSubstr("sharedDevicesAllocationPolicy"));
    auto both = with_device_config(make_dialect_config(), R"({"flags": {}})", "a.json");
    both = with_device_config(*std::move(both), R"({"sharing": {"timeSlicing": {"failRequestsGreaterThanOne": true}}})",
                              "b.json");
    ASSERT_FALSE(both.has_value());
    EXPECT_EQ(both.error().code, error_code::duplicate);
}

TEST(nvidia_dialect, gpus_that_others_describe_are_theirs) {
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

TEST(nvidia_dialect, what_pods_ask_for) {
    const auto spoken = dialects::nvidia::make({});
    EXPECT_FALSE(spoken->requests(pod_of({asking("nvidia.com/gpu", 1)}))) << "dialect hami reads it";
    const auto pod = pod_of(
        {asking("nvidia.com/mig-1g.5gb", 2), asking("nvidia.com/gpu.shared", 1), asking("nvidia.com/mig-7g.40gb", 0)});
    EXPECT_TRUE(spoken->requests(pod));
    const auto request = spoken->read_pod(pod);
    ASSERT_TRUE(request.has_value()) << request.error().message();
    ASSERT_THAT(request->containers, SizeIs(3));
    EXPECT_EQ(request->containers[2].family, "nvidia.com/gpu.shared");
    EXPECT_EQ(request->containers[0], request->containers[1]) << "an entry for each unit";
    EXPECT_EQ(request->containers[1].count, 1);
    EXPECT_EQ(request->containers[1].units, 2);
    EXPECT_EQ(request->containers[1].family, "nvidia.com/mig");
    EXPECT_EQ(request->containers[1].profile, "1g.5gb");
    EXPECT_EQ(spoken->read_pod(pod_of({asking("nvidia.com/mig-1g.10gb.me", 1)}))->containers.at(0).profile,
              "1g.10gb+me");
    const auto wrong = spoken->read_pod(pod_of({asking("nvidia.com/mig-1g.5gb", 1025)}));
    ASSERT_FALSE(wrong.has_value());
    EXPECT_EQ(wrong.error().field, "nvidia.com/mig-1g.5gb");
}

/// As kube-scheduler counts: an init container that ends needs its own and those of the sidecars before it, and only
/// what that is more than all run with later is asked for beside it.
TEST(nvidia_dialect, init_containers_count_as_kube_scheduler_counts_them) {
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
        for (std::size_t i = 0; i < request->containers.size(); i += static_cast<std::size_t>(result.back())) {
            result.push_back(request->containers[i].units);
        }
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

/// Whose nvidia.com/gpu is depends on whether some node registers GPUs with HAMi, and on what else a pod names.
TEST(nvidia_dialect, whole_gpus_are_of_the_plugin_where_no_node_is_of_hami) {
    const auto plain = node_of({{"nvidia.com/gpu", "8"}}, {{"nvidia.com/gpu.product", a100_80}});
    auto hami = plain;
    hami.annotations = {{"hami.io/node-nvidia-register", "[]"}};
    const auto spoken = [](const std::vector<const kubernetes::node*>& nodes, const kubernetes::pod& pod) {
        const auto dialects = dialect_set{}.for_nodes(nodes);
        std::string names;
        for (const std::size_t position : dialects.asked_by(pod)) names += std::string{dialects[position].name()} + " ";
        return names;
    };
    const auto whole = pod_of({asking("nvidia.com/gpu", 1)});
    EXPECT_EQ(spoken({&plain}, whole), "nvidia ");
    EXPECT_EQ(spoken({&plain, &hami}, whole), "hami ");
    EXPECT_EQ(spoken({}, whole), "hami ") << "nobody knows";
    const auto both = pod_of({asking("nvidia.com/gpu", 1), asking("nvidia.com/mig-1g.10gb", 1)});
    EXPECT_EQ(spoken({&plain}, both), "nvidia ");
    EXPECT_EQ(spoken({&plain, &hami}, both), "hami nvidia ");
    for (const char* const amount : {"nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"}) {
        auto part = pod_of({asking("nvidia.com/gpu", 1)});
        part.containers.front().limits[amount] = part.containers.front().requests[amount] = 10;
        EXPECT_EQ(spoken({&plain}, part), "hami ") << amount;
    }
    auto tagged = whole;
    tagged.annotations = {{"nvidia.com/use-gputype", "T4"}};
    const auto dialects = dialect_set{}.for_nodes(std::vector<const kubernetes::node*>{&plain});
    const auto request = dialects.find("nvidia")->read_pod(tagged);
    ASSERT_TRUE(request.has_value());
    EXPECT_THAT(request->containers.at(0).types_allowed, IsEmpty()) << "the plugin reads no annotation";
    EXPECT_TRUE(dialects.mistaken_resources(whole).empty());
}

TEST(nvidia_dialect, units_of_gpus_are_an_entry_each_where_some_node_has_several_on_one) {
    const auto plain = node_of({{"nvidia.com/gpu", "8"}}, {{"nvidia.com/gpu.product", a100_80}});
    auto shared = node_of({{"nvidia.com/gpu", "8"}}, {{"nvidia.com/gpu.replicas", "4"}});
    auto single = node_of({{"nvidia.com/gpu", "7"}}, {{"nvidia.com/gpu.product", a100_80 + "-MIG-1g.10gb"}});
    auto hami = plain;
    hami.annotations = {{"hami.io/node-nvidia-register", "[]"}};
    const auto entries = [](const std::vector<const kubernetes::node*>& nodes) {
        const auto dialects = dialect_set{}.for_nodes(nodes);
        const auto pod = pod_of({asking("nvidia.com/gpu", 3)});
        return dialects[dialects.asked_by(pod).at(0)].read_pod(pod)->containers.size();
    };
    EXPECT_EQ(entries({&plain}), 1);
    EXPECT_EQ(entries({&plain, &shared}), 3);
    EXPECT_EQ(entries({&plain, &single}), 3);
    EXPECT_EQ(entries({&plain, &shared, &hami}), 1) << "HAMi gives a container different GPUs";
    shared.allocatable = {{"nvidia.com/gpu", "0"}};
    EXPECT_EQ(entries({&plain, &shared}), 1);
}

} // namespace
