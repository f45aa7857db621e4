// The ascend_hami dialect: registrations, requests, assignments, and what of them is refused.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/support.hpp"
#include "requirements.hpp"
#include "support.hpp"
#include "vgpualloc/dialect/ascend_hami.hpp"

namespace vgpualloc::dialects::ascend_hami {
namespace {

using vgpualloc::test::covers;
using vgpualloc::test::limited;
using vgpualloc::test::pod_of;
using namespace testing; // matchers
using spoken = test::spoken<options>;

constexpr const char* register_310p = "hami.io/node-register-Ascend310P";
constexpr const char* allocated_310p = "hami.io/Ascend310P-devices-allocated";

options with_kinds() {
    options result;
    result.kinds.push_back(
        {.npu = {.name = "Ascend310P",
                 .memory_allocatable = mib{21527},
                 .memory_capacity = mib{24576},
                 .ai_core = 8,
                 .ai_cpu = 7,
                 .templates = {{.name = "vir02", .memory = mib{6144}, .ai_core = 2, .ai_cpu = 2},
                               {.name = "vir01", .memory = mib{3072}, .ai_core = 1, .ai_cpu = 1},
                               {.name = "vir04", .memory = mib{12288}, .ai_core = 4, .ai_cpu = 4}}}});
    result.kinds.push_back({.npu = {.name = "Ascend910B4",
                                    .memory_allocatable = mib{32768},
                                    .memory_capacity = mib{32768},
                                    .ai_core = 20,
                                    .ai_cpu = 7,
                                    .templates = {}}});
    return result;
}

kubernetes::node node_with(const std::string& list) {
    kubernetes::node result;
    result.name = "n0";
    result.annotations[register_310p] = list;
    result.allocatable["huawei.com/Ascend310P"] = "14";
    return result;
}

kubernetes::node two_cards() {
    return node_with(R"([{"id":"B","index":1,"count":7,"devmem":21527,"devcore":8,"type":"Ascend310P","health":true},
                         {"id":"A","count":7,"devmem":21527,"devcore":8,"type":"Ascend310P","health":true,
                          "custominfo":{"NetworkID":1}}])");
}

error error_of(const kubernetes::pod& pod) {
    const auto read = spoken::read_pod(pod, with_kinds());
    EXPECT_FALSE(read.has_value());
    return read ? error{} : read.error();
}

TEST(ascend_hami, a_node_registers_its_cards_by_index) {
    const auto read = spoken::read_node(two_cards(), with_kinds());
    EXPECT_THAT(read.problems, IsEmpty());
    ASSERT_THAT(read.devices, SizeIs(2));
    EXPECT_EQ(read.devices[0].uuid, "A");
    EXPECT_EQ(read.devices[0].link_group, 1);
    EXPECT_EQ(read.devices[1].uuid, "B");
    EXPECT_EQ(read.devices[1].link_group, no_link_group);
    EXPECT_EQ(read.devices[1].family, "Ascend310P");
    EXPECT_EQ(read.devices[1].mode, "ascend_vir");
    EXPECT_EQ(read.devices[1].npu, with_kinds().kinds[0].npu);
}

TEST(ascend_hami, a_node_that_offers_none_has_none) {
    auto node = two_cards();
    node.allocatable["huawei.com/Ascend310P"] = "0";
    EXPECT_THAT(spoken::read_node(node, with_kinds()).devices, IsEmpty());
    node.allocatable.clear();
    EXPECT_THAT(spoken::read_node(node, with_kinds()).devices, IsEmpty());
    node.allocatable["huawei.com/Ascend310P"] = "many";
    EXPECT_THAT(spoken::read_node(node, with_kinds()).problems, ElementsAre(Field(&error::value, "many")));
}

options with_pairs() {
    options result;
    result.kinds.push_back({.npu = {.name = "Ascend910C",
                                    .memory_allocatable = mib{65536},
                                    .memory_capacity = mib{65536},
                                    .ai_core = 20,
                                    .ai_cpu = 7,
                                    .templates = {}},
                            .super_pod = true});
    return result;
}

TEST(ascend_hami, a_super_pod_kind_comes_in_pairs) {
    const auto read_count = [](std::int64_t count) {
        return spoken::read_pod(pod_of({limited({{"huawei.com/Ascend910C", count}})}), with_pairs());
    };
    EXPECT_EQ(read_count(1)->containers[0].count, 2) << "HAMi's webhook makes it 2";
    EXPECT_EQ(read_count(2)->containers[0].count, 2);
    EXPECT_EQ(read_count(6)->containers[0].count, 6);
    EXPECT_TRUE(read_count(2)->one_link_group);
    EXPECT_THAT(read_count(0)->containers, IsEmpty());
    for (const std::int64_t odd : {3, 15}) {
        ASSERT_FALSE(read_count(odd)) << odd;
        EXPECT_EQ(read_count(odd).error().code, error_code::out_of_range);
        EXPECT_EQ(read_count(odd).error().value, std::to_string(odd));
        EXPECT_THAT(read_count(odd).error().expected, HasSubstr("even number"));
    }
    // HAMi's example asks for one with a part of its memory, and gets that part of both dies.
    const auto part = spoken::read_pod(
        pod_of({limited({{"huawei.com/Ascend910C", 1}, {"huawei.com/Ascend910C-memory", 16384}})}), with_pairs());
    EXPECT_EQ(part->containers[0].count, 2);
    EXPECT_TRUE(part->containers[0].pair);
    EXPECT_FALSE(read_count(2)->containers[0].pair) << "as the file has it";
    auto single = with_pairs();
    single.kinds[0].super_pod = false; // as Volcano
    EXPECT_EQ(spoken::read_pod(pod_of({limited({{"huawei.com/Ascend910C", 1}})}), single)->containers[0].count, 1);
}

TEST(ascend_hami, only_complete_pairs_are_given_out) {
    kubernetes::node node;
    node.allocatable["huawei.com/Ascend910C"] = "6";
    std::string list;
    for (const auto& [index, healthy] : std::vector<std::pair<int, bool>>{
             {0, true}, {1, true}, {2, true}, {3, false}, {5, true}, {6, true}, {7, true}}) {
        list += (list.empty() ? "" : ",") + std::string{R"({"id":"N)"} + std::to_string(index) + R"(","index":)" +
                std::to_string(index) + R"(,"count":1,"devmem":65536,"devcore":20,"health":)" +
                (healthy ? "true" : "false") + R"(,"custominfo":{"NetworkID":0}})";
    }
    node.annotations["hami.io/node-register-Ascend910C"] = "[" + list + "]";
    const auto read = spoken::read_node(node, with_pairs());
    EXPECT_THAT(read.problems, IsEmpty());
    std::string usable;
    for (const device_registration& item : read.devices) {
        if (item.healthy) usable += item.uuid + ":" + std::to_string(item.link_group) + " ";
    }
    EXPECT_EQ(usable, "N0:0 N1:0 N6:3 N7:3 ");
    kubernetes::node to;
    spoken::write_node(read.devices, with_pairs(), to);
    EXPECT_THAT(to.annotations.at("hami.io/node-register-Ascend910C"), Not(HasSubstr(R"("NetworkID":3)")));
    to.allocatable = node.allocatable;
    EXPECT_EQ(spoken::read_node(to, with_pairs()).devices, read.devices); // found by fuzzing: N5 made a pair with N3
}

TEST(ascend_hami, memory_may_be_in_units) {
    auto with = with_kinds();
    with.kinds[0].memory_factor = 1024;
    const auto pod = pod_of({limited({{"huawei.com/Ascend310P", 1}, {"huawei.com/Ascend310P-memory", 3}})});
    EXPECT_EQ(spoken::read_pod(pod, with)->containers[0].memory, mib{3072});
}

TEST(ascend_hami, the_nodes_word_on_software_slices_beats_the_configuration) {
    auto with = with_kinds();
    with.soft_by_default = true;
    auto node = two_cards();
    EXPECT_TRUE(spoken::read_node(node, with).devices[0].soft);
    node.annotations["hami-vnpu-core"] = "True"; // only "true" is yes
    EXPECT_FALSE(spoken::read_node(node, with).devices[0].soft);
    node.annotations["hami-vnpu-core"] = "true";
    EXPECT_TRUE(spoken::read_node(node, with_kinds()).devices[0].soft);
}

/// HAMi from 2.10 on.
TEST(ascend_hami, the_node_decides_on_software_slices_from_hami_2_10_on) {
    auto with = with_kinds();
    with.slices_by_node = true;
    auto node = two_cards();
    EXPECT_FALSE(spoken::read_node(node, with).devices[0].soft_only);
    node.annotations["hami-vnpu-core"] = "true";
    const auto cards = spoken::read_node(node, with).devices;
    EXPECT_TRUE(cards[0].soft_only);
    EXPECT_FALSE(spoken::read_node(node, with_kinds()).devices[0].soft_only) << "as before without the option";
    auto pod = pod_of({limited({{"huawei.com/Ascend310P", 1}, {"huawei.com/Ascend310P-memory", 100}})});
    pod.annotations[allocated_310p] = "A,Ascend310P,100,0:;";
    const auto read = spoken::read_assignment(pod, cards, with);
    EXPECT_THAT(read.problems, IsEmpty());
    EXPECT_THAT(read.shares, ElementsAre(device_share{0, device_index{0U}, slice{mib{100}, core_percent{0}}}));
}

TEST(ascend_hami, hami_2_10_denies_ai_cores_without_the_annotation) {
    auto with = with_kinds();
    auto pod = pod_of({limited({{"huawei.com/Ascend310P", 1}, {"huawei.com/Ascend310P-core", 2}})});
    EXPECT_THAT(make(with)->check_pod(pod).errors, IsEmpty());
    with.slices_by_node = true;
    EXPECT_THAT(make(with)->check_pod(pod).errors, ElementsAre(Field(&error::field, "huawei.com/Ascend310P-core")));
    pod.annotations["huawei.com/vnpu-mode"] = "hami-core";
    EXPECT_THAT(make(with)->check_pod(pod).errors, IsEmpty());
}

TEST(ascend_hami, cards_that_cannot_be_read_are_problems_with_their_place) {
    const std::vector<std::pair<std::string, std::string>> wrong{
        {R"({"id":"A","count":7,"devmem":99999999999,"devcore":8})", "devmem"},
        {R"({"id":"A","count":7,"devmem":0,"devcore":8})", "devmem"},
        {R"({"id":"A","count":-1,"devmem":1,"devcore":8})", "count"},
        {R"({"id":"A","count":1.5,"devmem":1,"devcore":8})", "count"},
        {R"({"id":"A","count":7,"devcore":8})", "devmem"},
        {R"({"id":"A","count":7,"devmem":1})", "devcore"},
        {R"({"id":"A:B","count":7,"devmem":1,"devcore":8})", "id"},
        {R"({"count":7,"devmem":1,"devcore":8})", "id"},
        {R"({"id":"A","count":7,"devmem":1,"devcore":8,"health":"yes"})", "health"},
    };
    for (const auto& [entry, field] : wrong) {
        const auto read = spoken::read_node(node_with("[" + entry + "]"), with_kinds());
        EXPECT_THAT(read.devices, IsEmpty()) << entry;
        ASSERT_THAT(read.problems, SizeIs(1)) << entry;
        EXPECT_THAT(read.problems[0].message(), AllOf(HasSubstr("n0"), HasSubstr(register_310p), HasSubstr(field)));
    }
    EXPECT_THAT(spoken::read_node(node_with("{}"), with_kinds()).problems, SizeIs(1));
    EXPECT_THAT(spoken::read_node(node_with("[{"), with_kinds()).problems, SizeIs(1));
}

TEST(ascend_hami, of_two_cards_with_one_id_the_later_is_refused) {
    const auto read = spoken::read_node(node_with(R"([{"id":"A","count":7,"devmem":1,"devcore":8},
                                              {"id":"A","count":7,"devmem":2,"devcore":8}])"),
                                        with_kinds());
    ASSERT_THAT(read.devices, SizeIs(1));
    EXPECT_EQ(read.devices[0].memory, mib{1});
    EXPECT_THAT(read.problems, ElementsAre(Field(&error::code, error_code::duplicate)));
}

TEST(ascend_hami, seed_example_r098) {
    covers({"R098"});
    const auto pod = pod_of({limited({{"huawei.com/Ascend310P", 1}, {"huawei.com/Ascend310P-memory", 4096}})});
    EXPECT_TRUE(spoken::requests(pod, with_kinds()));
    const auto read = spoken::read_pod(pod, with_kinds());
    ASSERT_TRUE(read.has_value());
    ASSERT_THAT(read->containers, SizeIs(1));
    EXPECT_EQ(read->containers[0].count, 1);
    EXPECT_EQ(read->containers[0].memory, mib{4096});
    EXPECT_EQ(read->containers[0].family, "Ascend310P");
    EXPECT_EQ(read->containers[0].mode, "ascend_vir");
    EXPECT_FALSE(read->containers[0].soft);
    EXPECT_TRUE(read->containers_apart);
    EXPECT_FALSE(read->one_link_group);
}

TEST(ascend_hami, memory_alone_is_one_card_and_a_count_alone_whole_cards) {
    const auto read = spoken::read_pod(
        pod_of({limited({{"huawei.com/Ascend310P-memory", 100}}), limited({{"huawei.com/Ascend310P", 2}}), limited({}),
                limited({{"huawei.com/Ascend310P", 0}}), limited({{"huawei.com/Ascend310P-core", 3}})}),
        with_kinds());
    ASSERT_TRUE(read.has_value());
    ASSERT_THAT(read->containers, SizeIs(2));
    EXPECT_EQ(read->containers[0].count, 1);
    EXPECT_EQ(read->containers[1].count, 2);
    EXPECT_EQ(read->containers[1].memory, mib{0});
}

TEST(ascend_hami, a_pod_may_ask_for_several_kinds_in_the_order_of_the_configuration) {
    auto pod = pod_of({limited({{"huawei.com/Ascend910B4", 1}}),
                       limited({{"huawei.com/Ascend310P", 1}, {"huawei.com/Ascend310P-core", 4}})});
    pod.annotations["huawei.com/vnpu-mode"] = "hami-core";
    const auto read = spoken::read_pod(pod, with_kinds());
    ASSERT_TRUE(read.has_value());
    ASSERT_THAT(read->containers, SizeIs(2));
    EXPECT_EQ(read->containers[0].family, "Ascend310P");
    EXPECT_EQ(read->containers[0].cores, core_percent{4});
    EXPECT_TRUE(read->containers[0].soft);
    EXPECT_EQ(read->containers[1].family, "Ascend910B4");
    EXPECT_TRUE(read->one_link_group); // a 910
}

TEST(ascend_hami, device_lists_are_an_option) {
    auto pod = pod_of({limited({{"huawei.com/Ascend310P", 1}})});
    pod.annotations["hami.io/use-Ascend310P-uuid"] = "A, B,";
    pod.annotations["hami.io/no-use-Ascend310P-uuid"] = "C";
    EXPECT_THAT(spoken::read_pod(pod, with_kinds())->containers[0].uuids_allowed, IsEmpty());
    auto with = with_kinds();
    with.uuid_lists = true;
    EXPECT_THAT(spoken::read_pod(pod, with)->containers[0].uuids_allowed, ElementsAre("A", "B"));
    EXPECT_THAT(spoken::read_pod(pod, with)->containers[0].uuids_denied, ElementsAre("C"));
}

TEST(ascend_hami, amounts_out_of_range_are_errors) {
    const auto negative = error_of(pod_of({limited({{"huawei.com/Ascend310P", -1}})}));
    EXPECT_EQ(negative.code, error_code::out_of_range);
    EXPECT_EQ(negative.field, "huawei.com/Ascend310P");
    EXPECT_THAT(negative.where, HasSubstr("default/p, container c"));
    EXPECT_EQ(error_of(pod_of({limited({{"huawei.com/Ascend310P-memory", std::int64_t{1} << 31}})})).value,
              "2147483648");
}

std::vector<device_registration> devices() { return spoken::read_node(two_cards(), with_kinds()).devices; }

kubernetes::pod bound(const std::string& list, bool soft = false) {
    auto pod = pod_of({limited({{"huawei.com/Ascend310P", 1}}), limited({}), limited({{"huawei.com/Ascend310P", 1}})});
    pod.annotations[allocated_310p] = list;
    if (soft) pod.annotations["huawei.com/vnpu-mode"] = "hami-core";
    return pod;
}

TEST(ascend_hami, every_container_of_an_assignment_counts) {
    // Volcano's own reader drops the first card of the second container (Q2b).
    const auto read =
        spoken::read_assignment(bound("A,Ascend310P,6144,2:;B,Ascend310P,21527,0:;"), devices(), with_kinds());
    EXPECT_THAT(read.problems, IsEmpty());
    EXPECT_THAT(read.shares,
                ElementsAre(device_share{0, device_index{0U}, vir_template{1, mib{6144}, core_percent{2}}},
                            device_share{1, device_index{1U}, vir_template{3, mib{21527}, core_percent{0}}}));
}

TEST(ascend_hami, parts_may_be_those_of_all_containers) {
    const auto read =
        spoken::read_assignment(bound("A,Ascend310P,100,2:;;B,Ascend310P,0,30:;", true), devices(), with_kinds());
    EXPECT_THAT(read.problems, IsEmpty());
    EXPECT_THAT(read.shares, ElementsAre(device_share{0, device_index{0U}, slice{mib{100}, core_percent{2}}},
                                         device_share{1, device_index{1U}, slice{mib{0}, core_percent{30}}}));
}

TEST(ascend_hami, entries_that_cannot_be_read_are_problems_and_book_nothing) {
    for (const char* entry : {"A,Ascend310P,-3,0", "A,Ascend310P,99999999999999999999,0", "A,Ascend310P",
                              "X,Ascend310P,6144,0", "A,Ascend310P,,0"}) {
        const auto read =
            spoken::read_assignment(bound(std::string{entry} + ":;B,Ascend310P,3072,0:;"), devices(), with_kinds());
        EXPECT_THAT(read.problems, SizeIs(1)) << entry;
        EXPECT_THAT(read.shares, SizeIs(1)) << entry;
    }
    const auto twice = spoken::read_assignment(bound("A,W,3072,0:A,W,3072,0:;B,W,3072,0:;"), devices(), with_kinds());
    EXPECT_THAT(twice.problems, ElementsAre(Field(&error::code, error_code::duplicate)));
    const auto parts = spoken::read_assignment(bound("A,W,3072,0:;"), devices(), with_kinds());
    EXPECT_THAT(parts.problems, ElementsAre(Field(&error::code, error_code::mismatch)));
}

TEST(ascend_hami, an_amount_that_no_template_has_is_a_problem_but_counts) {
    for (const std::int64_t amount : {7000, 0}) {
        const auto read = spoken::read_assignment(
            bound("A,Ascend310P," + std::to_string(amount) + ",1:;B,Ascend310P,3072,0:;"), devices(), with_kinds());
        EXPECT_THAT(read.problems, ElementsAre(Field(&error::code, error_code::mismatch)));
        ASSERT_THAT(read.shares, SizeIs(2));
        EXPECT_EQ(read.shares[0].part, (partition{slice{mib{amount}, core_percent{1}}}));
    }
}

TEST(ascend_hami, what_is_written_is_what_is_read) {
    const std::vector<device_share> shares{{0, device_index{0U}, vir_template{1, mib{6144}, core_percent{2}}},
                                           {1, device_index{1U}, vir_template{3, mib{21527}, core_percent{0}}}};
    auto pod = bound("");
    auto with = with_kinds();
    const auto written = spoken::write_assignment(pod, devices(), {"n0", "17", shares}, with);
    EXPECT_EQ(written.at(allocated_310p), "A,Ascend310P,6144,2:;B,Ascend310P,21527,0:;");
    EXPECT_EQ(written.at("hami.io/Ascend310P-devices-to-allocate"), written.at(allocated_310p));
    EXPECT_EQ(written.at("huawei.com/Ascend310P"), R"([{"UUID":"A","temp":"vir02"},{"UUID":"B"}])");
    EXPECT_EQ(written.at("predicate-time"), "17");
    EXPECT_EQ(written.at("hami.io/vgpu-node"), "n0");
    EXPECT_THAT(written, SizeIs(8));
    pod.annotations = written;
    EXPECT_EQ(spoken::read_assignment(pod, devices(), with).shares, shares);
    with.empty_parts = true;
    pod.init_containers.push_back(limited({}));
    const auto positions = spoken::write_assignment(pod, devices(), {"n0", "17", shares}, with);
    EXPECT_EQ(positions.at(allocated_310p), ";A,Ascend310P,6144,2:;;B,Ascend310P,21527,0:;");
    pod.annotations = positions;
    EXPECT_EQ(spoken::read_assignment(pod, devices(), with).shares, shares);
}

TEST(ascend_hami, a_written_node_is_read_as_it_was) {
    const auto before = devices();
    kubernetes::node to;
    to.name = "n0";
    spoken::write_node(before, with_kinds(), to);
    EXPECT_EQ(to.allocatable.at("huawei.com/Ascend310P"), "14");
    EXPECT_EQ(spoken::read_node(to, with_kinds()).devices, before);
}

} // namespace
} // namespace vgpualloc::dialects::ascend_hami
