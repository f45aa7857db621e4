// NPU virtualization: statements of docs/requirements.md, with their examples and tables.
#include <algorithm>
#include <array>
#include <set>

#include "seeds.hpp"
#include "vgpualloc/catalog/ascend.hpp"
#include "vgpualloc/dialect/ascend_hami.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "vgpualloc/dialect/mindcluster.hpp"

namespace vgpualloc {
namespace {

using namespace test;
namespace mc = dialects::mindcluster;
namespace hami = dialects::ascend_hami;

// --- MindCluster ---------------------------------------------------------------------------------------------------

constexpr const char* npu_core = "huawei.com/npu-core";

kubernetes::node chips_of_310p(int chips, const std::string& accelerator = "huawei-Ascend310P") {
    kubernetes::node result;
    result.name = "n";
    result.labels = {{"accelerator", accelerator},
                     {"servertype", "Ascend310P-8-dual"},
                     {"node.kubernetes.io/npu.chip.name", "310P3"}};
    std::string list;
    for (int i = 0; i < chips; ++i) list += (i > 0 ? "," : "") + ("\"Ascend310P-" + std::to_string(i) + "\":{}");
    result.annotations["baseDeviceInfos"] = "{" + list + "}";
    result.capacity[npu_core] = std::to_string(8 * chips);
    result.allocatable[npu_core] = std::to_string(8 * chips);
    return result;
}
mc::device_info all_healthy(int chips) {
    std::string list;
    for (int i = 0; i < chips; ++i) list += (i > 0 ? "," : "") + ("Ascend310P-" + std::to_string(i));
    mc::device_info result;
    result.device_list["huawei.com/Ascend310P"] = list;
    return result;
}
dialects::node_reading chips_on_node(int chips) {
    return mc::read_node(chips_of_310p(chips), all_healthy(chips), {}, {});
}

/// The documented Job as its pod: request and limit, and labels; an empty one is left out.
kubernetes::pod cores_pod(std::int64_t cores, const std::string& dvpp = "", const std::string& level = "") {
    auto result = pod_with({{npu_core, cores}});
    result.containers[0].requests = result.containers[0].limits;
    result.labels["ring-controller.atlas"] = "ascend-310P";
    if (!dvpp.empty()) result.labels["vnpu-dvpp"] = dvpp;
    if (!level.empty()) result.labels["vnpu-level"] = level;
    return result;
}
expected<pod_request> cores_ask(std::int64_t cores, const std::string& dvpp = "", const std::string& level = "") {
    return test::spoken<mc::options>::read_pod(cores_pod(cores, dvpp, level), {});
}
/// What annotation huawei.com/npu-core says of the pod placed last.
std::string annotation(const site& here) {
    return test::spoken<mc::options>::write_assignment({}, here.registered(),
                                                       {.node = "n", .time = "1", .shares = here.shares()}, {})
        .at(npu_core);
}
/// The template that an asking pod gets on the first chip of `here`; "whole", or why there is none.
std::string template_for(site& here, const expected<pod_request>& request) {
    const std::string where = here.place(request);
    if (here.shares().empty()) return where;
    const std::string text = annotation(here);
    const auto dash = text.find('-');
    return dash == std::string::npos ? "whole" : text.substr(dash + 1);
}
std::string template_alone_for(const expected<pod_request>& request) {
    site here;
    here.add("n", chips_on_node(2));
    return template_for(here, request);
}

TEST(seeds_npu, there_are_two_modes_of_vnpu) {
    covers({"R074"});
    site here;
    here.add("mindcluster", chips_on_node(1));
    EXPECT_EQ(here.place(cores_ask(4)), "mindcluster");
    EXPECT_EQ(here.mode(), "mindcluster_310p");
    EXPECT_EQ(mode("mindcluster_310p").name(), mc::mode_name);
    EXPECT_EQ(mode("ascend_vir").name(), hami::mode_name);
    EXPECT_NE(&mode("mindcluster_310p"), &mode("ascend_vir"));
}

TEST(seeds_npu, mindcluster_is_for_the_310_series) {
    covers({"R076", "R089"});
    EXPECT_EQ(chips_on_node(2).devices.size(), 2U);
    EXPECT_EQ(chips_on_node(2).devices.at(0).model, "310P3");
    for (const char* accelerator : {"huawei-Ascend910", "huawei-Ascend910B", ""}) {
        const auto read = mc::read_node(chips_of_310p(2, accelerator), all_healthy(2), {}, {});
        EXPECT_TRUE(read.devices.empty()) << accelerator;
        EXPECT_EQ(read.problems.size(), 1U) << accelerator;
    }
}

TEST(seeds_npu, the_mindcluster_example) {
    covers({"R088"});
    site here;
    here.add("n", chips_on_node(2));
    EXPECT_EQ(here.place(cores_ask(8, "null", "low")), "n");
    EXPECT_EQ(here.part(), partition{whole_device{}});
    EXPECT_EQ(annotation(here), "0");
    EXPECT_EQ(here.place(cores_ask(8, "null", "low")), "n");
    EXPECT_EQ(annotation(here), "1");
    EXPECT_EQ(here.place(cores_ask(8, "null", "low")), "device_in_use");
}

TEST(seeds_npu, a_pod_is_told_by_label_and_resource) {
    covers({"R089", "R094"});
    EXPECT_TRUE(test::spoken<mc::options>::requests(cores_pod(4), {}));
    for (const char* label : {"ascend-910", "ascend-910b", "ascend-310", ""}) {
        auto other = cores_pod(4);
        other.labels["ring-controller.atlas"] = label;
        EXPECT_FALSE(test::spoken<mc::options>::requests(other, {})) << label;
    }
    auto unlabelled = cores_pod(4);
    unlabelled.labels.clear();
    EXPECT_FALSE(test::spoken<mc::options>::requests(unlabelled, {}));
    auto other_resource = cores_pod(4);
    other_resource.containers[0].limits = {{"huawei.com/Ascend310P", 1}};
    EXPECT_FALSE(test::spoken<mc::options>::requests(other_resource, {}));
}

TEST(seeds_npu, level_low_is_the_default_and_takes_the_lowest_template) {
    covers({"R090"});
    for (const char* level : {"", "low", "other"}) {
        EXPECT_EQ(template_alone_for(cores_ask(2, "", level)), "vir02_1c") << level;
        EXPECT_EQ(template_alone_for(cores_ask(4, "", level)), "vir04_3c") << level;
    }
}

TEST(seeds_npu, level_high_takes_the_highest_template_where_there_is_room) {
    covers({"R091"});
    EXPECT_EQ(template_alone_for(cores_ask(2, "", "high")), "vir02");
    EXPECT_EQ(template_alone_for(cores_ask(4, "", "high")), "vir04");
    site here; // one chip is short of AI CPUs, the other, which binpack would take last, is not
    here.add("n", chips_on_node(2));
    EXPECT_EQ(template_for(here, cores_ask(4, "", "high")), "vir04");
    EXPECT_EQ(template_for(here, cores_ask(4, "", "high")), "vir04");
    EXPECT_NE(here.state(0, 0).slots, 0);
    EXPECT_NE(here.state(0, 1).slots, 0) << "the second one went to the second chip";
}

TEST(seeds_npu, level_high_is_downgraded_where_little_is_left) {
    covers({"R092"});
    site here;
    here.add("n", chips_on_node(2));
    EXPECT_EQ(template_for(here, cores_ask(4, "", "high")), "vir04");
    EXPECT_EQ(template_for(here, cores_ask(4, "", "high")), "vir04");
    EXPECT_EQ(template_for(here, cores_ask(4, "", "high")), "vir04_3c")
        << "4 AI cores, 3 AI CPUs are left of each chip";
    EXPECT_EQ(template_for(here, cores_ask(2, "", "high")), "vir02");
    EXPECT_EQ(template_for(here, cores_ask(2, "", "high")), "vir02_1c") << "2 AI cores, 1 AI CPU";
}

TEST(seeds_npu, dvpp_is_used_is_not_used_or_is_not_considered) {
    covers({"R093"});
    EXPECT_EQ(template_alone_for(cores_ask(4, "yes")), "vir04_4c_dvpp");
    EXPECT_EQ(template_alone_for(cores_ask(4, "no")), "vir04_3c_ndvpp");
    EXPECT_EQ(template_alone_for(cores_ask(4, "null")), "vir04_3c");
    EXPECT_EQ(template_alone_for(cores_ask(4)), "vir04_3c") << "null is the default";
    EXPECT_EQ(template_alone_for(cores_ask(4, "maybe")), "error");
    site here;
    here.add("n", chips_on_node(1));
    EXPECT_EQ(template_for(here, cores_ask(4, "yes")), "vir04_4c_dvpp");
    EXPECT_EQ(template_for(here, cores_ask(1)), "dvpp_taken");
    EXPECT_EQ(template_for(here, cores_ask(4, "no")), "vir04_3c_ndvpp") << "which leaves the engines to the other";
}

/// A row of MindCluster's selection table. `is_short`: the only chip has too few AI CPUs for the larger template.
struct selection_row {
    std::int64_t cores;
    const char* dvpp;
    const char* level;
    bool is_short;
    const char* expected;
};

TEST(seeds_npu, templates_are_selected_by_the_table) {
    covers({"R095", "R097"});
    for (const selection_row& row : {selection_row{1, "null", "low", false, "vir01"},
                                     {1, "null", "high", false, "vir01"},
                                     {2, "null", "low", false, "vir02_1c"},
                                     {2, "null", "high", false, "vir02"},
                                     {2, "null", "high", true, "vir02_1c"},
                                     {4, "yes", "low", false, "vir04_4c_dvpp"},
                                     {4, "no", "low", false, "vir04_3c_ndvpp"},
                                     {4, "null", "low", false, "vir04_3c"},
                                     {4, "yes", "high", false, "vir04_4c_dvpp"},
                                     {4, "no", "high", false, "vir04_3c_ndvpp"},
                                     {4, "null", "high", false, "vir04"},
                                     {4, "null", "high", true, "vir04_3c"},
                                     {8, "yes", "high", false, "whole"},
                                     {16, "no", "low", false, "whole"}}) {
        site here;
        here.add("n", chips_on_node(row.cores > 8 ? 2 : 1));
        if (row.is_short) template_for(here, cores_ask(4, "", "high"));
        if (row.is_short && row.cores == 2) template_for(here, cores_ask(2, "", "high"));
        EXPECT_EQ(template_for(here, cores_ask(row.cores, row.dvpp, row.level)), row.expected)
            << row.cores << " cores, dvpp " << row.dvpp << ", level " << row.level;
    }
}

TEST(seeds_npu, a_word_on_dvpp_that_no_row_has_is_not_scheduled) {
    covers({"R096"});
    for (const std::int64_t cores : {1, 2}) {
        for (const char* dvpp : {"yes", "no"}) {
            for (const char* level : {"low", "high"}) {
                EXPECT_EQ(template_alone_for(cores_ask(cores, dvpp, level)), "error") << cores << dvpp << level;
            }
        }
    }
    EXPECT_EQ(template_alone_for(cores_ask(3)), "error") << "nor a number of cores that no row has";
}

TEST(seeds_npu, multiples_of_eight_cores_are_whole_chips_whatever_the_labels) {
    covers({"R097"});
    for (const char* dvpp : {"yes", "no", "null", ""}) {
        for (const char* level : {"low", "high", ""}) {
            site here;
            here.add("n", chips_on_node(3));
            EXPECT_EQ(template_for(here, cores_ask(16, dvpp, level)), "whole") << dvpp << level;
            EXPECT_EQ(annotation(here), "0,1");
            EXPECT_EQ(here.place(cores_ask(16, dvpp, level)), "too_few_devices") << "one is left";
            EXPECT_EQ(here.place(cores_ask(8, dvpp, level)), "n");
        }
    }
}

// --- HAMi ----------------------------------------------------------------------------------------------------------

/// The seed's resource names.
struct named_chip {
    const char* chip;
    const char* resource;
    const char* memory_resource;
};
constexpr std::array<named_chip, 6> names{{{"910A", "huawei.com/Ascend910A", "huawei.com/Ascend910A-memory"},
                                           {"910B2", "huawei.com/Ascend910B2", "huawei.com/Ascend910B2-memory"},
                                           {"910B3", "huawei.com/Ascend910B3", "huawei.com/Ascend910B3-memory"},
                                           {"910B4", "huawei.com/Ascend910B4", "huawei.com/Ascend910B4-memory"},
                                           {"910B4-1", "huawei.com/Ascend910B4-1", "huawei.com/Ascend910B4-1-memory"},
                                           {"310P3", "huawei.com/Ascend310P", "huawei.com/Ascend310P-memory"}}};

const ascend_chip& chip(const char* name) { return **find_chip(built_in_ascend_catalog(), name); }

/// The chips of the catalog as a device configuration without resource names has them.
hami::options all_kinds() {
    hami::options result;
    const dialect_config config = make_dialect_config();
    for (const named_chip& row : names) {
        const auto npus = std::ranges::find_if(
            config.devices.vnpus, [&row](const auto& entry) { return entry.kind.name == chip(row.chip).name; });
        result.kinds.push_back({.npu = npus->kind});
    }
    return result;
}

/// A node of two cards of that chip.
dialects::node_reading cards_of(const char* name) {
    const ascend_chip& of = chip(name);
    kubernetes::node object;
    object.name = name;
    std::string list;
    for (const char* id : {"A", "B"}) {
        list += (list.empty() ? "" : ",") +
                (R"({"id":")" + std::string{id} + R"(","count":)" + std::to_string(device_ids_per_card(of)) +
                 R"(,"devmem":)" + std::to_string(of.memory_allocatable.count()) + R"(,"devcore":)" +
                 std::to_string(of.ai_core) + R"(,"health":true})");
    }
    object.annotations["hami.io/node-register-" + of.name] = "[" + list + "]";
    object.allocatable["huawei.com/" + of.name] = "8";
    return test::spoken<hami::options>::read_node(object, all_kinds());
}
site every_chip() {
    site here;
    for (const named_chip& row : names) here.add(row.chip, cards_of(row.chip));
    return here;
}

TEST(seeds_npu, hami_serves_310_and_910_in_one_cluster) {
    covers({"R074", "R077"});
    auto here = every_chip();
    for (const char* name : {"910A", "910B2", "910B3", "310P3"}) {
        const auto pod =
            pod_with({{"huawei.com/" + chip(name).name, 1}, {"huawei.com/" + chip(name).name + "-memory", 1}});
        EXPECT_EQ(here.place(test::spoken<hami::options>::read_pod(pod, all_kinds())), name);
        EXPECT_EQ(here.mode(), "ascend_vir");
        EXPECT_EQ(std::get<vir_template>(here.part()).memory, chip(name).templates.at(0).memory) << name;
    }
}

TEST(seeds_npu, the_hami_example) {
    covers({"R098"});
    auto here = every_chip();
    const auto pod = pod_with({{"huawei.com/Ascend310P", 1}, {"huawei.com/Ascend310P-memory", 4096}});
    EXPECT_EQ(here.place(test::spoken<hami::options>::read_pod(pod, all_kinds())), "310P3");
    EXPECT_EQ(std::get<vir_template>(here.part()).memory, mib{6144}) << "vir02: the smallest with 4096 MiB";
    const auto written = test::spoken<hami::options>::write_assignment(
        pod, here.registered(), {.node = "310P3", .time = "1", .shares = here.shares()}, all_kinds());
    EXPECT_EQ(written.at("huawei.com/Ascend310P"), R"([{"UUID":"A","temp":"vir02"}])");
}

TEST(seeds_npu, every_chip_has_its_resource_names) {
    covers({"R099"});
    for (const named_chip& row : names) {
        EXPECT_EQ(chip(row.chip).resource, row.resource);
        EXPECT_EQ(chip(row.chip).resource_memory, row.memory_resource);
        auto here = every_chip(); // by the names that the dialect makes of the common word
        const std::int64_t memory = chip(row.chip).templates.at(0).memory.count() + 1;
        const auto pod = pod_with({{row.resource, 1}, {row.memory_resource, memory}});
        EXPECT_EQ(here.place(test::spoken<hami::options>::read_pod(pod, all_kinds())), row.chip);
        EXPECT_EQ(std::get<vir_template>(here.part()).memory, chip(row.chip).templates.at(1).memory) << row.chip;
    }
    EXPECT_FALSE(test::spoken<hami::options>::requests(pod_with({{"huawei.com/Ascend910B", 1}}), all_kinds()))
        << "no such chip";
}

} // namespace
} // namespace vgpualloc
