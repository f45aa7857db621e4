// The mindcluster dialect: nodes and their checks, the selection labels, assignments.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "requirements.hpp"
#include "support.hpp"
#include "vgpualloc/dialect/mindcluster.hpp"

namespace vgpualloc::dialects::mindcluster {
namespace {

using vgpualloc::test::covers;
using namespace testing; // matchers
using spoken = test::spoken<options>;

constexpr const char* core = "huawei.com/npu-core";

kubernetes::node good_node() {
    kubernetes::node result;
    result.name = "n0";
    result.labels = {{"accelerator", "huawei-Ascend310P"},
                     {"servertype", "Ascend310P-8-dual"},
                     {"node.kubernetes.io/npu.chip.name", "310P3"}};
    result.annotations["baseDeviceInfos"] = R"({"Ascend310P-0":{},"Ascend310P-10":{},"Ascend310P-2":{},
                                              "Ascend310P-2c-100-0":{}})";
    result.capacity[core] = "24";
    result.allocatable[core] = "24";
    return result;
}

device_info good_info() {
    return {.device_list = {{"huawei.com/Ascend310P", "Ascend310P-0,Ascend310P-2"},
                            {"huawei.com/Ascend310P-Unhealthy", "Ascend310P-10"}}};
}

std::vector<std::string> healthy(const dialects::node_reading& read) {
    std::vector<std::string> names;
    for (const auto& item : read.devices) {
        if (item.healthy) names.push_back(item.uuid);
    }
    return names;
}

TEST(mindcluster, a_node_has_the_chips_of_its_annotation) {
    const auto read = read_node(good_node(), good_info(), {}, {});
    EXPECT_THAT(read.problems, IsEmpty());
    ASSERT_THAT(read.devices, SizeIs(3)); // by number, not by text; no virtual NPU
    EXPECT_EQ(read.devices[1].uuid, "Ascend310P-2");
    EXPECT_EQ(read.devices[2].uuid, "Ascend310P-10");
    EXPECT_THAT(healthy(read), ElementsAre("Ascend310P-0", "Ascend310P-2"));
    EXPECT_EQ(read.devices[0].mode, "mindcluster_310p");
    EXPECT_EQ(read.devices[0].model, "310P3");
    EXPECT_EQ(read.devices[0].cores, core_percent{8});
    EXPECT_EQ(read.devices[0].npu.ai_cpu, 7);
    EXPECT_THAT(read.devices[0].npu.templates, SizeIs(7));
}

TEST(mindcluster, every_check_has_its_own_problem) {
    const auto problem_of = [](const auto& change) {
        auto node = good_node();
        auto info = good_info();
        change(node, info);
        const auto read = read_node(node, info, {}, {});
        EXPECT_THAT(read.devices, IsEmpty());
        EXPECT_THAT(read.problems, SizeIs(1));
        return read.problems.empty() ? std::string{} : read.problems[0].message();
    };
    EXPECT_THAT(problem_of([](auto& node, auto&) { node.capacity.clear(); }), HasSubstr("capacity"));
    EXPECT_THAT(problem_of([](auto& node, auto&) { node.capacity[core] = "0"; }), HasSubstr("above 0"));
    EXPECT_THAT(problem_of([](auto& node, auto&) { node.capacity[core] = "12"; }), HasSubstr("multiple of 8"));
    EXPECT_THAT(problem_of([](auto& node, auto&) { node.allocatable.clear(); }), HasSubstr("allocatable"));
    EXPECT_THAT(problem_of([](auto& node, auto&) { node.labels.erase("accelerator"); }), HasSubstr("accelerator"));
    EXPECT_THAT(problem_of([](auto& node, auto&) { node.labels["accelerator"] = "huawei-Ascend910"; }),
                HasSubstr("huawei-Ascend910"));
    EXPECT_THAT(problem_of([](auto& node, auto&) { node.labels["servertype"] = "Ascend310P-7"; }),
                HasSubstr("8 or 10"));
    EXPECT_THAT(problem_of([](auto& node, auto&) { node.labels.erase("node.kubernetes.io/npu.chip.name"); }),
                HasSubstr("chip.name"));
    EXPECT_THAT(problem_of([](auto& node, auto&) { node.annotations.clear(); }), HasSubstr("baseDeviceInfos"));
    EXPECT_THAT(problem_of([](auto& node, auto&) { node.annotations["baseDeviceInfos"] = "[]"; }),
                HasSubstr("JSON object"));
    EXPECT_THAT(problem_of([](auto&, auto& info) { info.device_list.clear(); }), HasSubstr("mindx-dl-deviceinfo-n0"));
}

TEST(mindcluster, chips_that_recover_or_that_only_a_pod_names_are_not_given_out) {
    auto info = good_info();
    info.device_list["huawei.com/Ascend310P-Recovering"] = "Ascend310P-0";
    kubernetes::pod user;
    user.annotations[core] = "5-vir01";
    const kubernetes::pod* users[] = {&user};
    const auto read = read_node(good_node(), info, users, {});
    EXPECT_THAT(read.devices, SizeIs(4));
    EXPECT_THAT(healthy(read), ElementsAre("Ascend310P-2"));
}

TEST(mindcluster, a_node_about_to_be_separated_takes_nothing_new) {
    auto info = good_info();
    info.noded_status = "PreSeparate";
    const auto read = read_node(good_node(), info, {}, {});
    EXPECT_THAT(healthy(read), IsEmpty());
    EXPECT_THAT(read.devices, SizeIs(3)); // what runs there still counts
    EXPECT_THAT(read.problems, SizeIs(1));
    info.noded_status = "SubHealthy";
    EXPECT_THAT(healthy(read_node(good_node(), info, {}, {})), SizeIs(2));
}

TEST(mindcluster, the_list_of_the_config_map_is_an_option) {
    auto node = good_node();
    node.annotations.clear();
    const auto read = read_node(node, good_info(), {}, {.self_maintain = false});
    EXPECT_THAT(healthy(read), ElementsAre("Ascend310P-0", "Ascend310P-2"));
    auto info = good_info();
    info.device_list["huawei.com/Ascend310P"] = "Ascend310P-0,junk,Ascend310P-99999999999999999999";
    const auto wrong = read_node(node, info, {}, {.self_maintain = false});
    EXPECT_THAT(wrong.problems, SizeIs(2));
    EXPECT_THAT(healthy(wrong), ElementsAre("Ascend310P-0"));
}

kubernetes::pod pod_with(std::vector<std::int64_t> cores, kubernetes::text_map labels = {}) {
    kubernetes::pod result;
    result.name = "p";
    result.labels = std::move(labels);
    result.labels["ring-controller.atlas"] = "ascend-310P";
    for (const std::int64_t item : cores) {
        kubernetes::amount_map amounts;
        if (item != 0) amounts[core] = item;
        result.containers.push_back(
            {.name = "c" + std::to_string(result.containers.size()), .limits = amounts, .requests = amounts});
    }
    return result;
}

TEST(mindcluster, label_and_limit_make_a_request) {
    covers({"R089", "R094"});
    EXPECT_TRUE(spoken::requests(pod_with({8}), {}));
    EXPECT_FALSE(spoken::requests(pod_with({0}), {}));
    auto other = pod_with({8});
    other.labels["ring-controller.atlas"] = "ascend-910";
    EXPECT_FALSE(spoken::requests(other, {}));
}

TEST(mindcluster, seed_example_r088_is_one_whole_chip) {
    covers({"R088", "R097"});
    const auto read = spoken::read_pod(pod_with({8}, {{"vnpu-dvpp", "null"}, {"vnpu-level", "low"}}), {});
    ASSERT_TRUE(read.has_value());
    ASSERT_THAT(read->containers, SizeIs(1));
    EXPECT_EQ(read->containers[0].count, 1);
    EXPECT_EQ(read->containers[0].cores, core_percent{8});
    EXPECT_EQ(read->containers[0].mode, "mindcluster_310p");
    EXPECT_EQ(read->containers[0].family, "Ascend310P");
    EXPECT_EQ(spoken::read_pod(pod_with({24}), {})->containers[0].count, 3);
    EXPECT_TRUE(spoken::read_pod(pod_with({8}, {{"vnpu-dvpp", "whatever"}}), {}).has_value()); // R097: any
}

TEST(mindcluster, whole_chips_of_ten_cores) {
    const auto ten = spoken::read_pod(pod_with({10}), {});
    ASSERT_TRUE(ten) << ten.error().message();
    EXPECT_EQ(ten->containers[0].count, 1);
    EXPECT_EQ(ten->containers[0].cores, core_percent{10});
    EXPECT_EQ(spoken::read_pod(pod_with({16}), {})->containers[0].cores, core_percent{8});
    const options only_ten{.chip_cores = {10}};
    EXPECT_EQ(spoken::read_pod(pod_with({40}), only_ten)->containers[0].count, 4);
    EXPECT_EQ(spoken::read_pod(pod_with({8}), only_ten).error().expected, "1, 2, 4 or a multiple of 10");
    EXPECT_EQ(spoken::read_pod(pod_with({30, 40}), {})->containers[1].count, 4)
        << "30 are no chips of 8, so 40 are of 10";
    EXPECT_EQ(spoken::read_pod(pod_with({8, 10}), {}).error().code, error_code::out_of_range);
}

TEST(mindcluster, cores_that_are_whole_chips_of_both_sizes) {
    EXPECT_THAT(*readings(pod_with({4}), {}), SizeIs(1)) << "a part is the same on both";
    const auto both = readings(pod_with({40}), {});
    ASSERT_THAT(*both, SizeIs(2));
    EXPECT_EQ((*both)[0].containers[0].count, 5);
    EXPECT_EQ((*both)[1].containers[0].count, 4);
    EXPECT_EQ(*spoken::read_pod(pod_with({40}), {}), both->front());
    const auto refused = spoken::read_pod(pod_with({40}), {.usual_chips = false});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::unsupported);
    EXPECT_EQ(refused.error().value, "5 of 8 AI cores, or 4 of 10 AI cores");
    EXPECT_EQ(spoken::read_pod(pod_with({20}), {.usual_chips = false})->containers[0].count, 2);
}

TEST(mindcluster, a_node_says_how_many_cores_its_chips_have) {
    kubernetes::node node;
    node.labels["servertype"] = "Ascend310P-10-dual";
    EXPECT_EQ(cores_per_chip(node), std::nullopt) << "it has no capacity of them";
    node.capacity["huawei.com/npu-core"] = "20";
    EXPECT_EQ(cores_per_chip(node), 10);
    node.labels["servertype"] = "Ascend310P-9";
    EXPECT_EQ(cores_per_chip(node), std::nullopt);
}

TEST(mindcluster, parts_of_a_chip_carry_both_labels) {
    covers({"R090", "R093"});
    const auto read = spoken::read_pod(pod_with({4}, {{"vnpu-dvpp", "no"}, {"vnpu-level", "high"}}), {});
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->containers[0].count, 1);
    EXPECT_EQ(read->containers[0].cores, core_percent{4});
    EXPECT_EQ(read->containers[0].dvpp, dvpp_use::no);
    EXPECT_TRUE(read->containers[0].high_level);
    const auto low = spoken::read_pod(pod_with({4}, {{"vnpu-dvpp", "yes"}, {"vnpu-level", "highest"}}), {});
    EXPECT_EQ(low->containers[0].dvpp, dvpp_use::yes);
    EXPECT_FALSE(low->containers[0].high_level);
}

TEST(mindcluster, dvpp_has_to_match_the_table) { // R096
    covers({"R096"});
    for (const std::int64_t cores : {1, 2}) {
        const auto pod = pod_with({cores}, {{"vnpu-dvpp", "yes"}});
        const auto strict = spoken::read_pod(pod, {});
        ASSERT_FALSE(strict.has_value());
        EXPECT_EQ(strict.error().code, error_code::mismatch);
        EXPECT_EQ(strict.error().value, "yes");
        const auto upstream = spoken::read_pod(pod, {.strict_dvpp = false});
        ASSERT_TRUE(upstream.has_value());
        EXPECT_EQ(upstream->containers[0].dvpp, dvpp_use::unstated);
        EXPECT_EQ(spoken::read_pod(pod_with({cores}, {{"vnpu-dvpp", "maybe"}}), {}).error().code,
                  error_code::unknown_name);
    }
}

TEST(mindcluster, other_core_counts_are_errors_that_name_the_allowed_ones) {
    for (const std::int64_t cores : {3, 5, 6, 7, 12, -1}) {
        const auto read = spoken::read_pod(pod_with({cores}), {});
        ASSERT_FALSE(read.has_value()) << cores;
        EXPECT_EQ(read.error().code, error_code::out_of_range);
        EXPECT_EQ(read.error().value, std::to_string(cores));
    }
    EXPECT_EQ(spoken::read_pod(pod_with({12}), {}).error().expected, "1, 2, 4 or a multiple of 8 or 10");
}

TEST(mindcluster, a_null_without_quotes_is_told_to_need_them) {
    const auto read = spoken::read_pod(pod_with({4}, {{"vnpu-dvpp", ""}}), {});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().value, "\"\"");
    EXPECT_THAT(read.error().expected, HasSubstr("in quotes"));
}

TEST(mindcluster, every_container_counts_unless_read_as_upstream) {
    const auto pod = pod_with({0, 2, 8});
    EXPECT_THAT(spoken::read_pod(pod, {})->containers, SizeIs(2));
    EXPECT_THAT(spoken::read_pod(pod, {.every_container = false})->containers, SizeIs(1));
}

std::vector<device_registration> devices() { return read_node(good_node(), good_info(), {}, {}).devices; }

dialects::assignment_reading assigned(const std::string& text) {
    auto pod = pod_with({2});
    pod.annotations[core] = text;
    return spoken::read_assignment(pod, devices(), {});
}

TEST(mindcluster, assignments_are_templates_or_whole_chips) {
    EXPECT_THAT(assigned("10-vir02_1c").shares,
                ElementsAre(device_share{0, device_index{2U}, vir_template{2, mib{0}, core_percent{2}}}));
    EXPECT_THAT(assigned("0,2").shares, ElementsAre(device_share{0, device_index{0U}, whole_device{}},
                                                    device_share{0, device_index{1U}, whole_device{}}));
    EXPECT_THAT(assigned("0-vir01;2").shares,
                ElementsAre(device_share{0, device_index{0U}, vir_template{0, mib{0}, core_percent{1}}},
                            device_share{1, device_index{1U}, whole_device{}}));
    EXPECT_THAT(assigned("0-vir01;2").problems, IsEmpty());
}

TEST(mindcluster, the_vgroup_is_what_the_device_plugin_made) {
    const auto group_of = [](const std::string& real) {
        auto pod = pod_with({2});
        pod.annotations[core] = "10-vir02_1c";
        pod.annotations["huawei.com/AscendReal"] = real;
        return std::get<vir_template>(spoken::read_assignment(pod, devices(), {}).shares[0].part).group;
    };
    EXPECT_EQ(group_of("Ascend310P-2c.1cpu-100-0_0"), 1U);
    EXPECT_EQ(group_of("Ascend310P-2c.1cpu-103-10_3"), 4U);
    for (const char* other : {"", "Ascend310P-2c.1cpu-100-0", "Ascend310P-2c-100-0_4", "x_", "x_-1", "x_99999999999"}) {
        EXPECT_EQ(group_of(other), 0U) << other;
    }
    auto pod = pod_with({2});
    pod.annotations[core] = "0-vir01;2-vir01";
    pod.annotations["huawei.com/AscendReal"] = "Ascend310P-1c-100-0_2;Ascend310P-1c-101-2_1";
    const auto read = spoken::read_assignment(pod, devices(), {});
    EXPECT_EQ(std::get<vir_template>(read.shares[0].part).group, 3U);
    EXPECT_EQ(std::get<vir_template>(read.shares[1].part).group, 2U);
}

TEST(mindcluster, assignments_that_cannot_be_read_are_problems) {
    for (const char* text : {"7", "x", "0-vir03", "-vir01", "0-vir01-2", "99999999999999999999-vir01", "1,"}) {
        const auto read = assigned(text);
        EXPECT_FALSE(read.problems.empty()) << text;
        EXPECT_THAT(read.shares, IsEmpty()) << text;
    }
    EXPECT_THAT(assigned("0,0").problems, ElementsAre(Field(&error::code, error_code::duplicate)));
    EXPECT_THAT(assigned("0,0").shares, SizeIs(1));
    EXPECT_THAT(assigned("2,0-vir01").problems, SizeIs(1));
}

TEST(mindcluster, what_is_written_is_what_is_read) {
    for (const char* text : {"10-vir04_4c_dvpp", "0,2", "0-vir01;2,10", ";2"}) {
        const auto read = assigned(text);
        EXPECT_THAT(read.problems, IsEmpty());
        const auto written = spoken::write_assignment({}, devices(), {"n0", "18", read.shares}, {});
        EXPECT_EQ(written, (kubernetes::text_map{{core, text}, {"predicate-time", "18"}}));
    }
    const auto mindcluster = make({});
    kubernetes::node node;
    node.name = "n0";
    kubernetes::text_map config_map;
    mindcluster->write_node(devices(), node, config_map);
    EXPECT_EQ(mindcluster->read_node({.object = node, .config_map = &config_map}).devices, devices());
}

TEST(mindcluster, a_node_without_chips_or_without_its_config_map_has_none) {
    const auto mindcluster = make({});
    EXPECT_EQ(mindcluster->config_map_of("n0"), "mindx-dl-deviceinfo-n0");
    EXPECT_THAT(mindcluster->read_node({.object = kubernetes::node{}}).problems, IsEmpty());
    const auto node = good_node();
    EXPECT_THAT(mindcluster->read_node({.object = node}).problems, SizeIs(1));
    for (const char* text :
         {"", "{", "[]", R"({"DeviceInfo":{"DeviceList":[]}})", R"({"DeviceInfo":{"DeviceList":{"a":1}}})"}) {
        EXPECT_FALSE(read_device_info({{"DeviceInfoCfg", text}})) << text;
    }
}

TEST(mindcluster, chips_are_of_the_sizes_that_the_nodes_have) {
    const auto mindcluster = make({});
    auto small = good_node();
    auto large = good_node();
    large.labels["servertype"] = "Ascend310P-10";
    EXPECT_EQ(mindcluster->trait_of(small), "8");
    EXPECT_EQ(mindcluster->trait_of(large), "10");
    EXPECT_EQ(mindcluster->trait_of(kubernetes::node{}), "");
    EXPECT_EQ(mindcluster->for_traits({}), nullptr);
    EXPECT_EQ(mindcluster->for_traits({"10"})->read_pod(pod_with({40}))->containers[0].count, 4);
    EXPECT_EQ(mindcluster->for_traits({"10", "8"})->read_pod(pod_with({40})).error().code, error_code::unsupported);
    EXPECT_EQ(mindcluster->extended_of(small), 24);
    EXPECT_EQ(mindcluster->extended_of(pod_with({2, 0, 8})), 10);
}

} // namespace
} // namespace vgpualloc::dialects::mindcluster
