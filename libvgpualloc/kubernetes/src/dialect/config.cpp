// What the dialects of a cluster are configured with.
#include "vgpualloc/dialect/config.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "vgpualloc/dialect/all.hpp"

namespace vgpualloc {

namespace {

dialects::volcano::vnpu_config npus_of(const ascend_chip& chip) {
    dialects::volcano::vnpu_config entry{.chip_name = chip.chip_name,
                                         .resource_name = chip.resource,
                                         .resource_memory_name = chip.resource_memory,
                                         .resource_core_name = chip.resource_core,
                                         .super_pod = chip.super_pod,
                                         .kind = {.name = chip.name,
                                                  .memory_allocatable = chip.memory_allocatable,
                                                  .memory_capacity = chip.memory_capacity,
                                                  .ai_core = chip.ai_core,
                                                  .ai_cpu = chip.ai_cpu.value_or(0),
                                                  .templates = {}}};
    for (const auto& part : chip.templates) {
        entry.kind.templates.push_back(
            {.name = part.name, .memory = part.memory, .ai_core = part.ai_core, .ai_cpu = part.ai_cpu.value_or(0)});
    }
    return entry;
}

} // namespace

void apply_arguments(const dialects::volcano::plugin_arguments& arguments, dialect_config& config) {
    config.exclusive_rules = arguments.exclusive_rules;
    config.gpushare_by_number = arguments.gpu_number;
}

dialect_config make_dialect_config(const hardware_catalog& catalog) {
    dialect_config config;
    config.mig = std::make_shared<const mig_catalog>(catalog.mig);
    for (const ascend_chip& chip : catalog.ascend.chips) config.devices.vnpus.push_back(npus_of(chip));
    return config;
}

dialect_config make_dialect_config() { return make_dialect_config(built_in_catalog()); }

namespace {

using volcano_devices = dialects::volcano::device_config;
using dialects::volcano::vnpu_config;

/// Adds what one configuration says to what others have said.
class config_adder {
public:
    config_adder(dialect_config base, std::string_view name) : sum_{std::move(base)}, name_{name} {}

    [[nodiscard]] expected<dialect_config> add(volcano_devices more) {
        const std::set<std::string> before = resources_of(sum_);
        if (more.names_vgpu) {
            if (differs(configured_system::vgpu, sum_.devices.vgpu == more.vgpu, "nvidia", "")) return refusal();
            sum_.devices.vgpu = std::move(more.vgpu);
        }
        if (more.hami) {
            if (differs(configured_system::hami, sum_.devices.hami == more.hami, "nvidia", "")) return refusal();
            sum_.devices.hami = std::move(more.hami);
        }
        if (more.names_vgpu || more.hami) sum_.devices.nvidia = std::move(more.nvidia);
        if (more.names_npus && !add_npus(more)) return refusal();
        if (more.nvidia_plugin) {
            const auto& known = sum_.devices.nvidia_plugin;
            const bool same = known && known->allocation == more.nvidia_plugin->allocation &&
                              known->one_replica_only == more.nvidia_plugin->one_replica_only &&
                              known->sharing == more.nvidia_plugin->sharing;
            if (differs(configured_system::nvidia_plugin, same, "sharing", "")) return refusal();
            sum_.devices.nvidia_plugin = std::move(more.nvidia_plugin);
        }
        std::ranges::move(more.warnings, std::back_inserter(sum_.devices.warnings));
        note_what_is_off(before);
        return std::move(sum_);
    }

private:
    [[nodiscard]] static std::set<std::string> resources_of(const dialect_config& config) {
        std::set<std::string> names;
        for (const auto& spoken : dialect_set{config}) {
            for (std::string& resource : spoken->resources()) names.insert(std::move(resource));
        }
        names.erase(""); // a resource that is not configured
        return names;
    }

    void refuse(const std::string& field, const std::string& value, const std::string& other) {
        refusal_ =
            bad_value(error_code::duplicate, field, value, "the same as in " + other + ", which configures it too")
                .at(name_);
    }
    [[nodiscard]] expected<dialect_config> refusal() { return unexpected(std::move(refusal_)); }

    /// Whether another file says something else of the system. Otherwise this one has it now.
    [[nodiscard]] bool differs(configured_system system, bool same, const std::string& field,
                               const std::string& value) {
        const auto [other, is_first] = sum_.configured_by.try_emplace(system, name_);
        if (is_first || same) return false;
        refuse(field, value, other->second);
        return true;
    }

    [[nodiscard]] bool add_npus(const volcano_devices& more) {
        const bool same_default = sum_.devices.hami_vnpu_core == more.hami_vnpu_core;
        const bool is_first = !sum_.configured_by.contains(configured_system::npus);
        if (differs(configured_system::npus, same_default, "vnpus.hamiVnpuCore",
                    more.hami_vnpu_core ? "true" : "false")) {
            return false;
        }
        const bool same_version = sum_.devices.npus_of_hami_2_10 == more.npus_of_hami_2_10;
        if (!is_first && !same_version) {
            refuse("vnpus.hamiVersion", more.npus_of_hami_2_10 ? "2.10" : "",
                   sum_.configured_by.at(configured_system::npus));
            return false;
        }
        sum_.devices.hami_vnpu_core = more.hami_vnpu_core;
        sum_.devices.npus_of_hami_2_10 = more.npus_of_hami_2_10;
        if (is_first) sum_.devices.vnpus.clear(); // those that are built in
        for (const vnpu_config& entry : more.vnpus) {
            const auto twin = std::ranges::find_if(sum_.devices.vnpus, [&](const vnpu_config& known) {
                return known.kind.name == entry.kind.name || known.resource_name == entry.resource_name;
            });
            if (twin == sum_.devices.vnpus.end()) {
                sum_.npu_configured_by.emplace(entry.kind.name, name_);
                sum_.devices.vnpus.push_back(entry);
            } else if (*twin != entry) {
                refuse("vnpus", entry.kind.name + ", " + entry.resource_name,
                       sum_.npu_configured_by.at(twin->kind.name));
                return false;
            }
        }
        return true;
    }

    /// What could be asked for before and cannot now is off; what can be again is not.
    void note_what_is_off(const std::set<std::string>& before) {
        const std::set<std::string> now = resources_of(sum_);
        std::erase_if(sum_.off, [&](const switched_off& known) { return now.contains(known.resource); });
        for (const std::string& resource : before) {
            if (!now.contains(resource)) sum_.off.push_back({.resource = resource, .by = name_});
        }
    }

    dialect_config sum_;
    std::string name_;
    error refusal_{};
};

} // namespace

expected<dialect_config> with_device_config(dialect_config base, std::string_view json, std::string_view name) {
    auto devices = dialects::volcano::parse_device_config(json, name);
    if (!devices) return unexpected(std::move(devices).error());
    return config_adder{std::move(base), name}.add(*std::move(devices));
}

std::vector<std::string> notes_of(const dialect_config& config) {
    constexpr std::size_t names_max = 6;                   // the rest is of the same systems
    std::map<std::string, std::vector<std::string>> lists; // by file
    for (const switched_off& entry : config.off) lists[entry.by].push_back(entry.resource);
    std::vector<std::string> notes;
    for (const auto& [file, resources] : lists) {
        std::string names;
        for (std::size_t i = 0; i < std::min(resources.size(), names_max); ++i) {
            names += (i == 0 ? "" : ", ") + resources[i];
        }
        if (resources.size() > names_max) names += " and " + std::to_string(resources.size() - names_max) + " more";
        notes.push_back(file + " switches off what is built in and it does not name: " + names);
    }
    return notes;
}

} // namespace vgpualloc
