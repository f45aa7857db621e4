// Volcano's legacy gpushare devices: what the recordings do not decide, and each quirk switched off.
#include "vgpualloc/compat/volcano/gpushare.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace vgpualloc::compat::volcano {
namespace {

const std::string gpu_memory_name = "volcano.sh/gpu-memory";
const std::string gpu_number_name = "volcano.sh/gpu-number";
const std::string gpu_index_name = "volcano.sh/gpu-index";

node sharing_node(std::string memory, std::string number, const std::string& unhealthy = {}) {
    node result;
    result.name = "n";
    result.capacity = {{gpu_memory_name, std::move(memory)}, {gpu_number_name, std::move(number)}};
    if (!unhealthy.empty()) result.annotations["volcano.sh/gpu-unhealthy-ids"] = unhealthy;
    return result;
}
pod gpu_pod(std::string uid, kubernetes::amount_map limits) {
    pod pending;
    pending.name = "p-" + uid;
    pending.ns = "team";
    pending.uid = std::move(uid);
    pending.containers.push_back({.name = "c", .limits = std::move(limits), .requests = {}});
    return pending;
}
pod on(pod bound, std::string cards) {
    bound.annotations[gpu_index_name] = std::move(cards);
    return bound;
}
plugin_options by_memory() {
    plugin_options options;
    options.gpushare_memory = true;
    return options;
}
plugin_options by_number() {
    plugin_options options;
    options.gpushare_number = true;
    return options;
}

/// Used memory per card, in the order of the cards.
std::vector<std::int64_t> used_memory(const device_object& of) {
    std::vector<std::int64_t> result;
    for (const auto& shown : of.state().devices) result.push_back(shown.used_mem);
    return result;
}
std::vector<std::int64_t> pods_on(const device_object& of) {
    std::vector<std::int64_t> result;
    for (const auto& shown : of.state().devices) result.push_back(shown.used_num);
    return result;
}
using numbers = std::vector<std::int64_t>;

TEST(volcano_gpushare, a_node_needs_both_resources_and_a_number_other_than_zero) {
    const auto options = by_memory();
    EXPECT_EQ(make_gpushare(sharing_node("1000", "0"), options), nullptr);
    node without = sharing_node("1000", "1");
    without.capacity.erase(gpu_memory_name);
    EXPECT_EQ(make_gpushare(without, options), nullptr);
    EXPECT_NE(make_gpushare(sharing_node("0", "1"), options), nullptr);
}

TEST(volcano_gpushare, capacities_are_quantities_rounded_up_and_divided_down) {
    const auto options = by_memory();
    for (const auto& [memory, number, per_card] : {std::tuple{"30427", "4", 7606},
                                                   {"2Ki", "2", 1024},
                                                   {"1k", "3", 333},
                                                   {"1500m", "1", 2},
                                                   {"1.5Ki", "1", 1536},
                                                   {"1e3", "1", 1000},
                                                   {"+12", "1", 12}}) {
        const auto devices = make_gpushare(sharing_node(memory, number), options);
        ASSERT_NE(devices, nullptr) << memory;
        EXPECT_EQ(devices->state().devices[0].memory, per_card) << memory;
    }
    EXPECT_EQ(make_gpushare(sharing_node("12x", "1"), options), nullptr) << "no quantity";
}

TEST(volcano_gpushare, unhealthy_cards_are_missing_and_bad_ids_ignored) {
    const auto options = by_memory();
    const auto devices = make_gpushare(sharing_node("4000", "4", "2,x, 1,9,+0"), options);
    const auto state = devices->state();
    ASSERT_EQ(state.devices.size(), 2U) << "\" 1\" is no number";
    EXPECT_EQ(state.devices[0].index, 1);
    EXPECT_EQ(state.devices[1].index, 3);
}

TEST(volcano_gpushare, of_init_containers_only_the_largest_counts) {
    const auto options = by_memory();
    const auto devices = make_gpushare(sharing_node("3000", "1"), options);
    pod pending = gpu_pod("a", {{gpu_memory_name, 1000}});
    pending.init_containers.push_back({.name = "i", .limits = {{gpu_memory_name, 2500}}, .requests = {}});
    pending.init_containers.push_back({.name = "j", .limits = {{gpu_memory_name, 2000}}, .requests = {}});
    ASSERT_TRUE(devices->allocate(pending, "").ok);
    EXPECT_EQ(used_memory(*devices), numbers{2500});
}

TEST(volcano_gpushare, each_card_of_a_list_is_charged_all_and_an_overfull_one_is_full) {
    const auto options = by_memory();
    const auto devices = make_gpushare(sharing_node("2000", "2"), options);
    devices->add_resource(on(gpu_pod("a", {{gpu_memory_name, 900}}), "0,1,7"));
    devices->add_resource(on(gpu_pod("b", {{gpu_memory_name, 900}}), "0"));
    EXPECT_EQ(used_memory(*devices), (numbers{1800, 900}));
    EXPECT_FALSE(devices->filter(gpu_pod("c", {{gpu_memory_name, 101}}), "").fits);
    const auto answer = devices->allocate(gpu_pod("c", {{gpu_memory_name, 100}}), "");
    EXPECT_EQ(answer.chips, numbers{1});
}

TEST(volcano_gpushare, a_pod_leaves_its_cards_or_all_where_the_annotation_says_nothing) {
    const auto options = by_memory();
    const pod bare = gpu_pod("a", {{gpu_memory_name, 10}});
    for (const auto& [list, left] : {std::pair{"1", numbers{10, 0}}, {"", numbers{0, 0}}, {"1,x", numbers{0, 0}}}) {
        const auto devices = make_gpushare(sharing_node("2000", "2"), options);
        devices->add_resource(on(bare, "0,1"));
        devices->sub_resource(on(bare, list));
        EXPECT_EQ(used_memory(*devices), left) << list;
    }
    const auto devices = make_gpushare(sharing_node("2000", "2"), options);
    devices->add_resource(on(bare, "0,x"));
    devices->add_resource(bare);
    EXPECT_EQ(used_memory(*devices), (numbers{0, 0})) << "a list that cannot be read adds nothing";
    devices->add_resource(on(bare, "0,1"));
    devices->unallocate(bare);
    EXPECT_EQ(used_memory(*devices), (numbers{0, 0}));
}

TEST(volcano_gpushare, a_copy_is_apart) {
    const auto options = by_number();
    const auto cache = make_gpushare(sharing_node("2000", "2"), options);
    const auto session = cache->copy();
    ASSERT_TRUE(session->allocate(gpu_pod("a", {{gpu_number_name, 1}}), "").ok);
    EXPECT_EQ(pods_on(*cache), (numbers{0, 0}));
    EXPECT_EQ(pods_on(*session), (numbers{1, 0}));
}

TEST(volcano_gpushare, q13_idle_cards_come_lowest_first_on_and_off) {
    for (const bool has : {true, false}) {
        auto options = by_number();
        if (!has) options.quirks = options.quirks.without(quirk::q13);
        const auto devices = make_gpushare(sharing_node("4000", "4", "0"), options);
        const auto answer = devices->allocate(gpu_pod("a", {{gpu_number_name, 2}}), "");
        EXPECT_EQ(answer.chips, (numbers{1, 2}));
        EXPECT_EQ(answer.annotations,
                  (kubernetes::text_map{{gpu_index_name, "1,2"}, {"volcano.sh/predicate-time", "<time>"}}));
    }
}

TEST(volcano_gpushare, q25_memory_goes_first_in_number_mode) {
    const auto options = by_number();
    const auto devices = make_gpushare(sharing_node("4000", "4"), options);
    const auto answer = devices->allocate(gpu_pod("a", {{gpu_number_name, 2}, {gpu_memory_name, 500}}), "");
    EXPECT_EQ(answer.chips, numbers{0});
    EXPECT_EQ(used_memory(*devices), (numbers{500, 0, 0, 0}));

    const pod large = gpu_pod("b", {{gpu_number_name, 1}, {gpu_memory_name, 5000}});
    EXPECT_TRUE(devices->filter(large, "").fits);
    const auto failed = devices->allocate(large, "");
    EXPECT_FALSE(failed.ok);
    EXPECT_EQ(failed.error, "the node n can't place the pod p-b in ns team");
    EXPECT_EQ(failed.reason, "cannot_place");
    EXPECT_EQ(pods_on(*devices), (numbers{1, 0, 0, 0})) << "the ledger is unchanged";
}

TEST(volcano_gpushare, q25_off_the_mode_decides_what_is_looked_at) {
    auto options = by_number();
    options.quirks = options.quirks.without(quirk::q25);
    const auto devices = make_gpushare(sharing_node("4000", "4"), options);
    EXPECT_EQ(devices->allocate(gpu_pod("a", {{gpu_number_name, 2}, {gpu_memory_name, 5000}}), "").chips,
              (numbers{0, 1}));

    auto memory = by_memory();
    memory.quirks = memory.quirks.without(quirk::q25);
    const auto other = make_gpushare(sharing_node("4000", "4"), memory);
    EXPECT_EQ(other->allocate(gpu_pod("a", {{gpu_number_name, 2}, {gpu_memory_name, 500}}), "").chips, numbers{0});
}

} // namespace
} // namespace vgpualloc::compat::volcano
