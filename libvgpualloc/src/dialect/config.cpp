// What the dialects of a cluster are configured with.
#include "vgpualloc/dialect/config.hpp"

#include <utility>

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

dialect_config make_dialect_config(const hardware_catalog& catalog) {
    dialect_config config;
    config.mig = std::make_shared<const mig_catalog>(catalog.mig);
    for (const ascend_chip& chip : catalog.ascend.chips) config.devices.vnpus.push_back(npus_of(chip));
    return config;
}

dialect_config make_dialect_config() { return make_dialect_config(built_in_catalog()); }

expected<dialect_config> with_device_config(dialect_config base, std::string_view json, std::string_view name) {
    auto devices = dialects::volcano::parse_device_config(json, name);
    if (!devices) return unexpected(std::move(devices).error());
    base.devices = *std::move(devices);
    return base;
}

} // namespace vgpualloc
