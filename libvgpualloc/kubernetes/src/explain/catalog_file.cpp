// Catalog values written as the file that gives them again.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "vgpualloc/explain/catalog.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::explaining {

using vgpuformats::document;

namespace {

document value_of(const std::optional<std::int64_t>& number) { return number ? document(*number) : document{}; }

template <class Tag>
document value_of(const std::optional<quantity<Tag>>& amount) {
    return amount ? document(amount->count()) : document{};
}

/// 4.75 is not 475 hundredths exactly, but the double nearest to it prints and reads as 4.75.
document gib_of(const std::optional<centi_gib>& amount) {
    return amount ? document(static_cast<double>(amount->count()) / 100) : document{};
}

document dictionary(const std::map<std::string, std::string, std::less<>>& words) { return document::map_of(words); }

void add_engines(document& to, const mig_engines& engines) {
    for (const auto& [name, field] : mig_engine_fields) to[name] = value_of(engines.*field);
}

document profile_of(const mig_profile& profile) {
    document object;
    object["name"] = profile.name;
    object["kind"] = name_of(profile.kind);
    object["profile_id"] = profile.profile_id;
    object["compute_slices"] = profile.compute_slices.count();
    object["memory_slices"] = profile.size.count();
    object["starts"] = document::list();
    for (const auto start : profile.starts) object["starts"].push_back(start.count());
    object["size"] = profile.size.count();
    object["max_instances"] = profile.max_instances;
    object["memory_mib"] = value_of(profile.memory);
    object["memory_gib_shown"] = gib_of(profile.memory_shown);
    object["memory_gib_other_drivers"] = gib_of(profile.memory_shown_other_driver);
    object["sm"] = value_of(profile.sm);
    add_engines(object, profile.engines);
    object["provenance"] = dictionary(profile.from);
    return object;
}

document model_of(const mig_model& model) {
    document object;
    object["key"] = model.name;
    object["description"] = model.description;
    object["architecture"] = model.architecture;
    object["memory_gb"] = value_of(model.memory_gb);
    object["memory_mib"] = value_of(model.memory);
    object["memory_slices"] = model.units.count();
    object["compute_slices"] = model.compute_slices.count();
    object["card_types"] = document::list_of(model.card_types);
    object["pci_device_ids"] = document::list_of(model.pci_ids);
    add_engines(object["engines"], model.engines);
    object["provenance"] = dictionary(model.from);
    object["notes"] = model.notes;
    for (const auto& profile : model.profiles) object["profiles"].push_back(profile_of(profile));
    return object;
}

document chip_of(const ascend_chip& chip) {
    document object;
    object["name"] = chip.name;
    object["chip_name"] = chip.chip_name;
    object["resource"] = chip.resource;
    object["resource_memory"] = chip.resource_memory;
    object["resource_core"] = chip.resource_core;
    object["memory_allocatable_mib"] = chip.memory_allocatable.count();
    object["memory_capacity_mib"] = chip.memory_capacity.count();
    object["ai_core"] = chip.ai_core;
    object["ai_cpu"] = value_of(chip.ai_cpu);
    object["super_pod"] = chip.super_pod;
    object["built_in_of"] = document::list_of(chip.built_in_of);
    object["provenance"] = dictionary(chip.from);
    object["templates"] = document::list();
    for (const auto& cut : chip.templates) {
        object["templates"].push_back(document::map({{"name", cut.name},
                                                     {"memory_mib", cut.memory.count()},
                                                     {"ai_core", cut.ai_core},
                                                     {"ai_cpu", value_of(cut.ai_cpu)}}));
    }
    return object;
}

document ascend_of(const ascend_catalog& catalog) {
    document object;
    if (catalog.soft_core_total > core_percent{0}) {
        const auto& keys = catalog.annotations;
        const auto seconds = [](ticks time) { return time.count() / ticks_per_second.count(); };
        object["soft_core_total"] = catalog.soft_core_total.count();
        object["soft_by_default"] = catalog.soft_by_default;
        object["annotations"] = document::map({{"node_register", keys.node_register},
                                               {"node_handshake", keys.node_handshake},
                                               {"pod_to_allocate", keys.pod_to_allocate},
                                               {"pod_allocated", keys.pod_allocated},
                                               {"pod_runtime_info", keys.pod_runtime_info},
                                               {"pod_use_uuid", keys.pod_use_uuid},
                                               {"pod_no_use_uuid", keys.pod_no_use_uuid}});
        object["plugin"] = document::map({{"idle_check_interval_s", seconds(catalog.plugin.idle_check_interval)},
                                          {"register_interval_s", seconds(catalog.plugin.register_interval)},
                                          {"register_retry_s", seconds(catalog.plugin.register_retry)},
                                          {"metrics_port", catalog.plugin.metrics_port}});
    }
    for (const auto& chip : catalog.chips) object["chips"].push_back(chip_of(chip));
    return object;
}

std::string_view dvpp_name(const std::optional<dvpp_use>& use) {
    constexpr std::array<std::string_view, 3> names{"null", "yes", "no"};
    return use ? names[static_cast<std::size_t>(*use)] : "any";
}

document names_of(const std::vector<dvpp_use>& uses) {
    document object = document::list();
    for (const auto use : uses) object.push_back(dvpp_name(use));
    return object;
}

document mindcluster_chip_of(const mindcluster_chip& chip) {
    document object;
    object["kind"] = chip.kind;
    object["provenance"] = chip.from;
    object["totals"] = document::list();
    for (const auto& total : chip.totals)
        object["totals"].push_back(document::map({{"ai_core", total.ai_core}, {"ai_cpu", total.ai_cpu}}));
    for (const auto& cut : chip.templates) {
        object["templates"].push_back(document::map(
            {{"name", cut.name}, {"ai_core", cut.ai_core}, {"ai_cpu", cut.ai_cpu}, {"dvpp", dvpp_name(cut.dvpp)}}));
    }
    return object;
}

document selection_of(const mindcluster_selection& rule) {
    document object;
    object["chip"] = rule.chip;
    if (rule.ai_core) object["ai_core"] = *rule.ai_core;
    if (rule.ai_core_multiple_of) object["ai_core_multiple_of"] = *rule.ai_core_multiple_of;
    object["dvpp"] = dvpp_name(rule.dvpp);
    object["level"] = !rule.level ? "any" : *rule.level == vnpu_level::low ? "low" : "high";
    object["downgrade"] = rule.downgrade ? document(*rule.downgrade) : document{};
    object["template"] = rule.template_name ? document(*rule.template_name) : document{};
    object["provenance"] = rule.from;
    return object;
}

document mindcluster_of(const mindcluster_catalog& catalog) {
    document object;
    object["resource"] = catalog.resource;
    for (const auto& chip : catalog.chips) object["chips"].push_back(mindcluster_chip_of(chip));
    for (const auto& rule : catalog.selection) object["selection"].push_back(selection_of(rule));
    document& dvpp = object["dvpp"];
    dvpp["free_at_first"] = dvpp_name(catalog.dvpp.free_at_first);
    dvpp["used_at_first"] = dvpp_name(catalog.dvpp.used_at_first);
    dvpp["free_that_admits"] = document::map({{"null", names_of(catalog.dvpp.free_that_admits_null)},
                                              {"yes", names_of(catalog.dvpp.free_that_admits_yes)},
                                              {"no", names_of(catalog.dvpp.free_that_admits_no)}});
    for (const auto& step : catalog.dvpp.after) {
        dvpp["after"].push_back(document::map({{"asked", dvpp_name(step.request)},
                                               {"if_used", dvpp_name(step.if_used)},
                                               {"used", dvpp_name(step.used)},
                                               {"free", dvpp_name(step.free)}}));
    }
    object["group_limits"] = document::list();
    for (const auto& limit : catalog.group_limits) {
        object["group_limits"].push_back(document::map({{"groups", limit.groups}, {"ai_core_max", limit.ai_core_max}}));
    }
    return object;
}

document power_of(const device_power& device) {
    document object;
    object["key"] = device.name;
    object["card_types"] = document::list_of(device.card_types);
    object["idle_w"] = value_of(device.idle_w);
    object["busy_w"] = value_of(device.busy_w);
    object["provenance"] = dictionary(device.from);
    return object;
}

} // namespace

std::string catalog_file(const hardware_catalog& catalog) {
    document root;
    root["schema"] = "vgpualloc-catalog/1";
    source_list sources = catalog.mig.sources;
    sources.insert(catalog.ascend.sources.begin(), catalog.ascend.sources.end());
    sources.insert(catalog.power.sources.begin(), catalog.power.sources.end());
    root["sources"] = dictionary(sources);
    if (!catalog.mig.left_out.empty()) root["left_out"] = dictionary(catalog.mig.left_out);
    for (const auto& model : catalog.mig.models) root["mig"].push_back(model_of(model));
    if (!catalog.ascend.chips.empty()) root["ascend"] = ascend_of(catalog.ascend);
    if (!catalog.ascend.mindcluster.chips.empty()) root["mindcluster"] = mindcluster_of(catalog.ascend.mindcluster);
    for (const auto& device : catalog.power.devices) root["power"].push_back(power_of(device));
    return vgpuformats::print_json(root, 1) + "\n";
}

} // namespace vgpualloc::explaining
