// Ascend chips: the built-in tables, looking chips up, merging, and mistakes in files.
#include "vgpualloc/catalog/ascend.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "catalog/example.hpp"
#include "texts.hpp"
#include "vgpualloc/catalog/catalog.hpp"

namespace vgpualloc {
namespace {

using test::replaced;
using test::small_file;

const ascend_chip& chip(std::string_view name) { return **find_chip(built_in_ascend_catalog(), name); }

TEST(ascend_catalog, has_the_chips_of_hami) {
    EXPECT_EQ(built_in_ascend_catalog().chips.size(), 7U);
    const ascend_chip& p310 = chip("Ascend310P");
    EXPECT_EQ(p310.chip_name, "310P3");
    EXPECT_EQ(p310.resource_memory, "huawei.com/Ascend310P-memory");
    EXPECT_EQ(p310.memory_allocatable, mib{21527});
    EXPECT_EQ(p310.memory_capacity, mib{24576});
    EXPECT_EQ(p310.ai_core, 8);
    EXPECT_EQ(p310.ai_cpu, 7);
    EXPECT_FALSE(p310.super_pod);
    EXPECT_EQ(p310.built_in_of, (std::vector<std::string>{"volcano", "hami"}));
    EXPECT_EQ(p310.templates.at(1), (ascend_template{.name = "vir02", .memory = mib{6144}, .ai_core = 2, .ai_cpu = 2}));
    EXPECT_TRUE(chip("Ascend910C").super_pod);
    EXPECT_EQ(&chip("Ascend910"), &chip("Ascend910C")); // the driver's name for it
    EXPECT_EQ(&chip("910B4"), &chip("Ascend910B4"));
    EXPECT_EQ(provenance_of(p310.from, "super_pod"), "S:HAMI_CHART");
    EXPECT_EQ(built_in_ascend_catalog().soft_core_total, core_percent{100});
}

TEST(ascend_catalog, ids_of_a_card) {
    const std::vector<std::pair<std::string, std::int64_t>> rows{{"910A", 15},   {"910B2", 8}, {"910B3", 4},
                                                                 {"910B4-1", 4}, {"910B4", 4}, {"310P3", 7}};
    for (const auto& [name, ids] : rows) EXPECT_EQ(device_ids_per_card(chip(name)), ids) << name;
    ascend_chip whole = chip("910B4");
    whole.templates.clear();
    EXPECT_EQ(device_ids_per_card(whole), 1);
}

TEST(ascend_catalog, annotation_keys) {
    const auto& keys = built_in_ascend_catalog().annotations;
    EXPECT_EQ(annotation_key(keys.pod_to_allocate, chip("910B4")), "hami.io/Ascend910B4-devices-to-allocate");
    EXPECT_EQ(annotation_key(keys.node_register, chip("310P3")), "hami.io/node-register-Ascend310P");
    EXPECT_EQ(annotation_key("plain", chip("310P3")), "plain");
    EXPECT_EQ(built_in_ascend_catalog().plugin.register_interval, ticks_per_second * 30);
}

TEST(ascend_catalog, unknown_values_are_named) {
    EXPECT_EQ(require(chip("910B4").ai_cpu, chip("910B4"), "", "ai_cpu"), 7);
    EXPECT_EQ(require(chip("910A").ai_cpu, chip("910A"), "", "ai_cpu").error().message(),
              "chip 'Ascend910A': ai_cpu: unknown in the catalog");
    EXPECT_EQ(require(chip("910A").templates[0].ai_cpu, chip("910A"), "vir02", "ai_cpu").error().message(),
              "chip 'Ascend910A': template 'vir02': ai_cpu: unknown in the catalog");
}

TEST(ascend_catalog, lists_the_chips_to_who_asks_for_another) {
    const auto chip = find_chip(built_in_ascend_catalog(), "910B");
    ASSERT_FALSE(chip.has_value());
    EXPECT_EQ(chip.error().code, error_code::unknown_name);
    EXPECT_EQ(chip.error().message(), "Ascend chip: got '910B', expected one of Ascend910A, Ascend910B2, Ascend910B3, "
                                      "Ascend910B4-1, Ascend910B4, Ascend310P, Ascend910C");
    EXPECT_FALSE(find_mindcluster_chip(built_in_ascend_catalog(), "310P").has_value());
}

TEST(mindcluster_catalog, has_the_tables_of_a_310p) {
    const auto& tables = built_in_ascend_catalog().mindcluster;
    EXPECT_EQ(tables.resource, "huawei.com/npu-core");
    const mindcluster_chip& p310 = **find_mindcluster_chip(built_in_ascend_catalog(), "Ascend310P");
    EXPECT_EQ(p310.totals, (std::vector<mindcluster_total>{{8, 7}, {10, 7}}));
    EXPECT_EQ(p310.templates.size(), 7U);
    EXPECT_EQ(p310.templates.back(),
              (mindcluster_template{.name = "vir04_4c_dvpp", .ai_core = 4, .ai_cpu = 4, .dvpp = dvpp_use::yes}));
    ASSERT_EQ(tables.selection.size(), 12U);
    const mindcluster_selection& lowered = tables.selection[10];
    EXPECT_EQ(lowered.ai_core, 4);
    EXPECT_EQ(lowered.dvpp, dvpp_use::unstated);
    EXPECT_EQ(lowered.level, vnpu_level::high);
    EXPECT_EQ(lowered.downgrade, true);
    EXPECT_EQ(lowered.template_name, "vir04_3c");
    const mindcluster_selection& whole = tables.selection[11];
    EXPECT_EQ(whole.ai_core_multiple_of, 8);
    EXPECT_EQ(whole.dvpp, std::nullopt);
    EXPECT_EQ(whole.level, std::nullopt);
    EXPECT_EQ(whole.template_name, std::nullopt);
    EXPECT_EQ(tables.dvpp.free_that_admits_null, (std::vector{dvpp_use::yes, dvpp_use::unstated}));
    EXPECT_EQ(tables.dvpp.after.at(0).if_used, std::nullopt);
    EXPECT_EQ(tables.group_limits.at(0).ai_core_max, 3);
}

TEST(parse_ascend_catalog, refuses_mistakes) {
    struct mistake {
        std::string from;
        std::string to;
        error_code code;
        std::string message;
    };
    const std::string in_chip = "f.json: chip 'AscendNew': ";
    const std::vector<mistake> rows{
        {R"("ai_core": 8,)", R"("ai_core": "8",)", error_code::malformed,
         in_chip + "ai_core: got '8', expected a whole number from 1 to 1000000"},
        {R"("ai_core": 8,)", "", error_code::missing, in_chip + "ai_core: missing; expected this key"},
        {R"("chip_name")", R"("chipname")", error_code::unknown_name,
         in_chip +
             "chipname: unknown key, the keys here are name, chip_name, resource, resource_memory, resource_core, "
             "memory_allocatable_mib, memory_capacity_mib, ai_core, ai_cpu, super_pod, built_in_of, provenance, "
             "templates"},
        {R"("memory_allocatable_mib": 1000)", R"("memory_allocatable_mib": 1025)", error_code::out_of_range,
         in_chip + "memory_allocatable_mib: got '1025', expected a whole number from 1 to 1024"},
        {R"("memory_mib": 600)", R"("memory_mib": 300)", error_code::malformed,
         in_chip + "template 't2': memory_mib: got '300', expected more than the template before: requests take the "
                   "first that fits"},
        {R"("memory_mib": 600)", R"("memory_mib": 1001)", error_code::out_of_range,
         in_chip + "template 't2': memory_mib: got '1001', expected a whole number from 1 to 1000"},
        {R"("ai_core": 4)", R"("ai_core": 9)", error_code::out_of_range,
         in_chip + "template 't2': ai_core: got '9', expected a whole number from 1 to 8"},
        {R"("name": "t2")", R"("name": "t1")", error_code::duplicate,
         in_chip + "templates[1].name: got 't1', expected every name once"},
        {R"("chips")", R"("soft_core_total": 100, "chips")", error_code::missing,
         "f.json: ascend.soft_by_default: missing; expected this key"},
        {R"("ascend": {)", R"("ascend": {"cards": 1, )", error_code::unknown_name,
         "f.json: ascend.cards: unknown key, the keys here are soft_core_total, soft_by_default, annotations, plugin, "
         "chips"},
        {R"("ascend": {)", R"("mindcluster": {}, "ascend": {)", error_code::missing,
         "f.json: mindcluster.resource: missing; expected this key"},
    };
    for (const mistake& row : rows) {
        SCOPED_TRACE(row.from + " -> " + row.to);
        const auto parsed = catalog_texts::parse_ascend_catalog(replaced(small_file(), row.from, row.to), "f.json");
        ASSERT_FALSE(parsed.has_value());
        EXPECT_EQ(parsed.error().code, row.code);
        EXPECT_EQ(parsed.error().message(), row.message);
    }
}

TEST(merge_file, takes_gpus_and_npus) {
    const auto base = built_in_catalog();
    const auto both = catalog_texts::merge_text(base, small_file(), "f.json");
    ASSERT_TRUE(both.has_value()) << both.error().message();
    EXPECT_EQ(both->mig.models.size(), 19U);
    EXPECT_EQ(both->ascend.chips.size(), 8U);
    EXPECT_EQ((*find_chip(both->ascend, "NewP"))->templates.at(1).ai_cpu, std::nullopt);
    EXPECT_EQ(both->ascend.mindcluster.selection.size(), 12U); // what a file does not say stays
    EXPECT_EQ(both->ascend.plugin.metrics_port, 9395);
    const auto replacing =
        catalog_texts::merge_text(base, replaced(small_file(), "AscendNew", "Ascend910B4"), "f.json");
    ASSERT_TRUE(replacing.has_value());
    EXPECT_EQ(replacing->ascend.chips.size(), 7U);
    EXPECT_EQ((*find_chip(replacing->ascend, "Ascend910B4"))->ai_core, 8);
}

TEST(merge_file, refuses_what_would_be_ambiguous_or_says_nothing) {
    const auto message = [](const std::string& text) {
        return catalog_texts::merge_text(built_in_catalog(), text, "f.json").error().message();
    };
    EXPECT_EQ(message(R"({"schema": "vgpualloc-catalog/1"})"),
              "f.json: mig (GPUs), ascend (NPUs) or power (what boards draw) is required");
    EXPECT_EQ(message("[]"), "f.json: got 'a list', expected an object");
    EXPECT_EQ(message(replaced(small_file(), "[\"NEW-1\"]", "[\"A30\"]")),
              "f.json: model 'NEW-1-8GB': card_types: got 'A30', expected card types of its own: 'A30' is one of "
              "A30-24GB, which a model of that name would replace");
    EXPECT_EQ(
        message(replaced(small_file(), "NewP", "910A")),
        "f.json: chip 'AscendNew': chip_name: got '910A', expected a name of its own, this is that of Ascend910A");
    EXPECT_EQ(
        message(replaced(small_file(), "huawei.com/New\"", "huawei.com/Ascend910A\"")),
        "f.json: chip 'AscendNew': resource: got 'huawei.com/Ascend910A', expected a resource of its own, this is "
        "that of Ascend910A");
}

} // namespace
} // namespace vgpualloc
