// The hami dialect: registrations old and new, requests before and after the webhook, filters, assignments, MIG.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../catalog_text/texts.hpp"
#include "dialect/support.hpp"
#include "support.hpp"
#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/dialect/hami.hpp"
#include "vgpualloc/mode/factory.hpp"

namespace vgpualloc::dialects::hami {
namespace {

using vgpualloc::test::limited;
using vgpualloc::test::pod_of;
using namespace testing; // matchers
using spoken = test::spoken<options>;

constexpr const char* register_key = "hami.io/node-nvidia-register";
constexpr const char* allocated_key = "hami.io/vgpu-devices-allocated";
constexpr const char* mig_key = "hami.io/vgpu-mig-allocations";

kubernetes::pod asking(std::int64_t count, std::int64_t memory = 0, std::int64_t percent = 0, std::int64_t cores = 0) {
    kubernetes::amount_map limits;
    if (count >= 0) limits["nvidia.com/gpu"] = count;
    if (memory != 0) limits["nvidia.com/gpumem"] = memory;
    if (percent != 0) limits["nvidia.com/gpumem-percentage"] = percent;
    if (cores != 0) limits["nvidia.com/gpucores"] = cores;
    return pod_of({limited(limits)});
}
device_request first_of(const kubernetes::pod& pod, const options& with = {}) {
    const auto read = spoken::read_pod(pod, with);
    EXPECT_TRUE(read.has_value() && !read->containers.empty());
    return read && !read->containers.empty() ? read->containers[0] : device_request{};
}

kubernetes::node node_with(const std::string& list) {
    kubernetes::node result;
    result.name = "n0";
    result.annotations[register_key] = list;
    return result;
}

TEST(hami, a_registration_in_json) {
    auto node = node_with(R"([{"id":"GPU-a","count":10,"devmem":81920,"devcore":100,
                               "type":"NVIDIA A100-SXM4-80GB","mode":"hami-core","health":true},
                              {"id":"GPU-b","index":1,"count":7,"devmem":40960,"devcore":100,
                               "type":"NVIDIA A100-SXM4-40GB","mode":"mig","health":true,"migProfiles":[]},
                              {"id":"GPU-c","index":2,"count":10,"devmem":1000,"devcore":150,"health":false},
                              {"id":"GPU-d","index":3,"count":10,"devmem":1000,"devcore":100,"health":true}])");
    node.annotations["hami.io/device-cordon"] = "GPU-x, GPU-d";
    const auto read = spoken::read_node(node, {});
    EXPECT_THAT(read.problems, IsEmpty());
    ASSERT_THAT(read.devices, SizeIs(4));
    EXPECT_EQ(read.devices[0].mode, "hami_core");
    EXPECT_EQ(read.devices[0].slots, 10);
    EXPECT_EQ(read.devices[0].family, "NVIDIA");
    EXPECT_EQ(read.devices[1].mode, "mig");
    EXPECT_EQ(read.devices[2].cores, core_percent{150});
    EXPECT_EQ(read.devices[2].mode, "hami_core");
    EXPECT_FALSE(read.devices[2].healthy);
    EXPECT_FALSE(read.devices[3].healthy);                                      // cordoned
    node.annotations["hami.io/node-handshake"] = "Deleted_2026-11-30 08:00:00"; // by HAMi's scheduler
    EXPECT_FALSE(spoken::read_node(node, {}).devices.at(0).healthy);
    kubernetes::node to;
    spoken::write_node(read.devices, {}, to);
    EXPECT_EQ(to.allocatable.at("nvidia.com/gpu"), "37");
    EXPECT_EQ(spoken::read_node(to, {}).devices, read.devices);
}

TEST(hami, a_registration_in_the_older_text) {
    const auto read = spoken::read_node(node_with("GPU-a,10,16384,100,NVIDIA-Tesla V100,0,true:"
                                                  "GPU-b,10,16384,100,NVIDIA-Tesla V100,1,false,1,mig:"),
                                        {});
    EXPECT_THAT(read.problems, IsEmpty());
    ASSERT_THAT(read.devices, SizeIs(2));
    EXPECT_EQ(read.devices[0].memory, mib{16384});
    EXPECT_EQ(read.devices[0].model, "NVIDIA-Tesla V100");
    EXPECT_TRUE(read.devices[0].healthy);
    EXPECT_EQ(read.devices[1].mode, "mig");
    EXPECT_FALSE(read.devices[1].healthy);
}

TEST(hami, gpus_that_cannot_be_read_are_problems) {
    for (const char* wrong : {"GPU-a,10,16384,100,T,0:", "GPU-a,x,16384,100,T,0,true:", "GPU-a,10,0,100,T,0,true:",
                              "GPU-a,10,16384,-1,T,0,true:", "GPU-a,10,16384,100,T,0,maybe:", ",1,1,1,T,0,true:",
                              "GPU-a,10,99999999999,100,T,0,true:", "GPU-a,10,1,100,T,0,true,0,half:",
                              "GPU-\x12,1,1,1,T,0,true:", "GPU-a,1,1,1,\x1b[31m,0,true:",

                              R"([{"id":"GPU-a","count":1,"devmem":-1,"devcore":1}])", "[1]", "[",
                              R"([{"id":"GPU-a","count":1,"devmem":1,"devcore":1,"mode":"vgpu"}])"}) {
        const auto read = spoken::read_node(node_with(wrong), {});
        EXPECT_THAT(read.devices, IsEmpty()) << wrong;
        ASSERT_THAT(read.problems, SizeIs(1)) << wrong;
        EXPECT_THAT(read.problems[0].where, AllOf(HasSubstr("n0"), HasSubstr(register_key)));
    }
    const auto twice = spoken::read_node(node_with("A,1,1,1,T,0,true:A,1,1,1,T,0,true:"), {});
    EXPECT_THAT(twice.devices, SizeIs(1));
    EXPECT_THAT(twice.problems, ElementsAre(Field(&error::code, error_code::duplicate)));
}

TEST(hami, memory_wins_over_percentage) {
    EXPECT_EQ(first_of(asking(1, 1000, 50)).memory, mib{1000});
    EXPECT_FALSE(first_of(asking(1, 1000, 50)).memory_percent.has_value());
    EXPECT_EQ(first_of(asking(1, 0, 50)).memory_percent, 50);
    EXPECT_EQ(first_of(asking(1, 4), {.memory_factor = 256}).memory, mib{1024});
    EXPECT_EQ(first_of(asking(1), {.memory_default = mib{5000}}).memory, mib{5000});
}

TEST(hami, the_webhook_makes_whole_gpus_exclusive) {
    EXPECT_EQ(first_of(asking(2)).cores, core_percent{100});
    EXPECT_EQ(first_of(asking(1, 0, 100)).cores, core_percent{100});
    EXPECT_EQ(first_of(asking(1, 1000)).cores, core_percent{0});
    EXPECT_EQ(first_of(asking(1, 0, 50)).cores, core_percent{0});
    EXPECT_EQ(first_of(asking(1, 0, 0, 30)).cores, core_percent{30});
    EXPECT_EQ(first_of(asking(1), {.admission = false}).cores, core_percent{0});
    EXPECT_EQ(first_of(asking(1, 1000), {.cores_default = core_percent{20}}).cores, core_percent{20});
}

TEST(hami, cores_above_100_are_100) { EXPECT_EQ(first_of(asking(1, 1000, 0, 250)).cores, core_percent{100}); }

TEST(hami, the_webhook_adds_the_count) {
    for (const auto& pod : {asking(-1, 1000), asking(-1, 0, 20), asking(-1, 0, 0, 10)}) {
        EXPECT_TRUE(spoken::requests(pod, {}));
        EXPECT_EQ(first_of(pod).count, 1);
        EXPECT_EQ(first_of(pod, {.count_default = 3}).count, 3);
        EXPECT_FALSE(spoken::requests(pod, {.admission = false}));
        EXPECT_THAT(spoken::read_pod(pod, {.admission = false})->containers, IsEmpty());
    }
    EXPECT_THAT(spoken::read_pod(asking(0, 1000), {})->containers, IsEmpty());
    EXPECT_FALSE(spoken::requests(pod_of({limited({})}), {}));
}

TEST(hami, amounts_out_of_range_are_errors) {
    for (const auto& pod : {asking(1, -5), asking(1, std::int64_t{1} << 40), asking(1, 0, 101), asking(1, 0, -1),
                            asking(1, 0, 0, -3), asking(std::int64_t{1} << 31)}) {
        const auto read = spoken::read_pod(pod, {});
        ASSERT_FALSE(read.has_value());
        EXPECT_EQ(read.error().code, error_code::out_of_range);
        EXPECT_THAT(read.error().where, HasSubstr("default/p, container c"));
    }
}

TEST(hami, both_lists_of_types_and_of_uuids_apply) {
    auto pod = asking(1, 1000);
    pod.annotations = {{"nvidia.com/use-gputype", "A100, V100,"},
                       {"nvidia.com/nouse-gputype", "40GB"},
                       {"nvidia.com/use-gpuuuid", "GPU-a"},
                       {"nvidia.com/nouse-gpuuuid", "GPU-b,GPU-c"}};
    const auto read = first_of(pod);
    EXPECT_THAT(read.types_allowed, ElementsAre("A100", "V100"));
    EXPECT_THAT(read.types_denied, ElementsAre("40GB"));
    EXPECT_THAT(read.uuids_allowed, ElementsAre("GPU-a"));
    EXPECT_THAT(read.uuids_denied, ElementsAre("GPU-b", "GPU-c"));
}

TEST(hami, the_mode_is_a_list) {
    const auto mode_of = [](const char* list) {
        auto pod = asking(1, 1000);
        pod.annotations["nvidia.com/vgpu-mode"] = list;
        const auto read = spoken::read_pod(pod, {});
        return read ? read->containers[0].mode : "error " + read.error().value;
    };
    EXPECT_EQ(mode_of("hami-core"), "hami_core");
    EXPECT_EQ(mode_of("mig"), "mig");
    EXPECT_EQ(mode_of("mps"), "mps");
    EXPECT_EQ(mode_of(""), "");
    EXPECT_EQ(mode_of("mig, hami-core"), "");
    EXPECT_EQ(mode_of("mig,mps"), "error mig,mps");
    EXPECT_EQ(mode_of("hami"), "error hami");
}

std::vector<device_registration> devices() {
    return spoken::read_node(node_with(R"([{"id":"A","count":10,"devmem":16384,"devcore":100,"type":"NVIDIA V100",
                                    "health":true},
                                   {"id":"M","index":1,"count":7,"devmem":40960,"devcore":100,
                                    "type":"NVIDIA A100-SXM4-40GB","mode":"mig","health":true}])"),
                             {})
        .devices;
}

/// An init container, one that asks, one that does not, one that asks.
kubernetes::pod bound() {
    auto pod = pod_of({limited({{"nvidia.com/gpu", 1}}), limited({}), limited({{"nvidia.com/gpu", 1}})});
    pod.init_containers.push_back(limited({}));
    return pod;
}

TEST(hami, an_assignment_has_a_part_for_every_container) {
    const std::vector<device_share> shares{{0, device_index{0U}, slice{mib{1000}, core_percent{30}}},
                                           {1, device_index{0U}, slice{mib{2000}, core_percent{0}}}};
    auto pod = bound();
    pod.annotations = spoken::write_assignment(pod, devices(), {"n0", "17", shares}, {});
    EXPECT_EQ(pod.annotations.at(allocated_key), ";A,NVIDIA,1000,30:;;A,NVIDIA,2000,0:;");
    EXPECT_EQ(pod.annotations.at("hami.io/vgpu-devices-to-allocate"), pod.annotations.at(allocated_key));
    EXPECT_EQ(pod.annotations.at("hami.io/vgpu-node"), "n0");
    EXPECT_EQ(pod.annotations.at("hami.io/bind-phase"), "allocating");
    EXPECT_FALSE(pod.annotations.contains(mig_key));
    const auto read = spoken::read_assignment(pod, devices(), {});
    EXPECT_THAT(read.problems, IsEmpty());
    EXPECT_EQ(read.shares, shares);
}

/// Init containers that end need nothing of their own where a container has as much.
TEST(hami, init_containers_share_with_the_containers_and_sidecars_do_not) {
    auto pod = pod_of({limited({{"nvidia.com/gpu", 1}, {"nvidia.com/gpumem", 3000}})});
    pod.init_containers = {limited({{"nvidia.com/gpu", 2}, {"nvidia.com/gpumem", 1000}}),
                           limited({{"nvidia.com/gpu", 1}, {"nvidia.com/gpumem", 500}})};
    pod.init_containers[0].name = "ends";
    pod.init_containers[1].stays = true;
    const auto request = make({})->read_pod(pod);
    ASSERT_TRUE(request.has_value());
    ASSERT_THAT(request->containers, SizeIs(2));
    EXPECT_EQ(request->containers[0].memory, mib{500}) << "the sidecar";
    EXPECT_EQ(request->containers[1].memory, mib{3000});
    EXPECT_EQ(request->containers[1].count, 2) << "as many as the init container";
    pod.containers = {limited({})};
    EXPECT_TRUE(make({})->requests(pod)) << "init containers alone";
    EXPECT_THAT(make({})->read_pod(pod)->containers, SizeIs(2));
}

TEST(hami, init_containers_have_their_part_of_an_assignment) {
    auto pod = pod_of({limited({{"nvidia.com/gpu", 1}, {"nvidia.com/gpumem", 1000}})});
    pod.init_containers = {limited({{"nvidia.com/gpu", 1}, {"nvidia.com/gpumem", 3000}}),
                           limited({{"nvidia.com/gpu", 1}, {"nvidia.com/gpumem", 500}})};
    pod.init_containers[1].stays = true;
    const std::vector<device_share> shares{{0, device_index{0U}, slice{mib{500}, core_percent{0}}},
                                           {1, device_index{0U}, slice{mib{3000}, core_percent{0}}}};
    pod.annotations = spoken::write_assignment(pod, devices(), {"n0", "17", shares}, {});
    EXPECT_EQ(pod.annotations.at(allocated_key), "A,NVIDIA,3000,0:;A,NVIDIA,500,0:;A,NVIDIA,1000,0:;");
    EXPECT_EQ(spoken::read_assignment(pod, devices(), {}).shares, shares);
    pod.initialized = true;
    EXPECT_EQ(std::get<slice>(spoken::read_assignment(pod, devices(), {}).shares[1].part).memory, mib{1000});
}

TEST(hami, entries_that_cannot_be_read_are_problems_and_book_nothing) {
    for (const char* entry : {"A,NVIDIA,x,0", "A,NVIDIA,99999999999,0", "A,NVIDIA", "X,NVIDIA,1,0", "M,NVIDIA,1,0"}) {
        auto pod = bound();
        pod.annotations[allocated_key] = ";" + std::string{entry} + ":;;A,NVIDIA,2000,0:;";
        EXPECT_THAT(spoken::read_assignment(pod, devices(), {}).problems, SizeIs(1)) << entry;
        EXPECT_THAT(spoken::read_assignment(pod, devices(), {}).shares, SizeIs(1)) << entry;
    }
    auto pod = bound();
    pod.annotations[allocated_key] = ";A,NVIDIA,1,0:A,NVIDIA,1,0:;;;";
    EXPECT_THAT(spoken::read_assignment(pod, devices(), {}).problems,
                ElementsAre(Field(&error::code, error_code::duplicate)));
}

TEST(hami, mig_instances_have_an_annotation_of_their_own) {
    const auto& model = **find_model(built_in_mig_catalog(), "NVIDIA A100-SXM4-40GB");
    const auto profile = static_cast<std::uint32_t>(*find_profile(model, "2g.10gb") - model.profiles.data());
    const std::vector<device_share> shares{{0, device_index{1U}, mig_instance{profile, 2, core_percent{29}}},
                                           {0, device_index{1U}, mig_instance{profile, 4, core_percent{29}}},
                                           {1, device_index{0U}, slice{mib{2000}, core_percent{0}}}};
    auto pod = bound();
    pod.annotations = spoken::write_assignment(pod, devices(), {"n0", "17", shares}, {});
    EXPECT_EQ(
        pod.annotations.at(mig_key),
        R"([{"containerIndex":1,"deviceIndex":0,"gpuUUID":"M","profile":"2g.10gb","placement":{"start":2,"size":2}},)"
        R"({"containerIndex":1,"deviceIndex":1,"gpuUUID":"M","profile":"2g.10gb","placement":{"start":4,"size":2}}])");
    const auto read = spoken::read_assignment(pod, devices(), {});
    EXPECT_THAT(read.problems, IsEmpty());
    EXPECT_EQ(read.shares, shares);
    for (const char* wrong : {R"([{"containerIndex":1,"gpuUUID":"M","profile":"9g.1gb","placement":{"start":2}}])",
                              R"([{"containerIndex":1,"gpuUUID":"M","profile":"2g.10gb","placement":{"start":1}}])"}) {
        pod.annotations[mig_key] = wrong;
        EXPECT_THAT(spoken::read_assignment(pod, devices(), {}).problems, SizeIs(2))
            << wrong; // and the second has none
        EXPECT_THAT(spoken::read_assignment(pod, devices(), {}).shares, SizeIs(1)) << wrong;
    }
}

constexpr std::string_view offers_2g_and_4g = R"("migProfiles":[
    {"name":"4g.20gb","memoryMB":19968,"core":58,"sliceCount":4,"placements":[{"start":0,"size":4}]},
    {"name":"2g.10gb","memoryMB":9984,"core":29,"sliceCount":2,"placements":[{"start":2,"size":2},{"size":2}]}])";

kubernetes::node node_with_mig(const std::string& model, std::string_view offers) {
    return node_with(R"([{"id":"M","count":7,"devmem":40960,"devcore":100,"mode":"mig","health":true,"type":")" +
                     model + R"(",)" + std::string{offers} + "}]");
}

/// The parts that an empty GPU of this registration has for one of this much memory.
std::vector<partition> parts_for(const device_registration& from, std::int64_t memory_mib) {
    device_request request;
    request.count = 1;
    request.memory = mib{memory_mib};
    cluster owner;
    node where;
    const auto added = add_device(owner, where, from, built_in_mig_catalog());
    EXPECT_TRUE(added) << added.error().message();
    if (!added) return {};
    const device_spec& spec = owner.kinds[where.devices[0].kind];
    std::vector<partition> parts;
    spec.mode->candidates(spec, {}, request, parts);
    return parts;
}

TEST(hami, the_profiles_that_a_gpu_registers_are_the_ones_it_has) {
    // A known model without its 1g, and one that no catalog knows.
    for (const char* const model : {"NVIDIA A100-SXM4-40GB", "NVIDIA Z1-40GB"}) {
        const auto read = spoken::read_node(node_with_mig(model, offers_2g_and_4g), {});
        EXPECT_THAT(read.problems, IsEmpty());
        ASSERT_THAT(read.devices, SizeIs(1));
        const device_registration& gpu = read.devices[0];
        const std::vector<mig_offer> expected{{"4g.20gb", mib{19968}, core_percent{58}, 4, 4, {0}},
                                              {"2g.10gb", mib{9984}, core_percent{29}, 2, 2, {0, 2}}};
        EXPECT_EQ(gpu.offers, expected);
        const auto small = parts_for(gpu, 3000);
        ASSERT_THAT(small, SizeIs(2)) << model;
        EXPECT_EQ(std::get<mig_instance>(small[0]).profile, 1U);
        EXPECT_EQ(std::get<mig_instance>(small[1]).start, 2U);
        EXPECT_THAT(parts_for(gpu, 9985), SizeIs(1));
        EXPECT_THAT(parts_for(gpu, 19969), IsEmpty());
        kubernetes::node to;
        spoken::write_node(read.devices, {}, to);
        EXPECT_EQ(spoken::read_node(to, {}).devices, read.devices);
    }
}

TEST(hami, instances_of_a_gpu_that_no_catalog_knows) {
    const auto devices = spoken::read_node(node_with_mig("NVIDIA Z1-40GB", offers_2g_and_4g), {}).devices;
    auto pod = pod_of({limited({{"nvidia.com/gpu", 1}, {"nvidia.com/gpumem", 3000}})});
    const std::vector<device_share> shares{{0, device_index{0U}, mig_instance{1, 2, core_percent{29}}}};
    pod.annotations = spoken::write_assignment(pod, devices, {"n0", "17", shares}, {});
    EXPECT_EQ(pod.annotations.at(allocated_key), "M,NVIDIA,9984,29:;");
    EXPECT_EQ(
        pod.annotations.at(mig_key),
        R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"M","profile":"2g.10gb","placement":{"start":2,"size":2}}])");
    const auto read = spoken::read_assignment(pod, devices, {});
    EXPECT_THAT(read.problems, IsEmpty());
    EXPECT_EQ(read.shares, shares);
    auto silent = devices; // without a registered figure it is the share of the compute slices
    silent[0].offers[1].cores = core_percent{0};
    EXPECT_EQ(spoken::write_assignment(pod, silent, {"n0", "17", shares}, {}).at(allocated_key), "M,NVIDIA,9984,50:;");
}

TEST(hami, instances_of_unknown_memory_carry_what_they_are_charged) {
    const auto devices = spoken::read_node(node_with_mig("NVIDIA B200", R"("numa":0)"), {}).devices;
    ASSERT_THAT(devices, SizeIs(1));
    const auto& model = **find_model(built_in_mig_catalog(), "B200");
    const auto half = std::ranges::find(model.profiles, "3g.90gb", &mig_profile::name);
    ASSERT_NE(half, model.profiles.end());
    ASSERT_FALSE(half->memory);
    const auto pod = pod_of({limited({{"nvidia.com/gpu", 1}, {"nvidia.com/gpumem-percentage", 50}})});
    const auto profile = static_cast<std::uint32_t>(half - model.profiles.begin());
    const std::vector<device_share> shares{{0, device_index{0U}, mig_instance{profile, 0, core_percent{0}}}};
    const mib charged = charged_memory(model, *half, model.memory.value_or(devices[0].memory));
    EXPECT_EQ(charged.count(), model.memory.value_or(devices[0].memory).count() / 2);
    EXPECT_EQ(spoken::write_assignment(pod, devices, {"n0", "17", shares}, {}).at(allocated_key),
              "M,NVIDIA," + std::to_string(charged.count()) + ",43:;")
        << "3 of 7 compute slices";
}

TEST(hami, a_profile_has_no_more_memory_than_its_gpu) {
    const auto read = spoken::read_node(node_with_mig("NVIDIA A100-SXM4-40GB", R"("migProfiles":[
            {"name":"1g.5gb","memoryMB":999999,"sliceCount":1,"placements":[{"start":0,"size":1}]}])"),
                                        {});
    EXPECT_THAT(read.devices, IsEmpty());
    ASSERT_THAT(read.problems, SizeIs(1));
    EXPECT_EQ(read.problems[0].code, error_code::out_of_range);
    EXPECT_THAT(read.problems[0].message(), HasSubstr("1g.5gb"));
}

TEST(hami, an_allowlist_is_for_gpus_that_do_not_say_their_profiles) {
    const options with{.mig_allowlist = {{.models = {"A30"}, .profiles = {"1g.6gb", "7g.1gb"}},
                                         {.models = {"V100", "A100-SXM4-40GB"}, .profiles = {"3g.20gb", "1g.5gb"}},
                                         {.models = {"A100"}, .profiles = {"7g.40gb"}},
                                         {.models = {"H100", "Z1"}, .profiles = {"9g.99gb"}}}};
    const auto names_for = [&with](const std::string& model, const std::string& offers) {
        const auto read = spoken::read_node(node_with_mig(model, offers), with);
        std::string names;
        EXPECT_EQ(read.problems.size() + read.devices.size(), 1U) << model;
        for (const device_registration& gpu : read.devices) {
            for (const mig_offer& item : gpu.offers) names += item.name + " ";
        }
        return names;
    };
    EXPECT_EQ(names_for("NVIDIA A100-SXM4-40GB", R"("migProfiles":[])"), "1g.5gb 3g.20gb ");
    EXPECT_EQ(names_for("NVIDIA A30", R"("numa":0)"), "1g.6gb ");
    EXPECT_EQ(names_for("NVIDIA A100-SXM4-40GB", std::string{offers_2g_and_4g}), "4g.20gb 2g.10gb ");
    const std::vector<std::pair<const char*, error_code>> without{
        {"NVIDIA B200", error_code::missing},            // no entry names it
        {"NVIDIA H100 80GB HBM3", error_code::mismatch}, // it has no such profile
        {"NVIDIA Z1", error_code::unknown_name},         // the catalog cannot say
    };
    for (const auto& [model, code] : without) {
        const auto read = spoken::read_node(node_with_mig(model, R"("numa":0)"), with);
        EXPECT_THAT(read.devices, IsEmpty()) << model;
        EXPECT_THAT(read.problems, ElementsAre(Field(&error::code, code))) << model;
    }
    const auto gpu = spoken::read_node(node_with_mig("NVIDIA A100-SXM4-40GB", R"("numa":0)"), with).devices.at(0);
    EXPECT_THAT(parts_for(gpu, 5000), SizeIs(2)) << "3g.20gb, as 2g.10gb is not allowed";
}

/// HAMi ships this entry; nobody says what a 3g.90gb and a 7g.180gb have.
TEST(hami, an_allowlist_keeps_profiles_of_unknown_memory) {
    const options with{
        .mig_allowlist = {{.models = {"B200"}, .profiles = {"1g.23gb", "2g.45gb", "3g.90gb", "7g.180gb"}}}};
    const auto read = spoken::read_node(node_with_mig("NVIDIA B200", R"("numa":0)"), with);
    EXPECT_THAT(read.problems, IsEmpty());
    ASSERT_THAT(read.devices, SizeIs(1));
    const device_registration& gpu = read.devices[0];
    ASSERT_THAT(gpu.offers, SizeIs(4));
    EXPECT_THAT(parts_for(gpu, 3000), SizeIs(7)) << "1g.23gb";
    ASSERT_THAT(parts_for(gpu, 79'210), SizeIs(2)) << "3g.90gb has at least that";
    EXPECT_EQ(std::get<mig_instance>(parts_for(gpu, 79'210)[0]).profile, 2U);
    EXPECT_THAT(parts_for(gpu, 79'211), IsEmpty()) << "it may have less";
    kubernetes::node to;
    spoken::write_node(read.devices, {}, to);
    EXPECT_EQ(spoken::read_node(to, with).devices, read.devices) << "no driver told these profiles, so none is written";
}

TEST(hami, profiles_that_cannot_be_read_leave_the_gpu_out) {
    const auto with_placements = [](const std::string& list) {
        return R"({"name":"2g","memoryMB":1,"sliceCount":2,"placements":)" + list + "}";
    };
    const std::vector<std::tuple<std::string, std::string, error_code>> wrong{
        {R"({"memoryMB":1,"sliceCount":2,"placements":[{"size":2}]})", "name", error_code::missing},
        {R"({"name":"2g","memoryMB":0,"sliceCount":2,"placements":[{"size":2}]})", "memoryMB",
         error_code::out_of_range},
        {R"({"name":"2g","memoryMB":"1","sliceCount":2,"placements":[{"size":2}]})", "memoryMB", error_code::malformed},
        {R"({"name":"2g","memoryMB":1,"sliceCount":65,"placements":[{"size":2}]})", "sliceCount",
         error_code::out_of_range},
        {R"({"name":"2g","memoryMB":1,"sliceCount":2})", "placements", error_code::missing},
        {with_placements("[]"), "placements", error_code::missing},
        {with_placements(R"([{"start":64,"size":1}])"), "start", error_code::out_of_range},
        {with_placements(R"([{"start":63,"size":2}])"), "size", error_code::out_of_range},
        {with_placements(R"([{"size":2},{"start":2,"size":1}])"), "placements[1].size", error_code::mismatch},
        {with_placements(R"([{"start":2,"size":2},{"start":2,"size":2}])"), "placements[1]", error_code::duplicate},
        {with_placements(R"([{"size":2}])") + "," + with_placements(R"([{"size":2}])"), "migProfiles[1].name",
         error_code::duplicate},
    };
    for (const auto& [offer, field, code] : wrong) {
        const auto read = spoken::read_node(node_with_mig("NVIDIA Z1-40GB", R"("migProfiles":[)" + offer + "]"), {});
        EXPECT_THAT(read.devices, IsEmpty()) << offer;
        ASSERT_THAT(read.problems, SizeIs(1)) << offer;
        EXPECT_EQ(read.problems[0].code, code) << read.problems[0].message();
        EXPECT_THAT(read.problems[0].field, HasSubstr(field));
    }
}

TEST(hami, gpus_keep_the_index_that_they_are_registered_with) {
    const std::string good = R"("count":1,"devmem":1000,"devcore":100,"health":true})";
    const auto json = spoken::read_node(
        node_with(R"([{"id":"", )" + good + R"(,{"id":"B",)" + good + R"(,{"id":"C","index":7,)" + good + "]"), {});
    EXPECT_THAT(json.problems, SizeIs(1));
    ASSERT_THAT(json.devices, SizeIs(2));
    EXPECT_EQ(json.index_of(0), 1) << "its place, since no index is given";
    EXPECT_EQ(json.index_of(1), 7);
    const auto text = spoken::read_node(node_with("A,x,1000,100,T4,0,true:B,1,1000,100,T4,0,true:"), {});
    ASSERT_THAT(text.devices, SizeIs(1));
    EXPECT_EQ(text.index_of(0), 1);
    EXPECT_EQ((vgpualloc::dialects::node_reading{.devices = {{}, {}}, .problems = {}}.index_of(1)), 1);
}

TEST(hami, models_of_a_users_catalog_are_cut) {
    const auto more =
        catalog_texts::parse_mig_catalog(R"({"schema":"vgpualloc-catalog/1","sources":{"X":"our node"},"mig":[{
        "key":"MY-GPU-24GB","memory_slices":4,"compute_slices":4,"card_types":["MY-GPU"],"provenance":{"*":"S:X"},
        "profiles":[{"name":"1g.6gb","kind":"core","profile_id":14,"compute_slices":1,"size":1,"starts":[0,1,2,3],
                     "max_instances":4,"memory_mib":5952,"sm":14,"provenance":{"*":"S:X"}},
                    {"name":"4g.24gb","kind":"core","profile_id":0,"compute_slices":4,"size":4,"starts":[0],
                     "max_instances":1,"memory_mib":24000,"sm":60,"provenance":{"*":"S:X"}}]}]})",
                                         "mine.json");
    ASSERT_TRUE(more.has_value()) << more.error().message();
    const auto catalog = merge(built_in_mig_catalog(), *more);
    ASSERT_TRUE(catalog.has_value());
    options with;
    with.catalog = std::make_shared<const mig_catalog>(*catalog);
    device_registration card;
    card.uuid = "M";
    card.model = "NVIDIA MY-GPU";
    card.family = "NVIDIA";
    card.mode = "mig";
    const std::vector<device_registration> cards{card};
    // HAMi charges the share of multiprocessors, rounded up: 14 of 60.
    const std::vector<device_share> shares{{0, device_index{0U}, mig_instance{0, 2, core_percent{24}}}};
    auto pod = asking(1, 5000);
    const std::vector<device_share> decided{{0, device_index{0U}, mig_instance{0, 2, {}}}};
    pod.annotations = spoken::write_assignment(pod, cards, {"n0", "17", decided}, with);
    EXPECT_EQ(pod.annotations.at(allocated_key), "M,NVIDIA,5952,24:;");
    EXPECT_THAT(pod.annotations.at(mig_key), HasSubstr(R"("profile":"1g.6gb","placement":{"start":2,"size":1})"));
    const auto read = spoken::read_assignment(pod, cards, with);
    EXPECT_THAT(read.problems, IsEmpty());
    EXPECT_EQ(read.shares, shares);
    EXPECT_THAT(spoken::read_assignment(pod, cards, {}).problems, SizeIs(1)) << "the built-in catalog does not know it";
}

} // namespace
} // namespace vgpualloc::dialects::hami
