// The gpushare dialect: nodes by capacity, requests of whole pods, assignments by position.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.hpp"
#include "vgpualloc/dialect/gpushare.hpp"

namespace vgpualloc::dialects::gpushare {
namespace {

using namespace testing; // matchers
using spoken = test::spoken<options>;

constexpr const char* memory_resource = "volcano.sh/gpu-memory";
constexpr const char* number_resource = "volcano.sh/gpu-number";

options by_number() { return {.memory_enabled = false, .number_enabled = true}; }

kubernetes::node node_of(const std::string& memory, const std::string& number) {
    kubernetes::node result;
    result.name = "n0";
    result.capacity = {{memory_resource, memory}, {number_resource, number}};
    return result;
}

kubernetes::container limited(const char* resource, std::int64_t amount) {
    return {.name = "c", .limits = {{resource, amount}}, .requests = {}};
}

kubernetes::pod pod_of(std::vector<kubernetes::container> containers,
                       std::vector<kubernetes::container> init_containers = {}) {
    kubernetes::pod result;
    result.name = "p";
    result.ns = "default";
    result.containers = std::move(containers);
    result.init_containers = std::move(init_containers);
    return result;
}

TEST(gpushare_node, capacity_is_divided_among_the_cards) {
    auto node = node_of("65Ki", "4");
    node.annotations[unhealthy_annotation] = "1, 3,";
    const auto read = spoken::read_node(node, options{});
    ASSERT_THAT(read.devices, SizeIs(4));
    EXPECT_THAT(read.problems, IsEmpty());
    EXPECT_EQ(read.devices[2].uuid, "n0/2");
    EXPECT_EQ(read.devices[2].memory, mib{16640});
    EXPECT_EQ(read.devices[2].family, "gpushare");
    EXPECT_EQ(read.devices[2].mode, "hami_core");
    EXPECT_EQ(read.devices[2].slots, 1'000'000);
    EXPECT_EQ(read.devices[2].cores, core_percent{100});
    EXPECT_TRUE(read.devices[0].healthy);
    EXPECT_FALSE(read.devices[1].healthy);
    EXPECT_FALSE(read.devices[3].healthy);
    kubernetes::node written;
    written.name = "n0";
    spoken::write_node(read.devices, options{}, written);
    EXPECT_EQ(written.annotations[unhealthy_annotation], "1,3");
    EXPECT_EQ(spoken::read_node(written, options{}).devices, read.devices);
}

TEST(gpushare_node, nodes_without_both_amounts_have_no_cards) {
    EXPECT_THAT(spoken::read_node(kubernetes::node{}, options{}).problems, IsEmpty());
    EXPECT_THAT(spoken::read_node(node_of("100", "0"), options{}).devices, IsEmpty());
    EXPECT_THAT(spoken::read_node(node_of("100", "0"), options{}).problems, IsEmpty());
    for (const char* const wrong : {"", "-1", "x", "1025", "99999999999999999999"}) {
        const auto read = spoken::read_node(node_of("100", wrong), options{});
        EXPECT_THAT(read.devices, IsEmpty()) << wrong;
        ASSERT_THAT(read.problems, SizeIs(1)) << wrong;
        EXPECT_EQ(read.problems[0].field, "capacity volcano.sh/gpu-number");
    }
    EXPECT_THAT(spoken::read_node(node_of("lots", "2"), options{}).problems, SizeIs(1));
    kubernetes::node half;
    half.capacity = {{memory_resource, "100"}};
    EXPECT_THAT(spoken::read_node(half, options{}).problems, SizeIs(1));
}

TEST(gpushare_node, amounts_are_kubernetes_quantities) {
    const std::vector<std::pair<std::string, std::int64_t>> all{
        {"7", 7},      {"+7", 7},           {"100k", 100000}, {"1.5k", 1500},
        {"2Ki", 2048}, {"4e2", 400},        {"40e-1", 4},     {"1500m", 2},
        {"0.5", 1},    {"1.25Mi", 1310720}, {"3M", 3000000},  {"1Ti", std::int64_t{1} << 40U}};
    for (const auto& [written, mib_read] : all) {
        const auto read = spoken::read_node(node_of(written, "1"), options{});
        ASSERT_THAT(read.devices, SizeIs(1)) << written;
        EXPECT_EQ(read.devices[0].memory, mib{mib_read}) << written;
    }
    for (const char* const wrong : {"1.2.3", "k", ".", "1 k", "1kk", "1e", "1e99", "16E", "8Ei", "0x10", "-1"}) {
        EXPECT_THAT(spoken::read_node(node_of(wrong, "1"), options{}).devices, IsEmpty()) << wrong;
    }
}

TEST(gpushare_node, cards_without_memory_are_unhealthy) {
    const auto read = spoken::read_node(node_of("3", "4"), options{});
    ASSERT_THAT(read.devices, SizeIs(4));
    EXPECT_FALSE(read.devices[0].healthy);
    EXPECT_EQ(read.devices[0].memory, mib{1});
    EXPECT_THAT(read.problems, SizeIs(1));
}

TEST(gpushare_node, unreadable_positions_are_problems) {
    auto node = node_of("100", "2");
    node.annotations[unhealthy_annotation] = "0,2,x,-1";
    const auto read = spoken::read_node(node, options{});
    EXPECT_FALSE(read.devices[0].healthy);
    EXPECT_TRUE(read.devices[1].healthy);
    EXPECT_THAT(read.problems, SizeIs(3));
}

TEST(gpushare_pod, a_pod_asks_for_its_sum_or_its_largest_init_container) {
    auto pod = pod_of({limited(memory_resource, 100), limited(memory_resource, 50)}, {limited(memory_resource, 120)});
    ASSERT_TRUE(spoken::requests(pod, options{}));
    const auto sum = spoken::read_pod(pod, options{});
    ASSERT_TRUE(sum);
    ASSERT_THAT(sum->containers, SizeIs(1));
    EXPECT_EQ(sum->containers[0].memory, mib{150});
    EXPECT_EQ(sum->containers[0].count, 1);
    EXPECT_EQ(sum->containers[0].cores, core_percent{0});
    EXPECT_EQ(sum->containers[0].family, "gpushare");
    pod.init_containers.push_back(limited(memory_resource, 151));
    EXPECT_EQ(spoken::read_pod(pod, options{})->containers[0].memory, mib{151});
}

TEST(gpushare_pod, only_the_enabled_way_counts) {
    auto pod = pod_of({limited(memory_resource, 100)});
    EXPECT_FALSE(spoken::requests(pod, by_number()));
    EXPECT_THAT(spoken::read_pod(pod, by_number())->containers, IsEmpty());
    pod.containers.push_back(limited(number_resource, 3));
    const auto read = spoken::read_pod(pod, by_number());
    ASSERT_THAT(read->containers, SizeIs(1));
    EXPECT_EQ(read->containers[0].count, 3) << "upstream would look at the memory first (Q25)";
    EXPECT_EQ(read->containers[0].memory_percent, 100);
    EXPECT_EQ(read->containers[0].cores, core_percent{100});
    EXPECT_THAT(spoken::read_pod(pod, {.memory_enabled = false})->containers, IsEmpty());
    const auto both = spoken::read_pod(pod, {.number_enabled = true});
    ASSERT_FALSE(both);
    EXPECT_EQ(both.error().code, error_code::unsupported);
}

TEST(gpushare_pod, of_one_that_names_both_resources_memory_counts_or_the_number) {
    const auto pod = pod_of({limited(memory_resource, 100), limited(number_resource, 2)});
    const auto by_memory = spoken::read_pod(pod, {.way_by_pod = true});
    ASSERT_THAT(by_memory->containers, SizeIs(1));
    EXPECT_EQ(by_memory->containers[0].count, 1);
    EXPECT_EQ(by_memory->containers[0].memory, mib{100});
    const auto by_cards = spoken::read_pod(pod, {.way_by_pod = true, .number_first = true});
    ASSERT_THAT(by_cards->containers, SizeIs(1));
    EXPECT_EQ(by_cards->containers[0].count, 2);
    EXPECT_EQ(by_cards->containers[0].memory_percent, 100);
    const auto memory_alone =
        spoken::read_pod(pod_of({limited(memory_resource, 100)}), {.way_by_pod = true, .number_first = true});
    ASSERT_THAT(memory_alone->containers, SizeIs(1));
    EXPECT_EQ(memory_alone->containers[0].memory, mib{100});
}

TEST(gpushare_pod, amounts_that_do_not_fit_are_errors) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    for (const auto& pod : {pod_of({limited(memory_resource, -1)}), pod_of({}, {limited(memory_resource, -1)}),
                            pod_of({limited(memory_resource, most), limited(memory_resource, 1)})}) {
        EXPECT_TRUE(spoken::requests(pod, options{}));
        const auto read = spoken::read_pod(pod, options{});
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().code, error_code::out_of_range);
        EXPECT_EQ(read.error().where, "pod default/p");
    }
}

class gpushare_assignment : public testing::Test {
protected:
    std::vector<device_registration> devices = spoken::read_node(node_of("400", "4"), options{}).devices;
    kubernetes::pod pod = pod_of({limited(memory_resource, 30), limited(number_resource, 2)});

    dialects::assignment_reading read(const std::string& text, const options& with = {}) {
        pod.annotations[index_annotation] = text;
        return spoken::read_assignment(pod, devices, with);
    }
};

TEST_F(gpushare_assignment, a_memory_pod_has_its_memory_on_the_card_listed) {
    const std::vector<device_share> shares{{.device = device_index{2U}, .part = slice{.memory = mib{30}, .cores = {}}}};
    const auto written = spoken::write_assignment({}, {}, {.node = "n0", .time = "17", .shares = shares}, {});
    EXPECT_EQ(written, (kubernetes::text_map{{"volcano.sh/predicate-time", "17"}, {"volcano.sh/gpu-index", "2"}}));
    EXPECT_EQ(read(written.at(index_annotation)).shares, shares);
    EXPECT_THAT(read("2").problems, IsEmpty());
}

TEST_F(gpushare_assignment, a_number_pod_has_whole_cards) {
    const slice whole{.memory = mib{100}, .cores = core_percent{100}};
    const std::vector<device_share> shares{{.device = device_index{0U}, .part = whole},
                                           {.device = device_index{3U}, .part = whole}};
    const auto written = spoken::write_assignment({}, {}, {.node = "n0", .time = "17", .shares = shares}, {});
    EXPECT_EQ(written.at(index_annotation), "0,3");
    EXPECT_EQ(read("0,3", by_number()).shares, shares);
    EXPECT_THAT(read("0,3", by_number()).problems, IsEmpty());
}

TEST_F(gpushare_assignment, what_cannot_be_read_is_a_problem_and_no_share) {
    for (const char* const wrong : {"", "x", "4", "-1", "99999999999999999999", "1;2"}) {
        EXPECT_THAT(read(wrong).shares, IsEmpty()) << wrong;
        EXPECT_THAT(read(wrong).problems, SizeIs(1)) << wrong;
    }
    EXPECT_THAT(read("1,1").shares, SizeIs(1));
    EXPECT_THAT(read("1,1").problems, SizeIs(1));
    EXPECT_THAT(read("1,2").shares, SizeIs(2)) << "full memory on every card listed";
    ASSERT_THAT(read("1,2").problems, SizeIs(1));
    EXPECT_EQ(read("1,2").problems[0].code, error_code::mismatch);
    EXPECT_THAT(read("1", {.number_enabled = true}).problems, SizeIs(1));
}

TEST_F(gpushare_assignment, a_pod_that_asks_for_nothing_has_nothing) {
    EXPECT_THAT(spoken::read_assignment(pod, devices, options{}).shares, IsEmpty());
    pod.containers.clear();
    EXPECT_THAT(read("1").shares, IsEmpty());
    EXPECT_THAT(read("1").problems, IsEmpty());
}

} // namespace
} // namespace vgpualloc::dialects::gpushare
