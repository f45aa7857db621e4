// The cce dialect: the rules of CCE that are about reading (the mode has the others), nodes and assignments.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/support.hpp"
#include "requirements.hpp"
#include "unit/support.hpp"
#include "vgpualloc/dialect/cce.hpp"

namespace vgpualloc::dialects::cce {
namespace {

using vgpualloc::test::covers;
using vgpualloc::test::limited;
using vgpualloc::test::pod_of;
using namespace testing; // matchers
using spoken = test::spoken<options>;

constexpr const char* memory_name = "volcano.sh/gpu-mem.128Mi";
constexpr const char* cores_name = "volcano.sh/gpu-core.percentage";

kubernetes::pod asking(kubernetes::amount_map limits) { return pod_of({limited(std::move(limits))}); }

error error_of(const kubernetes::pod& pod) {
    const auto read = spoken::read_pod(pod, {});
    EXPECT_FALSE(read.has_value());
    return read ? error{} : read.error();
}

TEST(cce, rule_21_memory_alone) { // R118, C1
    covers({"R118", "C1"});
    const auto read = spoken::read_pod(asking({{memory_name, 40}}), {});
    ASSERT_TRUE(read.has_value());
    ASSERT_THAT(read->containers, SizeIs(1));
    EXPECT_EQ(read->containers[0].count, 1);
    EXPECT_EQ(read->containers[0].memory, mib{5120});
    EXPECT_EQ(read->containers[0].cores, core_percent{0});
    EXPECT_EQ(read->containers[0].mode, "cce");
}

TEST(cce, rule_22_memory_and_compute) { // R119, C2
    covers({"R119"});
    const auto read = spoken::read_pod(asking({{memory_name, 40}, {cores_name, 25}}), {});
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->containers[0].memory, mib{5120});
    EXPECT_EQ(read->containers[0].cores, core_percent{25});
}

TEST(cce, rule_2_no_virtual_gpu_in_init_containers) { // C11
    covers({"R102", "C11"});
    for (const char* name : {memory_name, cores_name}) {
        auto pod = pod_of({});
        pod.init_containers.push_back(limited({{name, 5}}));
        EXPECT_TRUE(spoken::requests(pod, {}));
        const auto failure = error_of(pod);
        EXPECT_EQ(failure.code, error_code::unsupported);
        EXPECT_EQ(failure.field, name);
        EXPECT_THAT(failure.message(), HasSubstr("init container"));
    }
}

TEST(cce, rule_4_compute_needs_memory) { // C5
    covers({"R117", "C5"});
    EXPECT_TRUE(spoken::requests(asking({{cores_name, 25}}), {}));
    const auto failure = error_of(asking({{cores_name, 25}}));
    EXPECT_EQ(failure.code, error_code::missing);
    EXPECT_EQ(failure.field, memory_name);
    EXPECT_THAT(failure.message(), HasSubstr("memory beside compute"));
}

TEST(cce, rules_5_and_6_memory_is_a_positive_number_of_units) {
    covers({"R110"});
    for (const std::int64_t units :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{16'777'216}, std::numeric_limits<std::int64_t>::max()}) {
        const auto failure = error_of(asking({{memory_name, units}}));
        EXPECT_EQ(failure.code, error_code::out_of_range) << units;
        EXPECT_EQ(failure.value, std::to_string(units));
        EXPECT_THAT(failure.message(), HasSubstr("units of 128 MiB"));
    }
}

TEST(cce, rule_7_more_than_any_gpu_has_is_left_to_the_mode) { // C7
    EXPECT_EQ(spoken::read_pod(asking({{memory_name, 127}}), {})->containers[0].memory, mib{16256});
}

TEST(cce, rule_8_compute_in_steps_of_five) { // C6
    covers({"R112", "C6"});
    for (const std::int64_t cores : {-5, 0, 3, 7, 27, 101, 105}) {
        const auto failure = error_of(asking({{memory_name, 40}, {cores_name, cores}}));
        EXPECT_EQ(failure.code, error_code::out_of_range) << cores;
        EXPECT_EQ(failure.field, cores_name);
        EXPECT_THAT(failure.message(), HasSubstr("a multiple of 5"));
    }
    for (std::int64_t cores = 5; cores <= 100; cores += 5) {
        EXPECT_TRUE(spoken::read_pod(asking({{memory_name, 1}, {cores_name, cores}}), {}).has_value()) << cores;
    }
}

TEST(cce, every_container_is_one_virtual_gpu) {
    const auto pod = pod_of({limited({{memory_name, 1}}), limited({}), limited({{memory_name, 2}, {cores_name, 100}})});
    ASSERT_THAT(spoken::read_pod(pod, {})->containers, SizeIs(2));
    EXPECT_EQ(spoken::read_pod(pod, {})->containers[1].cores, core_percent{100}); // rule 10 is the mode's
    EXPECT_FALSE(spoken::requests(pod_of({limited({{"nvidia.com/gpu", 1}})}), {}));
}

kubernetes::node by_amounts(const std::string& memory, const std::string& cores) {
    kubernetes::node result;
    result.name = "n0";
    result.labels["accelerator"] = "nvidia-v100";
    result.allocatable = {{memory_name, memory}, {cores_name, cores}};
    return result;
}

TEST(cce, a_node_by_its_amounts) {
    const auto read = spoken::read_node(by_amounts("253", "200"), {});
    EXPECT_THAT(read.problems, IsEmpty());
    ASSERT_THAT(read.devices, SizeIs(2));
    EXPECT_EQ(read.devices[1].uuid, "n0/1");
    EXPECT_EQ(read.devices[1].model, "nvidia-v100");
    EXPECT_EQ(read.devices[1].memory, mib{16128}); // 126 units of 126.5
    EXPECT_EQ(read.devices[1].slots, 20);          // rule 1
    EXPECT_EQ(read.devices[1].mode, "cce");
    EXPECT_THAT(spoken::read_node(by_amounts("0", "0"), {}).problems, IsEmpty());
    EXPECT_THAT(spoken::read_node({}, {}).problems, IsEmpty());
    for (const auto& wrong :
         {by_amounts("253", "150"), by_amounts("1", "200"), by_amounts("253", "0"), by_amounts("x", "200"),
          by_amounts("253", "99999999999999999900"), by_amounts("9000000000000000000", "100")}) {
        EXPECT_THAT(spoken::read_node(wrong, {}).devices, IsEmpty());
        EXPECT_THAT(spoken::read_node(wrong, {}).problems, SizeIs(1));
    }
}

std::vector<device_registration> devices() {
    kubernetes::node result;
    result.name = "n0";
    result.annotations[register_annotation] = R"([{"id":"A","model":"V100","memory":16160,"health":true},
                                                {"id":"B","model":"V100","memory":16160,"health":false}])";
    const auto read = spoken::read_node(result, {});
    EXPECT_THAT(read.problems, IsEmpty());
    return read.devices;
}

TEST(cce, a_registered_node) {
    ASSERT_THAT(devices(), SizeIs(2));
    EXPECT_TRUE(devices()[0].healthy);
    EXPECT_FALSE(devices()[1].healthy);
    kubernetes::node to;
    to.name = "n0";
    spoken::write_node(devices(), {}, to);
    EXPECT_EQ(to.allocatable.at(memory_name), "252");
    EXPECT_EQ(to.allocatable.at(cores_name), "200");
    EXPECT_EQ(spoken::read_node(to, {}).devices, devices());
    for (const char* wrong : {R"([{"id":"A","model":"V100","memory":1,"health":true}])", R"([{"id":"A"}])", "x",
                              R"([{"id":"A;","model":"V100","memory":1000,"health":true}])", "{}"}) {
        to.annotations[register_annotation] = wrong;
        EXPECT_THAT(spoken::read_node(to, {}).problems, SizeIs(1)) << wrong;
        EXPECT_THAT(spoken::read_node(to, {}).devices, IsEmpty()) << wrong;
    }
    to.annotations[register_annotation] = R"([{"id":"A","model":"","memory":1000,"health":true},
                                              {"id":"A","model":"","memory":1000,"health":true}])";
    EXPECT_THAT(spoken::read_node(to, {}).problems, ElementsAre(Field(&error::code, error_code::duplicate)));
}

TEST(cce, assignments_both_ways) {
    auto pod = pod_of({limited({{memory_name, 1}}), limited({}), limited({{memory_name, 126}})});
    const std::vector<device_share> shares{{0, device_index{1U}, slice{mib{128}, core_percent{5}}},
                                           {1, device_index{0U}, whole_device{}}};
    pod.annotations = spoken::write_assignment(pod, devices(), {"n0", "1", shares}, {});
    EXPECT_EQ(pod.annotations.at(assignment_annotation), "B,128,5:;;A,whole:;");
    const auto read = spoken::read_assignment(pod, devices(), {});
    EXPECT_THAT(read.problems, IsEmpty());
    EXPECT_EQ(read.shares, shares);
    for (const char* wrong : {"B,129,5:;;", "B,128,3:;;", "B,128,105:;;", "B,0,5:;;", "X,128,5:;;", "B,128:;;",
                              "B,128,5:A,128,5:;;", ";B,128,5:;", "B,-128,5:;;"}) {
        pod.annotations[assignment_annotation] = std::string{wrong} + "A,whole:;";
        EXPECT_THAT(spoken::read_assignment(pod, devices(), {}).problems, SizeIs(1)) << wrong;
        EXPECT_THAT(spoken::read_assignment(pod, devices(), {}).shares, SizeIs(1)) << wrong;
    }
}

TEST(cce, C11_init_containers_have_no_virtual_gpu) {
    covers({"C11", "R102"});
    kubernetes::pod pending = asking({{memory_name, 40}});
    const auto accepted = spoken::read_pod(pending, {});
    ASSERT_TRUE(accepted) << accepted.error().message();
    const sharing_mode& mode = test::mode("cce");
    const device_spec v100 = mode.adapted({.model = "V100", .memory = mib{16160}, .slots = 100, .mode = &mode});
    EXPECT_EQ(mode.why_not(v100, {}, accepted->containers.at(0)).code, rejection_code::none);
    pending.init_containers = pending.containers;
    const auto refused = spoken::read_pod(pending, {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, error_code::unsupported);
}

} // namespace
} // namespace vgpualloc::dialects::cce
