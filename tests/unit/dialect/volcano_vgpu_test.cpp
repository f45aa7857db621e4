// The volcano_vgpu dialect: registrations, requests and assignments, there and back, and every form that is wrong.
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "requirements.hpp"
#include "support.hpp"
#include "vgpualloc/dialect/volcano_vgpu.hpp"

namespace vgpualloc::dialects::volcano_vgpu {
namespace {

using dialects::assignment_reading;
using dialects::decision;
using dialects::node_reading;
using vgpualloc::test::covers;
using namespace testing; // matchers
using spoken = test::spoken<options>;

const std::string a100 = "NVIDIA-NVIDIA A100-SXM4-40GB";

mig_group group(const std::string& name, std::vector<mig_kind> kinds) { return {name, std::move(kinds)}; }

options with_geometry() {
    options result;
    result.geometries = {
        {{"A30"}, {group("group1", {{"1g.6gb", mib{6144}, 4}})}},
        {{"A100-40GB-PCIe", "A100-SXM4-40GB"},
         {group("group1", {{"1g.5gb", mib{5120}, 7}}),
          group("group-2", {{"2g.10gb", mib{10240}, 3}, {"1g.5gb", mib{5120}, 1}}),
          group("group3", {{"3g.20gb", mib{20480}, 2}})}},
        {{"A100"}, {group("never reached by an A100-SXM4-40GB", {{"7g", mib{40960}, 1}})}},
    };
    return result;
}

kubernetes::node registered(const std::string& text) {
    kubernetes::node result;
    result.name = "n0";
    result.annotations[register_annotation] = text;
    result.allocatable = {
        {"volcano.sh/vgpu-number", "10"}, {"volcano.sh/vgpu-cores", "100"}, {"volcano.sh/vgpu-memory", "100k"}};
    return result;
}

kubernetes::container container(const std::string& name, kubernetes::amount_map limits) {
    return {.name = name, .limits = std::move(limits), .requests = {}};
}

kubernetes::pod pod_of(std::vector<kubernetes::container> containers) {
    kubernetes::pod result;
    result.name = "p";
    result.ns = "default";
    result.containers = std::move(containers);
    return result;
}

kubernetes::pod one_card(kubernetes::amount_map limits) { return pod_of({container("c", std::move(limits))}); }

const device_request& only(const expected<pod_request>& read) {
    EXPECT_TRUE(read) << read.error().message();
    EXPECT_THAT(read->containers, SizeIs(1));
    return read->containers.front();
}

// --- registration -------------------------------------------------------------------------------------------------

TEST(volcano_vgpu_node, every_field_of_a_card_is_read) {
    const auto read = spoken::read_node(registered("GPU-0,10,40960," + a100 +
                                                   ",true,hami-core:"
                                                   "GPU-1,4,81920,NVIDIA H100,false,hami-core,one more:"),
                                        options{});
    ASSERT_THAT(read.devices, SizeIs(2));
    EXPECT_THAT(read.problems, IsEmpty());
    const device_registration& card = read.devices[0];
    EXPECT_EQ(card.uuid, "GPU-0");
    EXPECT_EQ(card.slots, 10);
    EXPECT_EQ(card.memory, mib{40960});
    EXPECT_EQ(card.model, a100);
    EXPECT_EQ(card.family, "NVIDIA");
    EXPECT_EQ(card.mode, "hami_core");
    EXPECT_EQ(card.cores, core_percent{100});
    EXPECT_TRUE(card.healthy);
    EXPECT_FALSE(read.devices[1].healthy);
}

TEST(volcano_vgpu_node, every_card_has_a_mode_of_its_own) { // an extension of R009, where it is the node's
    const std::string text = "GPU-0,10,40960," + a100 + ",true,mig:GPU-1,10,40960," + a100 +
                             ",true,hami-core:"
                             "GPU-2,10,40960,NVIDIA V100,true,mig:GPU-3,10,1,NVIDIA V100,true,mps:"
                             "GPU-4,10,1,NVIDIA V100,true,MIG:";
    options with = with_geometry();
    with.memory_factor = 4;
    auto read = spoken::read_node(registered(text), with);
    ASSERT_THAT(read.devices, SizeIs(5));
    EXPECT_EQ(read.devices[0].mode, "mig");
    EXPECT_EQ(read.devices[0].geometry, with.geometries[1].groups);
    EXPECT_EQ(read.devices[0].memory_factor, 4);
    EXPECT_EQ(read.devices[1].mode, "hami_core");
    EXPECT_THAT(read.devices[1].geometry, IsEmpty());
    EXPECT_EQ(read.devices[2].mode, "mig");
    EXPECT_FALSE(read.devices[2].healthy) << "no geometry for a V100";
    EXPECT_EQ(read.devices[3].mode, "mps");
    EXPECT_FALSE(read.devices[4].healthy) << "no mode is called MIG";
    with.mps_as_hami_core = true;
    with.unknown_as_hami_core = true;
    const auto as_volcano = spoken::read_node(registered(text), with);
    for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(as_volcano.devices[i].mode, "hami_core") << "as Volcano, " << i;
    EXPECT_THAT(as_volcano.problems, IsEmpty());
}

TEST(volcano_vgpu_node, cards_of_other_makes_have_no_family) {
    const auto read = spoken::read_node(registered("X,10,1000,nvidia lower case,true,hami-core:"), options{});
    ASSERT_THAT(read.devices, SizeIs(1));
    EXPECT_EQ(read.devices[0].family, "");
}

TEST(volcano_vgpu_node, a_node_without_registration_has_no_cards_and_no_problem) {
    kubernetes::node bare;
    bare.allocatable = registered("").allocatable;
    const auto read = spoken::read_node(bare, options{});
    EXPECT_THAT(read.devices, IsEmpty());
    EXPECT_THAT(read.problems, IsEmpty());
}

TEST(volcano_vgpu_node, the_kubelet_must_offer_all_three_resources) {
    for (const char* const name : {"volcano.sh/vgpu-number", "volcano.sh/vgpu-cores", "volcano.sh/vgpu-memory"}) {
        for (const char* const offered : {"0", "", "many", "0.0"}) {
            auto node = registered("GPU-0,10,40960," + a100 + ",true,hami-core:");
            node.allocatable[name] = offered;
            const auto read = spoken::read_node(node, options{});
            EXPECT_THAT(read.devices, IsEmpty()) << name << offered;
            ASSERT_THAT(read.problems, SizeIs(1));
            const std::string problem = *offered == '\0' ? ": missing; expected an amount" : ": got '";
            EXPECT_THAT(read.problems[0].message(), HasSubstr(std::string{"allocatable "} + name + problem));
        }
    }
}

TEST(volcano_vgpu_node, too_few_fields_anywhere_leave_no_card) {
    for (const char* const text : {"GPU-0,10,40960,NVIDIA,true:", "GPU-0,1,1,NVIDIA,true,mig:junk:",
                                   "a,1,1,NVIDIA,true,mps", "", "GPU-0,1,1,NVIDIA,true,x::GPU-1,1,1,NVIDIA,true,x:"}) {
        const auto read = spoken::read_node(registered(text), options{});
        EXPECT_THAT(read.devices, IsEmpty()) << text;
        ASSERT_THAT(read.problems, SizeIs(1)) << text;
        EXPECT_EQ(read.problems[0].code, error_code::malformed);
        EXPECT_EQ(read.problems[0].where, "node n0: volcano.sh/node-vgpu-register");
    }
}

TEST(volcano_vgpu_node, a_card_that_cannot_be_read_is_unhealthy) {
    struct wrong {
        std::string record, field;
        std::int64_t slots, memory_mib;
    };
    const std::vector<wrong> all{
        {"GPU-1,ten,5,NVIDIA,true,mps", "card 1 count", 0, 5},
        {"GPU-1,-1,5,NVIDIA,true,mps", "card 1 count", 0, 5},
        {"GPU-1,2147483648,5,NVIDIA,true,mps", "card 1 count", 0, 5},
        {"GPU-1,7,99999999999999999999,NVIDIA,true,mps", "card 1 memory", 7, 1},
        {"GPU-1,7,,NVIDIA,true,mps", "card 1 memory", 7, 1},
        {"GPU-1,7,0,NVIDIA,true,mps", "card 1 memory", 7, 1},
        {"GPU-1,7,5,NVIDIA,yes,mps", "card 1 health", 7, 5},
        {"GPU-0,7,5,NVIDIA,true,mps", "card 1 uuid", 7, 5},
        {",7,5,NVIDIA,true,mps", "card 1 uuid", 7, 5},
        {"GPU[1],7,5,NVIDIA,true,mps", "card 1 uuid", 7, 5},
        {"GPU;1,7,5,NVIDIA,true,mps", "card 1 uuid", 7, 5},
        {"GPU-\x7f,7,5,NVIDIA,true,mps", "card 1 uuid or type", 7, 5},
        {"GPU-1,7,5,NVIDIA\x1b[31m,true,mps", "card 1 uuid or type", 7, 5},
    };
    for (const wrong& item : all) {
        const auto read =
            spoken::read_node(registered("GPU-0,10,40960,NVIDIA,true,hami-core:" + item.record + ":"), options{});
        ASSERT_THAT(read.devices, SizeIs(2)) << item.record;
        EXPECT_TRUE(read.devices[0].healthy);
        EXPECT_FALSE(read.devices[1].healthy) << item.record;
        EXPECT_EQ(read.devices[1].slots, item.slots);
        EXPECT_EQ(read.devices[1].memory, mib{item.memory_mib});
        ASSERT_THAT(read.problems, SizeIs(1)) << item.record;
        EXPECT_EQ(read.problems[0].field, item.field);
    }
}

TEST(volcano_vgpu_node, of_two_groups_with_one_name_the_first_is_used) {
    options with;
    with.geometries = {{{"A100"}, {group("g", {{"small", mib{1}, 2}}), group("g", {{"large", mib{2}, 1}})}}};
    const auto read = spoken::read_node(registered("GPU-0,10,40960," + a100 + ",true,mig:"), with);
    ASSERT_THAT(read.devices, SizeIs(1));
    EXPECT_THAT(read.devices[0].geometry, ElementsAre(with.geometries[0].groups[0]));
    ASSERT_THAT(read.problems, SizeIs(1));
    EXPECT_EQ(read.problems[0].code, error_code::duplicate);
}

TEST(volcano_vgpu_node, a_geometry_that_no_annotation_can_name_makes_its_cards_unhealthy) {
    for (const mig_group& wrong :
         {group("g", {{"k", mib{1}, 65}}), group("g", {{"k", mib{1}, 33}, {"l", mib{1}, 32}}),
          group("g", {{"k", mib{1}, -1}}), group("g", {{"k", mib{-1}, 1}}), group("g]", {{"k", mib{1}, 1}})}) {
        options with;
        with.geometries = {{{"A100"}, {wrong}}};
        const auto read = spoken::read_node(registered("GPU-0,10,40960," + a100 + ",true,mig:"), with);
        ASSERT_THAT(read.devices, SizeIs(1));
        EXPECT_FALSE(read.devices[0].healthy);
        EXPECT_EQ(read.devices[0].mode, "hami_core");
        EXPECT_THAT(read.problems, SizeIs(1));
    }
}

TEST(volcano_vgpu_node, what_is_written_reads_back) {
    options with = with_geometry();
    const auto first = spoken::read_node(registered("GPU-0,10,40960," + a100 +
                                                    ",true,mig:GPU-1,4,81920,NVIDIA H100,false,hami-core:"
                                                    "GPU-2,4,81920,NVIDIA H100,true,mps:"),
                                         with);
    kubernetes::node written;
    written.name = "n0";
    spoken::write_node(first.devices, with, written);
    EXPECT_EQ(written.allocatable["volcano.sh/vgpu-memory"], "204800");
    EXPECT_EQ(written.allocatable["volcano.sh/vgpu-cores"], "300");
    EXPECT_EQ(written.capacity["volcano.sh/vgpu-number"], "18");
    EXPECT_EQ(spoken::read_node(written, with).devices, first.devices);
}

// --- request ------------------------------------------------------------------------------------------------------

TEST(volcano_vgpu_pod, the_documented_example) { // R023 of docs/requirements.md
    covers({"R023"});
    auto pod =
        one_card({{"volcano.sh/vgpu-number", 1}, {"volcano.sh/vgpu-cores", 50}, {"volcano.sh/vgpu-memory", 3000}});
    pod.annotations[mode_annotation] = "hami-core";
    ASSERT_TRUE(spoken::requests(pod, options{}));
    const auto read = spoken::read_pod(pod, options{});
    const device_request& request = only(read);
    EXPECT_EQ(request.count, 1);
    EXPECT_EQ(request.memory, mib{3000});
    EXPECT_EQ(request.cores, core_percent{50});
    EXPECT_EQ(request.mode, "hami_core");
    EXPECT_EQ(request.family, "NVIDIA");
    EXPECT_EQ(request.memory_percent, std::nullopt);
    EXPECT_THAT(read->tags, IsEmpty());
}

TEST(volcano_vgpu_pod, only_containers_with_a_count_or_memory_limit_ask) {
    auto pod = pod_of({container("sidecar", {{"cpu", 1}, {"volcano.sh/vgpu-cores", 5}}),
                       container("memory", {{"volcano.sh/vgpu-memory", 100}}),
                       container("none", {{"volcano.sh/vgpu-number", 0}})});
    pod.init_containers = {container("init", {{"volcano.sh/vgpu-number", 8}})};
    const auto read = spoken::read_pod(pod, options{});
    ASSERT_TRUE(read);
    ASSERT_THAT(read->containers, SizeIs(2));
    EXPECT_EQ(read->containers[0].count, 1);
    EXPECT_EQ(read->containers[1].count, 0);
    pod.containers.resize(1);
    EXPECT_FALSE(spoken::requests(pod, options{}));
    EXPECT_THAT(spoken::read_pod(pod, options{})->containers, IsEmpty());
}

TEST(volcano_vgpu_pod, amounts_come_from_limits_or_else_from_requests) {
    auto pod = one_card({{"volcano.sh/vgpu-number", 2}, {"volcano.sh/vgpu-cores", 10}});
    pod.containers[0].requests = {{"volcano.sh/vgpu-memory", 700}, {"volcano.sh/vgpu-cores", 20}};
    EXPECT_EQ(only(spoken::read_pod(pod, options{})).memory, mib{700});
    EXPECT_EQ(only(spoken::read_pod(pod, options{})).cores, core_percent{10});
    pod.containers[0].limits.erase("volcano.sh/vgpu-number");
    EXPECT_FALSE(spoken::requests(pod, options{})) << "requests alone ask for nothing";
}

TEST(volcano_vgpu_pod, a_percentage_wins_over_memory_unless_it_is_101) {
    auto pod = one_card(
        {{"volcano.sh/vgpu-number", 1}, {"volcano.sh/vgpu-memory", 9}, {"volcano.sh/vgpu-memory-percentage", 25}});
    EXPECT_EQ(only(spoken::read_pod(pod, options{})).memory_percent, 25);
    pod.containers[0].limits["volcano.sh/vgpu-memory-percentage"] = 0;
    EXPECT_EQ(only(spoken::read_pod(pod, options{})).memory_percent, 0);
    pod.containers[0].limits["volcano.sh/vgpu-memory-percentage"] = 101;
    EXPECT_EQ(only(spoken::read_pod(pod, options{})).memory_percent, std::nullopt);
    EXPECT_EQ(only(spoken::read_pod(pod, options{})).memory, mib{9});
    pod.containers[0].limits["volcano.sh/vgpu-memory-percentage"] = 25;
    options unnamed;
    unnamed.memory_percentage_name = "";
    EXPECT_EQ(only(spoken::read_pod(pod, unnamed)).memory_percent, std::nullopt);
}

TEST(volcano_vgpu_pod, amounts_out_of_range_are_errors) {
    for (const char* const name : {"volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores",
                                   "volcano.sh/vgpu-memory-percentage"}) {
        for (const std::int64_t amount : {std::int64_t{-1}, std::int64_t{1} << 31U}) {
            auto pod = one_card({{"volcano.sh/vgpu-number", 1}});
            pod.containers[0].limits[name] = amount;
            const auto read = spoken::read_pod(pod, options{});
            ASSERT_FALSE(read) << name;
            EXPECT_EQ(read.error().code, error_code::out_of_range);
            EXPECT_EQ(read.error().where, "pod default/p, container c");
            EXPECT_EQ(read.error().field, name);
            EXPECT_EQ(read.error().value, std::to_string(amount));
        }
    }
}

TEST(volcano_vgpu_pod, a_mode_annotation_must_match_whatever_it_says) {
    covers({"R032", "R072"});
    auto pod = one_card({{"volcano.sh/vgpu-number", 1}});
    EXPECT_EQ(only(spoken::read_pod(pod, options{})).mode, "");
    const auto mode_for = [&pod](const char* text, const options& with) {
        pod.annotations[mode_annotation] = text;
        return only(spoken::read_pod(pod, with)).mode;
    };
    EXPECT_EQ(mode_for("mig", options{}), "mig");
    EXPECT_EQ(mode_for("", options{}), "volcano.sh/vgpu-mode=");
    EXPECT_EQ(mode_for("hami_core", options{}), "volcano.sh/vgpu-mode=hami_core");
    EXPECT_EQ(mode_for("exclusive", options{}), "volcano.sh/vgpu-mode=exclusive");
    EXPECT_EQ(mode_for("mps", options{}), "mps");
    options as_volcano;
    as_volcano.mps_as_hami_core = true;
    EXPECT_EQ(mode_for("mps", as_volcano), "volcano.sh/vgpu-mode=mps");
}

TEST(volcano_vgpu_pod, lists_are_trimmed_and_both_kinds_apply) {
    auto pod = one_card({{"volcano.sh/vgpu-number", 1}});
    pod.annotations["nvidia.com/use-gputype"] = " A100, ,H100 ,";
    pod.annotations["nvidia.com/nouse-gputype"] = "PCIe";
    pod.annotations["volcano.sh/vgpu-use-gpuuuid"] = " , ";
    pod.annotations["volcano.sh/vgpu-nouse-gpuuuid"] = "GPU-7";
    const auto read = spoken::read_pod(pod, options{});
    EXPECT_THAT(only(read).types_allowed, ElementsAre("A100", "H100"));
    EXPECT_THAT(only(read).types_denied, ElementsAre("PCIe"));
    EXPECT_THAT(only(read).uuids_allowed, IsEmpty()) << "a blank list is no filter";
    EXPECT_THAT(only(read).uuids_denied, ElementsAre("GPU-7"));
}

TEST(volcano_vgpu_pod, a_group_leaves_its_tag_and_avoids_it_when_spread) {
    auto pod = one_card({{"volcano.sh/vgpu-number", 1}});
    pod.annotations["volcano.sh/group-name"] = "not read";
    EXPECT_THAT(spoken::read_pod(pod, options{})->tags, IsEmpty());
    pod.annotations["scheduling.volcano.sh/group-name"] = "second";
    EXPECT_THAT(spoken::read_pod(pod, options{})->tags, ElementsAre("group:default/second"));
    pod.annotations["scheduling.k8s.io/group-name"] = "first";
    EXPECT_THAT(spoken::read_pod(pod, options{})->tags, ElementsAre("group:default/first"));
    EXPECT_THAT(spoken::read_pod(pod, options{})->avoids, IsEmpty());
    pod.annotations["volcano.sh/vgpu-podgroup-policy"] = "spread";
    EXPECT_THAT(spoken::read_pod(pod, options{})->avoids, ElementsAre("group:default/first"));
}

TEST(volcano_vgpu_pod, a_bound_pod_is_seen_by_its_group_where_it_has_something) {
    auto pod = one_card({{"volcano.sh/vgpu-number", 1}, {"volcano.sh/vgpu-memory-percentage", 0}});
    pod.annotations["scheduling.k8s.io/group-name"] = "g";
    EXPECT_THAT(spoken::read_pod(pod, options{})->tags, IsEmpty()) << "it asks for nothing of a card";
    const auto tags_with = [&pod](const partition& part) {
        const device_share has{.container = 0, .device = device_index{0U}, .part = part};
        return spoken::tags_of(pod, {&has, 1}, options{});
    };
    EXPECT_THAT(spoken::tags_of(pod, {}, options{}), IsEmpty());
    EXPECT_THAT(tags_with(slice{}), IsEmpty());
    EXPECT_THAT(tags_with(slice{mib{0}, core_percent{1}}), ElementsAre("group:default/g"));
    EXPECT_THAT(tags_with(mig_instance{}), ElementsAre("group:default/g"));
}

TEST(volcano_vgpu_pod, rules_that_the_pod_matches_are_tagged_and_avoided_by_position) {
    options with;
    with.exclusive_rules = {{}, {{"app", "a"}}, {{"app", "a"}, {"tier", "x"}}, {{"app", "b"}}};
    auto pod = one_card({{"volcano.sh/vgpu-number", 1}});
    pod.labels = {{"app", "a"}, {"more", "m"}};
    EXPECT_THAT(spoken::read_pod(pod, with)->tags, ElementsAre("rule:1"));
    pod.labels["tier"] = "x";
    EXPECT_THAT(spoken::read_pod(pod, with)->tags, ElementsAre("rule:1", "rule:2"));
    EXPECT_THAT(spoken::read_pod(pod, with)->avoids, ElementsAre("rule:1", "rule:2"));
}

// --- assignment ---------------------------------------------------------------------------------------------------

class volcano_vgpu_assignment : public testing::Test {
protected:
    options with = with_geometry();
    std::vector<device_registration> devices =
        spoken::read_node(registered("GPU-0,10,40960," + a100 + ",true,mig:GPU-1,10,40960," + a100 +
                                     ",true,hami-core:"
                                     "GPU-11,10,40960," +
                                     a100 + ",true,hami-core:"),
                          with)
            .devices;
    kubernetes::pod pod =
        pod_of({container("sidecar", {}),
                container("first", {{"volcano.sh/vgpu-number", 2}, {"volcano.sh/vgpu-memory", 4000}}),
                container("second", {{"volcano.sh/vgpu-memory-percentage", 25}, {"volcano.sh/vgpu-number", 1}})});

    assignment_reading read(const std::string& text) {
        pod.annotations[assignment_annotation] = text;
        return spoken::read_assignment(pod, devices, with);
    }
    std::string written(std::span<const device_share> shares) const {
        return spoken::write_assignment(pod, devices, {.node = "n0", .time = "17", .shares = shares}, with)
            .at(assignment_annotation);
    }
};

TEST_F(volcano_vgpu_assignment, a_pod_without_the_annotation_has_nothing) {
    const auto got = spoken::read_assignment(pod, devices, with);
    EXPECT_THAT(got.shares, IsEmpty());
    EXPECT_THAT(got.problems, IsEmpty());
}

TEST_F(volcano_vgpu_assignment, all_keys_are_written) {
    const std::vector<device_share> shares{
        {.container = 0, .device = device_index{1U}, .part = slice{mib{4000}, core_percent{30}}},
        {.container = 0,
         .device = device_index{0U},
         .part = mig_instance{.profile = 2, .start = 0, .cores = core_percent{5}}},
        {.container = 1, .device = device_index{0U}, .part = mig_instance{.profile = 1, .start = 2}}};
    const std::string ids = ";GPU-1,NVIDIA,4000,30:GPU-0[group-2-3],NVIDIA,4000,5:;GPU-0[group-2-2],NVIDIA,10240,0:";
    const kubernetes::text_map expected{{"volcano.sh/vgpu-node", "n0"},   {"volcano.sh/vgpu-time", "17"},
                                        {"volcano.sh/bind-time", "17"},   {"volcano.sh/bind-phase", "allocating"},
                                        {"volcano.sh/vgpu-ids-new", ids}, {"volcano.sh/devices-to-allocate", ids}};
    EXPECT_EQ(spoken::write_assignment(pod, devices, {.node = "n0", .time = "17", .shares = shares}, with), expected);

    const auto native = read(ids);
    EXPECT_THAT(native.problems, IsEmpty());
    EXPECT_EQ(native.shares, shares);

    with.positions_of_containers = false;
    EXPECT_EQ(written(shares), ids.substr(1)) << "upstream leaves the sidecar out";
    const auto upstream = read(ids.substr(1));
    EXPECT_THAT(upstream.problems, IsEmpty());
    EXPECT_EQ(upstream.shares, shares);
}

TEST_F(volcano_vgpu_assignment, every_instance_of_a_geometry_is_told_by_its_id) {
    pod = one_card({{"volcano.sh/vgpu-memory", 1}});
    std::uint32_t profile = 0;
    for (const mig_group& item : devices[0].geometry) {
        for (const mig_kind& kind : item.kinds) {
            for (std::uint32_t start = 0; start < kind.count; ++start) {
                const std::vector<device_share> shares{{.container = 0,
                                                        .device = device_index{0U},
                                                        .part = mig_instance{.profile = profile, .start = start}}};
                EXPECT_EQ(read(written(shares)).shares, shares);
            }
            ++profile;
        }
    }
    EXPECT_EQ(profile, 4U);
}

TEST_F(volcano_vgpu_assignment, an_entry_that_cannot_be_read_is_a_problem_and_no_share) {
    for (const char* const entry : {
             "GPU-1,NVIDIA,4000", // too few fields
             "",                  // none
             "GPU-1,NVIDIA,,0",
             "GPU-1,NVIDIA,-1,0", // no unsigned number
             "GPU-1,NVIDIA,4294967296,0",
             "GPU-1,NVIDIA,1,99999999999999999999", // too long
             "GPU-1,NVIDIA,1e3,0",
             "GPU-1,NVIDIA, 1,0", // not digits only
             "GPU,NVIDIA,1,0",
             "PU-1,NVIDIA,1,0",
             "GPU-111,NVIDIA,1,0",         // no such card: matched as a whole
             "GPU-0,NVIDIA,1,0",           // a MIG card's instance is not told
             "GPU-1[group1-0],NVIDIA,1,0", // no MIG card
             "GPU-0[group1-7],NVIDIA,1,0",
             "GPU-0[group1--1],NVIDIA,1,0", // outside the group
             "GPU-0[group9-0],NVIDIA,1,0",
             "GPU-0[group1],NVIDIA,1,0", // no such group, no position
             "GPU-0[group1-0,NVIDIA,1,0",
             "GPU-0[group1-0]x,NVIDIA,1,0", // brackets
             "GPU-0[group1-99999999999999999999],NVIDIA,1,0",
         }) {
        const auto got = read(";GPU-11,NVIDIA,5,6:" + std::string{entry} + ":;");
        EXPECT_THAT(got.shares, SizeIs(1)) << entry;
        ASSERT_THAT(got.problems, SizeIs(1)) << entry;
        EXPECT_EQ(got.problems[0].where, "pod default/p: volcano.sh/vgpu-ids-new");
        EXPECT_EQ(got.problems[0].field, "part 1");
    }
}

TEST_F(volcano_vgpu_assignment, a_card_twice_in_a_container_is_a_problem_and_in_use_twice) {
    const auto got = read(";GPU-1,NVIDIA,5,6:GPU-1,NVIDIA,5,6:;GPU-1,NVIDIA,7,8:");
    ASSERT_THAT(got.problems, SizeIs(1));
    EXPECT_EQ(got.problems[0].code, error_code::duplicate);
    ASSERT_THAT(got.shares, SizeIs(3));
    EXPECT_EQ(got.shares[0], got.shares[1]);
    EXPECT_EQ(got.shares[2],
              (device_share{.container = 1, .device = device_index{1U}, .part = slice{mib{7}, core_percent{8}}}));
}

TEST_F(volcano_vgpu_assignment, parts_that_no_container_has_are_a_problem_but_their_cards_are_in_use) {
    const auto more = read("GPU-1,NVIDIA,5,6:;;;GPU-11,NVIDIA,5,6:");
    EXPECT_THAT(more.problems, SizeIs(1));
    ASSERT_THAT(more.shares, SizeIs(2));
    EXPECT_EQ(more.shares[1].container, 3U);
    const auto sidecar = read("GPU-1,NVIDIA,5,6:;GPU-11,NVIDIA,5,6:;");
    EXPECT_THAT(sidecar.problems, SizeIs(1));
    EXPECT_THAT(sidecar.shares, SizeIs(2));
}

TEST_F(volcano_vgpu_assignment, a_share_of_another_kind_of_device_ends_the_program) {
    const std::vector<device_share> shares{{.container = 0, .device = device_index{0U}, .part = whole_device{}}};
    EXPECT_DEATH(static_cast<void>(written(shares)), "a slice or a MIG instance");
}

} // namespace
} // namespace vgpualloc::dialects::volcano_vgpu
