// Volcano's device configuration and plugin arguments: what is read, and what is refused and where.
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "requirements.hpp"
#include "vgpualloc/dialect/volcano_config.hpp"

namespace vgpualloc::dialects::volcano {
namespace {

using vgpualloc::test::covers;
using namespace testing; // matchers

const std::string geometries = R"([{"models":["A100-SXM4-40GB","A100-SXM4-40GB"],"allowedGeometries":[
  {"group":"group1","geometries":[{"name":"1g.5gb","memory":5120,"count":7}]},
  {"group":"group-2","geometries":[{"name":"2g.10gb","memory":10240,"count":3},{"name":"1g.5gb","memory":5120,"count":1}]}]}])";

const std::string vnpus = R"([{"commonWord":"Ascend310P","chipName":"310P3","resourceName":"huawei.com/Ascend310P",
  "resourceMemoryName":"huawei.com/Ascend310P-memory","memoryAllocatable":21527,"memoryCapacity":24576,"aiCore":8,"aiCPU":7,
  "templates":[{"name":"vir04","memory":12288,"aiCore":4,"aiCPU":4},{"name":"vir01","memory":3072,"aiCore":1}]}])";

device_config parsed(const std::string& json) {
    const auto read = parse_device_config(json, "device-config.yaml");
    EXPECT_TRUE(read) << read.error().message();
    return read.value_or(device_config{});
}

TEST(volcano_config, every_key_of_the_shipped_file) {
    covers({"R029"});
    const auto read = parsed(R"({"nvidia":{"resourceCountName":"x/count","resourceMemoryName":"x/memory",
        "resourceCoreName":"x/cores","resourceMemoryPercentageName":"x/percent","resourcePriorityName":"x/priority",
        "overwriteEnv":true,"defaultMemory":100,"defaultCores":5,"defaultGPUNum":2,"deviceSplitCount":4,
        "deviceMemoryScaling":1.8,"deviceCoreScaling":2,"disableCoreLimit":true,"gpuMemoryFactor":1024,
        "passDeviceSpecs":true,"applyAllKeys":true,"knownMigGeometries":)" +
                             geometries + "}}");
    EXPECT_THAT(read.warnings, IsEmpty());
    EXPECT_EQ(read.vgpu.count_name, "x/count");
    EXPECT_EQ(read.vgpu.memory_name, "x/memory");
    EXPECT_EQ(read.vgpu.cores_name, "x/cores");
    EXPECT_EQ(read.vgpu.memory_percentage_name, "x/percent");
    EXPECT_EQ(read.vgpu.memory_factor, 1024);
    const nvidia_plugin_config plugin{.priority_name = "x/priority",
                                      .overwrite_env = true,
                                      .memory_default = mib{100},
                                      .cores_default = core_percent{5},
                                      .count_default = 2,
                                      .split_count = 4,
                                      .memory_scaling_percent = 180,
                                      .cores_scaling_percent = 200,
                                      .disable_core_limit = true,
                                      .pass_device_specs = true};
    EXPECT_EQ(read.nvidia, plugin);
    ASSERT_THAT(read.vgpu.geometries, SizeIs(1));
    EXPECT_THAT(read.vgpu.geometries[0].models, SizeIs(2));
    ASSERT_THAT(read.vgpu.geometries[0].groups, SizeIs(2));
    EXPECT_EQ(read.vgpu.geometries[0].groups[1],
              (mig_group{"group-2", {{"2g.10gb", mib{10240}, 3}, {"1g.5gb", mib{5120}, 1}}}));
}

TEST(volcano_config, a_present_file_replaces_the_defaults) {
    for (const char* const json : {"{}", R"({"nvidia":null})", R"({"nvidia":{}})"}) {
        const auto read = parsed(json);
        EXPECT_EQ(read.vgpu.count_name, "");
        EXPECT_EQ(read.vgpu.memory_percentage_name, "");
        EXPECT_EQ(read.vgpu.memory_factor, 1);
        EXPECT_EQ(read.nvidia, nvidia_plugin_config{});
        EXPECT_THAT(read.vnpus, IsEmpty());
    }
    EXPECT_EQ(parsed(R"({"nvidia":{"gpuMemoryFactor":0}})").vgpu.memory_factor, 1);
}

TEST(volcano_config, both_forms_of_vnpus) {
    const npu_kind kind{.name = "Ascend310P",
                        .memory_allocatable = mib{21527},
                        .memory_capacity = mib{24576},
                        .ai_core = 8,
                        .ai_cpu = 7,
                        .templates = {{"vir04", mib{12288}, 4, 4}, {"vir01", mib{3072}, 1, 0}}};
    const std::vector<vnpu_config> expected{
        {"310P3", "huawei.com/Ascend310P", "huawei.com/Ascend310P-memory", "", 1, false, kind}};
    EXPECT_EQ(parsed(R"({"vnpus":)" + vnpus + "}").vnpus, expected);
    EXPECT_FALSE(parsed(R"({"vnpus":)" + vnpus + "}").hami_vnpu_core);
    const auto nested = parsed(R"({"vnpus":{"hamiVnpuCore":true,"configs":)" + vnpus + "}}");
    EXPECT_EQ(nested.vnpus, expected);
    EXPECT_TRUE(nested.hami_vnpu_core);
    EXPECT_FALSE(nested.npus_of_hami_2_10);
    for (const auto& [version, is_newer] :
         {std::pair{"2.9", false}, {"2.9.1", false}, {"2.10", true}, {"v2.10.0", true}, {"3.0", true}}) {
        EXPECT_EQ(parsed(R"({"vnpus":{"hamiVersion":")" + std::string{version} + R"("}})").npus_of_hami_2_10, is_newer)
            << version;
    }
    for (const char* wrong : {R"("new")", R"("2")", R"("2.10beta")", R"("")", "2.1"}) {
        const auto read = parse_device_config(R"({"vnpus":{"hamiVersion":)" + std::string{wrong} + "}}", "config");
        EXPECT_FALSE(read.has_value()) << wrong;
    }
}

/// The sections that HAMi's chart writes, shortened.
constexpr std::string_view of_hami = R"({
  "nvidia":{"resourceCountName":"x/gpu","resourceMemoryName":"x/gpumem","resourceMemoryPercentageName":"x/percent",
    "resourceCoreName":"x/gpucores","resourcePriorityName":"x/priority","overwriteEnv":false,"defaultMemory":100,
    "defaultCores":5,"defaultGPUNum":2,"preConfiguredDeviceMemory":0,"memoryFactor":4,"deviceSplitCount":10,
    "deviceMemoryScaling":1,"deviceCoreScaling":1,"enableNumaTopology":false,"gpuCorePolicy":"default",
    "libCudaLogLevel":1,"runtimeClassName":"","migProfileAllowlist":[{"models":["A30"],"profiles":["1g.6gb"]}]},
  "cambricon":{"resourceCountName":"cambricon.com/vmlu"},"iluvatars":[{"chipName":"MR-V100"}],"amd":{},
  "vnpus":{"hamiVnpuCore":false,"configs":[{"chipName":"Ascend910","commonWord":"Ascend910C",
    "resourceName":"huawei.com/Ascend910C","resourceMemoryName":"huawei.com/Ascend910C-memory",
    "resourceCoreName":"x/910C-core","memoryAllocatable":65536,"memoryCapacity":65536,"memoryFactor":2,"aiCore":20,
    "aiCPU":7,"runtimeClassName":"","overwriteEnv":false,"superPod":true}]}})";

TEST(volcano_config, the_file_that_hami_ships) {
    const auto read = parsed(std::string{of_hami});
    EXPECT_THAT(read.warnings, IsEmpty());
    ASSERT_TRUE(read.hami);
    const dialects::hami::options names{.count_name = "x/gpu",
                                        .memory_name = "x/gpumem",
                                        .memory_percentage_name = "x/percent",
                                        .cores_name = "x/gpucores",
                                        .memory_factor = 4,
                                        .memory_default = mib{100},
                                        .cores_default = core_percent{5},
                                        .count_default = 2,
                                        .mig_allowlist = {{.models = {"A30"}, .profiles = {"1g.6gb"}}}};
    EXPECT_EQ(*read.hami, names);
    EXPECT_EQ(read.vgpu, dialects::volcano_vgpu::options{}) << "Volcano's names are not in HAMi's file";
    ASSERT_THAT(read.vnpus, SizeIs(1));
    EXPECT_EQ(read.vnpus[0].resource_core_name, "x/910C-core");
    EXPECT_EQ(read.vnpus[0].memory_factor, 2);
    EXPECT_TRUE(read.vnpus[0].super_pod);
}

TEST(volcano_config, whose_the_section_nvidia_is) {
    EXPECT_TRUE(parsed(R"({"nvidia":{"resourceCountName":"nvidia.com/gpu"}})").hami);
    EXPECT_TRUE(parsed(R"({"nvidia":{"resourceCountName":"x/gpu","gpuCorePolicy":"force"}})").hami);
    EXPECT_FALSE(parsed(R"({"nvidia":{"resourceCountName":"x/gpu"}})").hami);
    const auto volcano = parsed(R"({"nvidia":{"resourceCountName":"nvidia.com/gpu","gpuMemoryFactor":2}})");
    EXPECT_FALSE(volcano.hami);
    EXPECT_EQ(volcano.vgpu.count_name, "nvidia.com/gpu");
    EXPECT_EQ(volcano.vgpu.memory_factor, 2);
}

TEST(volcano_config, keys_that_nobody_knows_are_a_warning) {
    const auto read = parsed(R"({"nvidia":{"gpuMemoryFactor":1,"colour":"red"},"tenstorrent":{},
        "vnpus":{"note":1,"configs":[{"commonWord":"A","resourceName":"a/A","memoryAllocatable":1,"memoryCapacity":1,
        "aiCore":1,"shape":null}]}})");
    std::vector<std::string> fields;
    for (const error& item : read.warnings) {
        EXPECT_EQ(item.code, error_code::unknown_name);
        EXPECT_EQ(item.where, "device-config.yaml");
        fields.push_back(item.field);
    }
    EXPECT_THAT(fields, ElementsAre("tenstorrent", "nvidia.colour", "vnpus.note", "vnpus.configs[0].shape"));
    const auto old = parsed(R"({"nvidia":{"memoryFactor":1,"knownMigGeometries":[{"allowedGeometries":[[]]}]}})");
    ASSERT_THAT(old.warnings, SizeIs(1)) << "the form of older HAMi, which is not Volcano's";
    EXPECT_EQ(old.warnings[0].field, "nvidia.knownMigGeometries");
}

TEST(volcano_config, what_is_wrong_is_named_by_its_path) {
    struct wrong {
        std::string json, part;
        error_code code;
    };
    const auto in_nvidia = [](const std::string& key, const std::string& value) {
        return R"({"nvidia":{")" + key + R"(":)" + value + "}}";
    };
    const auto in_kind = [&](const std::string& kind) {
        return in_nvidia("knownMigGeometries",
                         R"([{"models":["A"],"allowedGeometries":[{"group":"g","geometries":[)" + kind + "]}]}]");
    };
    const std::string path = "nvidia.knownMigGeometries[0].allowedGeometries";
    const std::vector<wrong> all{
        {"{", "the text ends inside a map; was the download cut off?", error_code::malformed},
        {"[]", "an object", error_code::malformed},
        {R"({"nvidia":{},"nvidia":{}})", "given twice", error_code::duplicate},
        {R"({"kind":"Pod","metadata":{}})", "section nvidia or vnpus", error_code::missing},
        {R"({"nvida":{}})", "the key nvidia", error_code::unknown_name},
        {R"({"NVIDIA":{}})", "the key nvidia", error_code::unknown_name},
        {in_nvidia("resourceCount", "1"), "nvidia.resourceCount", error_code::unknown_name},
        {in_nvidia("resourceCoresNames", "1"), "the key resourceCoreName", error_code::unknown_name},
        {in_nvidia("applyAllKey", "true"), "the key applyAllKeys", error_code::unknown_name},
        {in_nvidia("migProfileAllowlist", R"([{"models":["A30"],"profiles":[]}])"), "migProfileAllowlist[0].profiles",
         error_code::missing},
        {in_nvidia("migProfileAllowlist", R"([{"models":["A30"],"profile":["1g.6gb"]}])"), "profile",
         error_code::unknown_name},
        {in_nvidia("memoryFactor", "1048577"), "nvidia.memoryFactor", error_code::out_of_range},
        {in_nvidia("resourceCountName", "1"), "nvidia.resourceCountName", error_code::malformed},
        {in_nvidia("gpuMemoryFactor", "-1"), "nvidia.gpuMemoryFactor", error_code::out_of_range},
        {in_nvidia("gpuMemoryFactor", "2147483648"), "nvidia.gpuMemoryFactor", error_code::out_of_range},
        {in_nvidia("gpuMemoryFactor", "1.5"), "nvidia.gpuMemoryFactor", error_code::malformed},
        {in_nvidia("deviceSplitCount", "0"), "nvidia.deviceSplitCount", error_code::out_of_range},
        {in_nvidia("deviceCoreScaling", "0"), "nvidia.deviceCoreScaling", error_code::out_of_range},
        {in_nvidia("overwriteEnv", "\"true\""), "nvidia.overwriteEnv", error_code::malformed},
        {in_nvidia("knownMigGeometries", R"([{"models":[],"allowedGeometries":[]}])"), "models", error_code::missing},
        {in_kind(""), path + "[0].geometries", error_code::missing},
        {in_kind(R"({"name":"k","memory":0,"count":1})"), path + "[0].geometries[0].memory", error_code::out_of_range},
        {in_kind(R"({"name":"k","memory":1,"count":65})"), path + "[0].geometries[0].count", error_code::out_of_range},
        {in_kind(R"({"name":"k","memory":1})"), path + "[0].geometries[0].count", error_code::missing},
        {in_kind(R"({"name":"k","memory":1,"count":64},{"name":"l","memory":1,"count":1})"), path,
         error_code::out_of_range},
        {in_nvidia("knownMigGeometries", R"([{"models":["A"],"allowedGeometries":[{"group":"g]","geometries":
            [{"name":"k","memory":1,"count":1}]}]}])"),
         path + "[0].group", error_code::malformed},
        {R"({"vnpus":1})", "vnpus", error_code::malformed},
        {R"({"vnpus":{"config":[]}})", "vnpus.config", error_code::unknown_name},
        {R"({"vnpus":[{"commonWord":"A"}]})", "vnpus[0]", error_code::missing},
        {R"({"vnpus":[{"resourceCorename":"A"}]})", "the key resourceCoreName", error_code::unknown_name},
    };
    for (const wrong& item : all) {
        const auto read = parse_device_config(item.json, "device-config.yaml");
        ASSERT_FALSE(read) << item.json;
        EXPECT_EQ(read.error().code, item.code) << read.error().message();
        EXPECT_THAT(read.error().message(), HasSubstr(item.part));
        EXPECT_THAT(read.error().where, HasSubstr("device-config.yaml"));
    }
}

TEST(volcano_config, words_and_templates_occur_once) {
    const std::string entry = vnpus.substr(1, vnpus.size() - 2);
    const auto words = parse_device_config(R"({"vnpus":[)" + entry + "," + entry + "]}", "f");
    ASSERT_FALSE(words);
    EXPECT_EQ(words.error().code, error_code::duplicate);
    EXPECT_EQ(words.error().field, "vnpus[1].commonWord");
    std::string twice = vnpus;
    twice.replace(twice.find("vir01"), 5, "vir04");
    const auto templates = parse_device_config(R"({"vnpus":)" + twice + "}", "f");
    ASSERT_FALSE(templates);
    EXPECT_EQ(templates.error().field, "vnpus[0].templates[1].name");
}

TEST(volcano_arguments, defaults_and_every_argument) {
    covers({"R020", "R036", "R082", "R086"});
    EXPECT_EQ(parse_plugin_arguments({}), plugin_arguments{});
    const auto read = parse_plugin_arguments({
        {"deviceshare.VGPUEnable", "true"},
        {"deviceshare.NodeLockEnable", "True"},
        {"deviceshare.AscendMindClusterVNPUEnable", "1"},
        {"deviceshare.AscendHAMiVNPUEnable", "t"},
        {"deviceshare.GPUSharingEnable", "false"},
        {"deviceshare.SchedulePolicy", "binpack"},
        {"deviceshare.ScheduleWeight", "-3"},
        {"deviceshare.KnownGeometriesCMName", "name"},
        {"deviceshare.KnownGeometriesCMNamespace", "ns"},
        {"deviceshare.GPUExclusiveRules", R"([{"app":"a"},{},{"app":"b","tier":"x"}])"},
    });
    ASSERT_TRUE(read) << read.error().message();
    const plugin_arguments expected{.vgpu = true,
                                    .node_lock = true,
                                    .mindcluster_vnpu = true,
                                    .hami_vnpu = true,
                                    .schedule_policy = "binpack",
                                    .schedule_weight = -3,
                                    .config_map_name = "name",
                                    .config_map_namespace = "ns",
                                    .exclusive_rules = {{{"app", "a"}}, {}, {{"app", "b"}, {"tier", "x"}}}};
    EXPECT_EQ(*read, expected);
    const auto assumed = parse_plugin_arguments({{"deviceshare.SchedulePolicy", "spread"}});
    EXPECT_EQ(assumed->schedule_weight, 1) << "a policy that nothing weighs would rank no node";
    EXPECT_TRUE(assumed->weight_assumed);
    const auto none =
        parse_plugin_arguments({{"deviceshare.SchedulePolicy", "spread"}, {"deviceshare.ScheduleWeight", "0"}});
    EXPECT_EQ(none->schedule_weight, 0) << "said is said";
    EXPECT_TRUE(parse_plugin_arguments({{"deviceshare.GPUNumberEnable", "true"}})->gpu_number);
    EXPECT_TRUE(parse_plugin_arguments({{"deviceshare.GPUSharingEnable", "true"}})->gpu_sharing);
}

TEST(volcano_arguments, combinations_with_which_volcano_ends) {
    using pairs = std::vector<std::pair<const char*, const char*>>;
    for (const auto& [one, other] : pairs{{"deviceshare.GPUSharingEnable", "deviceshare.GPUNumberEnable"},
                                          {"deviceshare.GPUSharingEnable", "deviceshare.VGPUEnable"},
                                          {"deviceshare.GPUNumberEnable", "deviceshare.VGPUEnable"}}) {
        const auto read = parse_plugin_arguments({{one, "true"}, {other, "true"}});
        ASSERT_FALSE(read) << one << other;
        EXPECT_EQ(read.error().code, error_code::unsupported);
    }
}

TEST(volcano_arguments, what_is_wrong_is_named) {
    covers({"R021"});
    struct wrong {
        std::string name, value;
        error_code code;
    };
    const std::vector<wrong> all{
        {"deviceshare.VGPU", "true", error_code::unknown_name},
        {"VGPUEnable", "true", error_code::unknown_name},
        {"deviceshare.VGPUEnable", "yes", error_code::malformed},
        {"deviceshare.SchedulePolicy", "best", error_code::unknown_name},
        {"deviceshare.ScheduleWeight", "1.5", error_code::malformed},
        {"deviceshare.ScheduleWeight", "99999999999999999999", error_code::malformed},
        {"deviceshare.GPUExclusiveRules", "{", error_code::malformed},
        {"deviceshare.GPUExclusiveRules", "{}", error_code::malformed},
        {"deviceshare.GPUExclusiveRules", R"([{"a":1}])", error_code::malformed},
        {"deviceshare.GPUExclusiveRules", R"([["a"]])", error_code::malformed},
    };
    for (const wrong& item : all) {
        const auto read = parse_plugin_arguments({{item.name, item.value}});
        ASSERT_FALSE(read) << item.name << item.value;
        EXPECT_EQ(read.error().code, item.code) << read.error().message();
        EXPECT_THAT(read.error().message(), HasSubstr(item.name));
    }
}

TEST(vgpualloc_arguments, its_own_and_those_of_deviceshare) {
    EXPECT_EQ(parse_vgpualloc_arguments({}), vgpualloc_arguments{});
    const auto read = parse_vgpualloc_arguments({{"vgpualloc.policy", "fgd"},
                                                 {"vgpualloc.device-policy", "spread"},
                                                 {"vgpualloc.weight", "2.5"},
                                                 {"vgpualloc.decision-log", "/log"},
                                                 {"vgpualloc.decision-log-max-mib", "0"},
                                                 {"deviceshare.VGPUEnable", "true"},
                                                 {"deviceshare.SchedulePolicy", "binpack"},
                                                 {"deviceshare.ScheduleWeight", "10"}});
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->policy, "fgd");
    EXPECT_EQ(read->device_policy, "spread");
    EXPECT_EQ(read->weight, 2.5) << "of both weights, ours";
    EXPECT_EQ(read->decision_log, "/log");
    EXPECT_EQ(read->decision_log_mib_max, 0);
    EXPECT_TRUE(read->deviceshare.vgpu);
    EXPECT_EQ(parse_vgpualloc_arguments({{"deviceshare.SchedulePolicy", "spread"}})->policy, "spread");
    EXPECT_EQ(parse_vgpualloc_arguments({{"deviceshare.ScheduleWeight", "0.5"}})->weight, 0.5);
}

TEST(vgpualloc_arguments, what_is_wrong_is_named_with_its_value) {
    const auto message = [](const char* name, const char* value) {
        const auto read = parse_vgpualloc_arguments({{name, value}});
        return read ? std::string{"no error"} : read.error().message();
    };
    EXPECT_EQ(message("vgpualloc.weight", "-1"), "vgpualloc.weight: got '-1', expected a number that is not below 0");
    EXPECT_EQ(message("deviceshare.ScheduleWeight", "inf"),
              "deviceshare.ScheduleWeight: got 'inf', expected a number that is not below 0");
    EXPECT_EQ(message("vgpualloc.weight", "nan"), "vgpualloc.weight: got 'nan', expected a number that is not below 0");
    EXPECT_EQ(message("vgpualloc.weight", ""), "vgpualloc.weight: got '\"\"', expected a number that is not below 0");
    EXPECT_EQ(message("deviceshare.VGPUEnable", "yes"), "deviceshare.VGPUEnable: got 'yes', expected true or false");
    for (const char* const limit : {"-1", "1.5", "much", "4294967296"}) {
        EXPECT_EQ(message("vgpualloc.decision-log-max-mib", limit),
                  std::string{"vgpualloc.decision-log-max-mib: got '"} + limit +
                      "', expected a whole number of MiB, or 0 for no limit");
    }
    EXPECT_THAT(message("vgpualloc.polcy", "fgd"), HasSubstr("vgpualloc.polcy: unknown argument"));
    EXPECT_THAT(message("policy", "fgd"), HasSubstr("vgpualloc.device-policy"));
    EXPECT_THAT(message("deviceshare.Other", "1"), HasSubstr("deviceshare.Other: unknown argument"));
}

} // namespace
} // namespace vgpualloc::dialects::volcano
