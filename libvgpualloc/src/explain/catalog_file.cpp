// Catalog values written as the file that gives them again.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "vgpualloc/explain/catalog.hpp"

namespace vgpualloc::explaining {

namespace {

using json = nlohmann::ordered_json;

json value_of(const std::optional<std::int64_t>& number) { return number ? json(*number) : json(); }

template <class Tag>
json value_of(const std::optional<quantity<Tag>>& amount) {
    return amount ? json(amount->count()) : json();
}

/// 4.75 is not 475 hundredths exactly, but the double nearest to it prints and reads as 4.75.
json gib_of(const std::optional<centi_gib>& amount) {
    return amount ? json(static_cast<double>(amount->count()) / 100) : json();
}

json dictionary(const std::map<std::string, std::string, std::less<>>& words) {
    json made = json::object();
    for (const auto& [word, meaning] : words) made[word] = meaning;
    return made;
}

void add_engines(json& to, const mig_engines& engines) {
    for (const auto& [name, field] : mig_engine_fields) to[std::string{name}] = value_of(engines.*field);
}

json profile_of(const mig_profile& profile) {
    json made;
    made["name"] = profile.name;
    made["kind"] = name_of(profile.kind);
    made["profile_id"] = profile.profile_id;
    made["compute_slices"] = profile.compute_slices.count();
    made["memory_slices"] = profile.size.count();
    made["starts"] = json::array();
    for (const auto start : profile.starts) made["starts"].push_back(start.count());
    made["size"] = profile.size.count();
    made["max_instances"] = profile.max_instances;
    made["memory_mib"] = value_of(profile.memory);
    made["memory_gib_shown"] = gib_of(profile.memory_shown);
    made["memory_gib_other_drivers"] = gib_of(profile.memory_shown_other_driver);
    made["sm"] = value_of(profile.sm);
    add_engines(made, profile.engines);
    made["provenance"] = dictionary(profile.from);
    return made;
}

json model_of(const mig_model& model) {
    json made;
    made["key"] = model.name;
    made["description"] = model.description;
    made["architecture"] = model.architecture;
    made["memory_gb"] = value_of(model.memory_gb);
    made["memory_mib"] = value_of(model.memory);
    made["memory_slices"] = model.units.count();
    made["compute_slices"] = model.compute_slices.count();
    made["card_types"] = model.card_types;
    made["pci_device_ids"] = model.pci_ids;
    add_engines(made["engines"], model.engines);
    made["provenance"] = dictionary(model.from);
    made["notes"] = model.notes;
    for (const auto& each : model.profiles) made["profiles"].push_back(profile_of(each));
    return made;
}

json chip_of(const ascend_chip& chip) {
    json made;
    made["name"] = chip.name;
    made["chip_name"] = chip.chip_name;
    made["resource"] = chip.resource;
    made["resource_memory"] = chip.resource_memory;
    made["resource_core"] = chip.resource_core;
    made["memory_allocatable_mib"] = chip.memory_allocatable.count();
    made["memory_capacity_mib"] = chip.memory_capacity.count();
    made["ai_core"] = chip.ai_core;
    made["ai_cpu"] = value_of(chip.ai_cpu);
    made["super_pod"] = chip.super_pod;
    made["built_in_of"] = chip.built_in_of;
    made["provenance"] = dictionary(chip.from);
    made["templates"] = json::array();
    for (const auto& each : chip.templates) {
        made["templates"].push_back({{"name", each.name},
                                     {"memory_mib", each.memory.count()},
                                     {"ai_core", each.ai_core},
                                     {"ai_cpu", value_of(each.ai_cpu)}});
    }
    return made;
}

json ascend_of(const ascend_catalog& catalog) {
    json made;
    if (catalog.soft_core_total > core_percent{0}) {
        const auto& keys = catalog.annotations;
        const auto seconds = [](ticks time) { return time.count() / ticks_per_second.count(); };
        made["soft_core_total"] = catalog.soft_core_total.count();
        made["soft_by_default"] = catalog.soft_by_default;
        made["annotations"] = {{"node_register", keys.node_register},       {"node_handshake", keys.node_handshake},
                               {"pod_to_allocate", keys.pod_to_allocate},   {"pod_allocated", keys.pod_allocated},
                               {"pod_runtime_info", keys.pod_runtime_info}, {"pod_use_uuid", keys.pod_use_uuid},
                               {"pod_no_use_uuid", keys.pod_no_use_uuid}};
        made["plugin"] = {{"idle_check_interval_s", seconds(catalog.plugin.idle_check_interval)},
                          {"register_interval_s", seconds(catalog.plugin.register_interval)},
                          {"register_retry_s", seconds(catalog.plugin.register_retry)},
                          {"metrics_port", catalog.plugin.metrics_port}};
    }
    for (const auto& each : catalog.chips) made["chips"].push_back(chip_of(each));
    return made;
}

std::string_view dvpp_name(const std::optional<dvpp_use>& use) {
    constexpr std::array<std::string_view, 3> names{"null", "yes", "no"};
    return use ? names[static_cast<std::size_t>(*use)] : "any";
}

json names_of(const std::vector<dvpp_use>& uses) {
    json made = json::array();
    for (const auto use : uses) made.push_back(dvpp_name(use));
    return made;
}

json mindcluster_chip_of(const mindcluster_chip& chip) {
    json made;
    made["kind"] = chip.kind;
    made["provenance"] = chip.from;
    made["totals"] = json::array();
    for (const auto& each : chip.totals) made["totals"].push_back({{"ai_core", each.ai_core}, {"ai_cpu", each.ai_cpu}});
    for (const auto& each : chip.templates) {
        made["templates"].push_back(
            {{"name", each.name}, {"ai_core", each.ai_core}, {"ai_cpu", each.ai_cpu}, {"dvpp", dvpp_name(each.dvpp)}});
    }
    return made;
}

json selection_of(const mindcluster_selection& rule) {
    json made;
    made["chip"] = rule.chip;
    if (rule.ai_core) made["ai_core"] = *rule.ai_core;
    if (rule.ai_core_multiple_of) made["ai_core_multiple_of"] = *rule.ai_core_multiple_of;
    made["dvpp"] = dvpp_name(rule.dvpp);
    made["level"] = !rule.level ? "any" : *rule.level == vnpu_level::low ? "low" : "high";
    made["downgrade"] = rule.downgrade ? json(*rule.downgrade) : json();
    made["template"] = rule.template_name ? json(*rule.template_name) : json();
    made["provenance"] = rule.from;
    return made;
}

json mindcluster_of(const mindcluster_catalog& catalog) {
    json made;
    made["resource"] = catalog.resource;
    for (const auto& each : catalog.chips) made["chips"].push_back(mindcluster_chip_of(each));
    for (const auto& each : catalog.selection) made["selection"].push_back(selection_of(each));
    json& dvpp = made["dvpp"];
    dvpp["free_at_first"] = dvpp_name(catalog.dvpp.free_at_first);
    dvpp["used_at_first"] = dvpp_name(catalog.dvpp.used_at_first);
    dvpp["free_that_admits"] = {{"null", names_of(catalog.dvpp.free_that_admits_null)},
                                {"yes", names_of(catalog.dvpp.free_that_admits_yes)},
                                {"no", names_of(catalog.dvpp.free_that_admits_no)}};
    for (const auto& each : catalog.dvpp.after) {
        dvpp["after"].push_back({{"asked", dvpp_name(each.asked)},
                                 {"if_used", dvpp_name(each.if_used)},
                                 {"used", dvpp_name(each.used)},
                                 {"free", dvpp_name(each.free)}});
    }
    made["group_limits"] = json::array();
    for (const auto& each : catalog.group_limits) {
        made["group_limits"].push_back({{"groups", each.groups}, {"ai_core_max", each.ai_core_max}});
    }
    return made;
}

} // namespace

std::string catalog_file(const hardware_catalog& catalog) {
    json root;
    root["schema"] = "vgpualloc-catalog/1";
    source_list sources = catalog.mig.sources;
    sources.insert(catalog.ascend.sources.begin(), catalog.ascend.sources.end());
    root["sources"] = dictionary(sources);
    if (!catalog.mig.left_out.empty()) root["left_out"] = dictionary(catalog.mig.left_out);
    for (const auto& each : catalog.mig.models) root["mig"].push_back(model_of(each));
    if (!catalog.ascend.chips.empty()) root["ascend"] = ascend_of(catalog.ascend);
    if (!catalog.ascend.mindcluster.chips.empty()) root["mindcluster"] = mindcluster_of(catalog.ascend.mindcluster);
    return root.dump(1) + "\n";
}

} // namespace vgpualloc::explaining
