// The built-in catalogs against the evidence they were made from, value by value, and against an independent
// enumeration of every model's layouts.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/catalog/mig_layouts.hpp"

namespace vgpualloc {
namespace {

using nlohmann::json;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string{} : std::string{value};
}

class golden_catalog : public testing::Test {
protected:
    void SetUp() override {
        folder_ = environment("VGPUALLOC_EVIDENCE") + "/data/";
        if (std::filesystem::exists(folder_ + "enumeration.json")) return;
        const char* why = "no evidence of the catalogs: VGPUALLOC_EVIDENCE names no folder that has data/";
        if (environment("CI") == "true") FAIL() << why;
        GTEST_SKIP() << why;
    }

    [[nodiscard]] json read(const std::string& name) const {
        std::ifstream file{folder_ + name};
        return json::parse(file);
    }

    std::string folder_;
};

/// Models that came into the catalog after the evidence was recorded; they are the last ones in it.
const std::vector<std::string> later{"RTX-PRO-5000-48GB", "RTX-PRO-4500-32GB", "THOR-IGPU"};

std::vector<mig_model> recorded_models() {
    std::vector<mig_model> models = built_in_mig_catalog().models;
    for (std::size_t i = later.size(); i-- > 0;) {
        EXPECT_EQ(models.back().name, later[i]);
        models.pop_back();
    }
    return models;
}

using multiset = std::vector<std::int64_t>; ///< instances of each profile

multiset multiset_of(const mig_model& model, const mig_layout& layout) {
    multiset counts(model.profiles.size(), 0);
    for (const mig_slot& slot : layout) ++counts[slot.profile];
    return counts;
}

std::set<multiset> multisets_of(const mig_model& model, const std::vector<mig_layout>& layouts) {
    std::set<multiset> result;
    for (const mig_layout& layout : layouts) result.insert(multiset_of(model, layout));
    return result;
}

/// Those that no other one contains.
std::size_t undominated(const std::set<multiset>& all) {
    const auto within = [](const multiset& small, const multiset& large) {
        return small != large && std::ranges::equal(small, large, std::ranges::less_equal{});
    };
    return static_cast<std::size_t>(std::ranges::count_if(all, [&](const multiset& candidate) {
        return std::ranges::none_of(all, [&](const multiset& other) { return within(candidate, other); });
    }));
}

std::set<std::set<std::int64_t>> occupied_units(const mig_model& model, const std::vector<mig_layout>& layouts) {
    std::set<std::set<std::int64_t>> result;
    for (const mig_layout& layout : layouts) {
        std::set<std::int64_t> taken;
        for (const mig_slot& slot : layout) {
            const std::int64_t size = model.profiles[slot.profile].size.count();
            for (std::int64_t unit = 0; unit < size; ++unit) taken.insert(slot.start.count() + unit);
        }
        result.insert(taken);
    }
    return result;
}

TEST_F(golden_catalog, layouts_of_every_model) {
    const json recorded = read("enumeration.json");
    const std::vector<std::pair<std::string, mig_profile_set>> sets{
        {"core (no 2-slice-1g, no media/gfx variants)", mig_profile_set::core},
        {"plain (core + double-memory 1g)", mig_profile_set::plain},
        {"all", mig_profile_set::all}};
    const auto models = recorded_models();
    ASSERT_EQ(recorded.size(), models.size());
    for (const mig_model& model : models) {
        for (const auto& [name, set] : sets) {
            SCOPED_TRACE(model.name + " " + name);
            const json& row = recorded.at(model.name).at(name);
            const auto legal = legal_layouts(model, {.set = set}).layouts;
            const auto maximal = maximal_layouts(model, {.set = set}).layouts;
            const auto of_maximal = multisets_of(model, maximal);
            EXPECT_EQ(legal.size(), row.at("states"));
            EXPECT_EQ(maximal.size(), row.at("maximal"));
            EXPECT_EQ(multisets_of(model, legal).size(), row.at("multisets"));
            EXPECT_EQ(of_maximal.size(), row.at("max_multisets"));
            EXPECT_EQ(undominated(of_maximal), row.at("undominated"));
            EXPECT_EQ(occupied_units(model, legal).size(), row.at("masks"));
        }
    }
}

template <class T>
json value_of(const std::optional<T>& value) {
    return value ? json(*value) : json();
}

/// The source that a text on provenance begins with. Texts of the catalog go on in words that an outsider can follow.
std::string source_of(std::string_view text) {
    const std::string_view source = text.substr(0, text.find_first_of(" ,("));
    return std::string{source == "S:SEED" ? "S:A100_40_LGIP" : source};
}

/// The size that decides: where drivers print two, the smaller one.
json deciding_memory(const json& recorded) {
    json memory = recorded.at("memory_mib");
    const json& shown = recorded.at("memory_gib").at("value");
    const json& other = recorded.at("memory_gib_other_drivers");
    if (shown.is_null() || other.is_null() || other >= shown) return memory;
    memory["value"] = std::llround(other.get<double>() * 1024);
    memory["prov"] = "D:the smaller";
    return memory;
}

/// The recorded value and where it is from; a value that is unknown has the source "U" and no word in the catalog.
void expect_value(const json& recorded, const json& ours, const provenance& from, const std::string& field) {
    EXPECT_EQ(recorded.at("value"), ours) << field;
    if (recorded.at("prov") != "U") {
        EXPECT_EQ(source_of(recorded.at("prov").get<std::string>()), source_of(provenance_of(from, field))) << field;
    } else {
        EXPECT_TRUE(ours.is_null()) << field;
    }
}

void expect_profile(const json& recorded, const mig_profile& ours) {
    std::vector<std::int64_t> starts;
    for (const auto start : ours.starts) starts.push_back(start.count());
    const auto memory = ours.memory ? json(ours.memory->count()) : json();
    const auto shown = [](const std::optional<centi_gib>& gib) {
        return gib ? json(static_cast<double>(gib->count()) / 100) : json();
    };
    EXPECT_EQ(recorded.at("name"), ours.name);
    EXPECT_EQ(source_of(recorded.at("name_prov").get<std::string>()), source_of(provenance_of(ours.from, "name")));
    EXPECT_EQ(recorded.at("memory_gib_other_drivers"), shown(ours.memory_shown_other_driver));
    expect_value(recorded.at("profile_id"), ours.profile_id, ours.from, "profile_id");
    expect_value(recorded.at("compute_slices"), ours.compute_slices.count(), ours.from, "compute_slices");
    expect_value(recorded.at("mem_slices"), ours.size.count(), ours.from, "memory_slices");
    expect_value(recorded.at("placement_size"), ours.size.count(), ours.from, "size");
    expect_value(recorded.at("placement_starts"), starts, ours.from, "starts");
    expect_value(recorded.at("max_instances"), ours.max_instances, ours.from, "max_instances");
    expect_value(deciding_memory(recorded), memory, ours.from, "memory_mib");
    expect_value(recorded.at("memory_gib"), shown(ours.memory_shown), ours.from, "memory_gib_shown");
    expect_value(recorded.at("sm"), value_of(ours.sm), ours.from, "sm");
    expect_value(recorded.at("copy_engines"), value_of(ours.engines.copy), ours.from, "copy");
    expect_value(recorded.at("decoders"), value_of(ours.engines.decoder), ours.from, "decoder");
    expect_value(recorded.at("encoders"), value_of(ours.engines.encoder), ours.from, "encoder");
    expect_value(recorded.at("jpeg"), value_of(ours.engines.jpeg), ours.from, "jpeg");
    expect_value(recorded.at("ofa"), value_of(ours.engines.ofa), ours.from, "ofa");
}

TEST_F(golden_catalog, every_value_of_every_gpu) {
    const json recorded = read("mig-profiles.json").at("gpus");
    const auto models = recorded_models();
    ASSERT_EQ(recorded.size(), models.size());
    for (std::size_t i = 0; i < models.size(); ++i) {
        SCOPED_TRACE(models[i].name);
        EXPECT_EQ(recorded[i].at("key"), models[i].name);
        EXPECT_EQ(recorded[i].at("memory_gb"), value_of(models[i].memory_gb));
        EXPECT_EQ(recorded[i].at("memory_slices"), models[i].units.count());
        EXPECT_EQ(recorded[i].at("compute_slices"), models[i].compute_slices.count());
        for (const json& id : recorded[i].at("pci_device_ids")) {
            EXPECT_NE(std::ranges::find(models[i].pci_ids, id.get<std::string>()), models[i].pci_ids.end()) << id;
        }
        const json& profiles = recorded[i].at("profiles");
        ASSERT_EQ(profiles.size(), models[i].profiles.size());
        for (std::size_t j = 0; j < profiles.size(); ++j) {
            SCOPED_TRACE(models[i].profiles[j].name);
            expect_profile(profiles[j], models[i].profiles[j]);
        }
    }
}

TEST_F(golden_catalog, every_chip) {
    const json recorded = read("ascend-templates.json").at("hamiMode");
    const auto& catalog = built_in_ascend_catalog();
    EXPECT_EQ(recorded.at("softSliceTotalCore"), catalog.soft_core_total.count());
    EXPECT_EQ(recorded.at("globalHamiVnpuCore"), catalog.soft_by_default);
    ASSERT_EQ(recorded.at("chips").size(), catalog.chips.size());
    for (std::size_t i = 0; i < catalog.chips.size(); ++i) {
        const json& row = recorded.at("chips")[i];
        const ascend_chip& chip = catalog.chips[i];
        SCOPED_TRACE(chip.name);
        EXPECT_EQ(row.at("commonWord"), chip.name);
        EXPECT_EQ(row.at("chipName"), chip.chip_name);
        EXPECT_EQ(row.at("resourceName"), chip.resource);
        EXPECT_EQ(row.at("resourceMemoryName"), chip.resource_memory);
        EXPECT_EQ(row.at("resourceCoreName"), chip.resource_core);
        EXPECT_EQ(row.at("memoryAllocatableMiB"), chip.memory_allocatable.count());
        EXPECT_EQ(row.at("memoryCapacityMiB"), chip.memory_capacity.count());
        EXPECT_EQ(row.at("aiCore"), chip.ai_core);
        EXPECT_EQ(row.at("aiCPU"), value_of(chip.ai_cpu));
        EXPECT_EQ(row.at("derived").at("vDeviceCount"), device_ids_per_card(chip));
        const auto& keys = row.at("annotations");
        EXPECT_EQ(keys.at("nodeRegister"), annotation_key(catalog.annotations.node_register, chip));
        EXPECT_EQ(keys.at("podRuntimeInfo"), annotation_key(catalog.annotations.pod_runtime_info, chip));
        EXPECT_EQ(keys.at("podNoUseUUID"), annotation_key(catalog.annotations.pod_no_use_uuid, chip));
        ASSERT_EQ(row.at("templates").size(), chip.templates.size());
        for (std::size_t j = 0; j < chip.templates.size(); ++j) {
            const json& cut = row.at("templates")[j];
            EXPECT_EQ(cut.at("name"), chip.templates[j].name);
            EXPECT_EQ(cut.at("memoryMiB"), chip.templates[j].memory.count());
            EXPECT_EQ(cut.at("aiCore"), chip.templates[j].ai_core);
            EXPECT_EQ(cut.at("aiCPU"), value_of(chip.templates[j].ai_cpu));
        }
    }
}

TEST_F(golden_catalog, every_template_of_mindcluster) {
    const json recorded = read("ascend-templates.json").at("mindClusterMode");
    const auto& catalog = built_in_ascend_catalog();
    const std::vector<std::string> dvpp{"null", "yes", "no"};
    ASSERT_EQ(recorded.at("templates").size(), catalog.mindcluster.chips.size());
    for (const mindcluster_chip& chip : catalog.mindcluster.chips) {
        SCOPED_TRACE(chip.kind);
        const json& cuts = recorded.at("templates").at(chip.kind);
        ASSERT_EQ(cuts.size(), chip.templates.size());
        for (const mindcluster_template& cut : chip.templates) {
            const json& row = cuts.at(cut.name);
            EXPECT_EQ(row.at("aiCore"), cut.ai_core);
            EXPECT_EQ(row.at("aiCPU"), cut.ai_cpu);
            EXPECT_EQ(row.at("dvpp"), dvpp[static_cast<std::size_t>(cut.dvpp)]);
        }
    }
    const json& rules = recorded.at("seed003SelectionTable");
    ASSERT_EQ(rules.size(), catalog.mindcluster.selection.size());
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const mindcluster_selection& ours = catalog.mindcluster.selection[i];
        const std::string cores =
            ours.ai_core ? std::to_string(*ours.ai_core) : std::to_string(ours.ai_core_multiple_of.value_or(0)) + "*n";
        EXPECT_EQ(rules[i].at("aiCores"), cores) << i;
        EXPECT_EQ(rules[i].at("template"), value_of(ours.template_name)) << i;
        EXPECT_EQ(rules[i].at("downgrade"), value_of(ours.downgrade)) << i;
        EXPECT_EQ(rules[i].at("dvpp"), ours.dvpp ? dvpp[static_cast<std::size_t>(*ours.dvpp)] : "any") << i;
        const std::string level = !ours.level ? "any" : *ours.level == vnpu_level::low ? "low/other" : "high";
        EXPECT_EQ(rules[i].at("level"), level) << i;
    }
}

} // namespace
} // namespace vgpualloc
